"""A simulated user: a model that plays a person, and responds with actions and decisions."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from tui_agent.errors import ModelError
from tui_agent.folds.session_history import OVERSEERS, SessionHistory
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.simulation import SimulationMessage, SimulationRole, Viewer
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.simulation.mode_settings import UserAgentSettings
from tui_agent.simulation.model_caller import ModelCaller
from tui_agent.simulation.orchestration import Orchestrator
from tui_agent.simulation.templates import render
from tui_agent.simulation.user_actions import (
    FormatError,
    UserAction,
    decision_options,
    parse_action,
    parse_decision,
    parse_reply,
)

CONVERSATION = "user"
TO_USER: tuple[Viewer, ...] = ("user", *OVERSEERS)
TO_BOTH: tuple[Viewer, ...] = ("user", "agent", *OVERSEERS)
Answer = TypeVar("Answer")
Record = Callable[[SimulationMessage], None]


class UserGaveUp(ModelError):
    """Raised if the simulated user's model failed, or repeatedly gave no usable answer."""


class SimulatedUser:
    """The model that plays the user.

    `record`: function that adds a message to the history and stores it.
    """

    def __init__(
        self,
        caller: ModelCaller,
        settings: UserAgentSettings,
        profile: str,
        orchestrator: Orchestrator,
        history: SessionHistory,
        record: Record,
    ) -> None:
        self.caller = caller
        self._settings = settings
        self._orchestrator = orchestrator
        self._history = history
        self._record = record
        self._system = render(settings.user.system_template, "system_template", profile=profile)
        self._opening = render(settings.user.task_template, "task_template", task=orchestrator.aim)
        self.counts: Counter[str] = Counter()

    async def act(self) -> UserAction:
        """Return the user's next action. Raise `UserGaveUp` if the model gives no usable action."""
        return await self._ask(parse_action)

    async def decide(self, request: PermissionRequested, preview: str) -> DecidePermission:
        """Return the user's answer to a permission request. Raise `UserGaveUp` if the model gives no usable answer."""
        options = ", ".join(f'"{option}"' for option in decision_options(request))
        template = self._settings.user.approval_template
        self._tell(render(template, "approval_template", request=preview, options=options))
        reasoning, response, decision = await self._ask(lambda answer: parse_decision(request, answer))
        self._say("user", reasoning=reasoning, response=response)
        self.counts["allowed" if decision.decision == "allow" else "denied"] += 1
        return decision

    async def answer(self, question: QuestionAsked, text: str) -> AnswerQuestion:
        """Return the user's answer to a question of the agent. Raise `UserGaveUp` if the model gives no usable answer."""
        template = self._settings.user.question_template
        self._tell(render(template, "question_template", question=text, options=question.options))
        reasoning, response, answer = await self._ask(lambda reply: parse_reply(question, reply))
        self._say("user", reasoning=reasoning, response=response)
        self.counts["questions"] += 1
        return answer

    def _tell(self, text: str) -> None:
        self._say("system", response=text)

    def _say(self, role: SimulationRole, *, reasoning: str = "", response: str = "") -> None:
        message = SimulationMessage(role=role, visible_to=TO_USER, reasoning=reasoning, response=response)
        self._record(message)

    async def _ask(self, parse: Callable[[str], Answer]) -> Answer:
        """Ask the model until `parse` accepts its answer, and return the parsed answer."""
        error = ""
        for _ in range(self._settings.limits.max_format_errors):
            messages = self._orchestrator.conversation(self._history, self._opening)
            try:
                answer = await self.caller.ask(self._system, messages, CONVERSATION)
            except ModelError as fault:
                raise UserGaveUp(
                    f"The simulated user's model failed: {fault.message}", hint=fault.hint
                ) from fault
            try:
                return parse(answer)
            except FormatError as raised:
                error = str(raised)
                self.counts["format_errors"] += 1
                self._say("user", response=answer)
                template = self._settings.user.format_error_template
                self._tell(render(template, "format_error_template", error=error))
        raise UserGaveUp(f"The simulated user's model gave no usable answer in several attempts: {error}")
