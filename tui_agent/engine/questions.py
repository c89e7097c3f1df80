"""Questions to the user, recorded with their answers.

Invariant: a question can be answered only until its turn ends.
"""

from collections.abc import Sequence
from typing import Literal

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.mailbox import PendingAnswers
from tui_agent.errors import ToolError
from tui_agent.policy.decision.rule_index import session_rules
from tui_agent.ports.tool import Answer
from tui_agent.protocol.commands import AnswerQuestion
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.settings import POLICY_AFTER_PLAN, AgentState, PolicyName

PLAN_OPTIONS = ("Approve; ask me before changes", "Approve; accept edits", "Keep planning")
STUCK_OPTIONS = ("Go on", "Stop here")


class Asker:
    """Asks the user on behalf of tools and of the engine itself."""

    def __init__(
        self, parts: EngineParts, states: StateKeeper, waiting: PendingAnswers[AnswerQuestion]
    ) -> None:
        self._parts = parts
        self._states = states
        self._waiting = waiting

    async def ask(
        self,
        text: str,
        options: Sequence[str],
        form: Literal["text", "choice", "plan", "stuck"],
        agent: AgentId,
    ) -> Answer:
        """Ask a question and wait for the answer. Raise `ToolError` if there is no user to ask."""
        if not self._parts.interactive:
            raise ToolError("No one is there to answer. Decide yourself and say what you assumed.")
        recorder = self._parts.recorder
        question = QuestionAsked(
            question_id=self._parts.ids.request(),
            text=text,
            form=form,
            options=PLAN_OPTIONS if form == "plan" else tuple(options),
        )
        recorder.append(question, agent=agent)
        self._states.set(AgentState.WAITING, "question", agent=agent)
        answer = await self._waiting.wait(question.question_id)
        recorder.append(
            QuestionAnswered(question_id=question.question_id, answer=answer.answer, choice=answer.choice),
            agent=agent,
        )
        if form == "plan" and answer.choice in POLICY_AFTER_PLAN:
            self._end_plan_policy(POLICY_AFTER_PLAN[answer.choice])
            if POLICY_AFTER_PLAN[answer.choice] == "ask":
                self._revoke_edit_rules()
        self._states.set(AgentState.RUNNING, agent=agent)
        return Answer(choice=answer.choice, text=answer.answer)

    def _revoke_edit_rules(self) -> None:
        """Revoke the session's rules that allow file changes, so that the user is asked before each change."""
        for text in self._parts.recorder.state.granted_rules:
            if any(rule.kind in ("edit", "remove") for rule in session_rules((text,))):
                self._parts.recorder.append(PermissionRevoked(rule=text))

    def _end_plan_policy(self, policy: PolicyName) -> None:
        """Replace the policy `plan` with `policy` after the user approved a plan."""
        settings = self._parts.recorder.state.settings
        if settings is not None and settings.policy == "plan":
            self._parts.recorder.append(
                SettingsChanged(key="policy", value=policy, previous="plan", changed_by="user")
            )
