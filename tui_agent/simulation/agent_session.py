"""A simulated user's session with the agent: requests, commands, approvals and questions.

Invariant: the simulated user is a client of the session, so the log has all its actions.
"""

import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, Protocol

from tui_agent.errors import BudgetExceeded, TuiAgentError, UsageError
from tui_agent.evals.runs.failure_attribution import Conduct
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    DecidePermission,
    RecordResult,
    RunUserShell,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import QuestionAsked, TurnFinished, UserShellFinished
from tui_agent.protocol.ids import MAIN_AGENT, CommandId
from tui_agent.protocol.parts import ModelPart, ReasoningPart, TextPart, ToolCallPart
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import LongText
from tui_agent.session.headless_turn import block_text, join_texts

NO_SANDBOX = (
    "Commands cannot be run here, because this machine has no sandbox for them. Ask the agent instead."
)


class Respondent(Protocol):
    """The person (real or simulated) who answers the agent's permission requests and questions during its turn."""

    async def decide(self, request: PermissionRequested, preview: str) -> DecidePermission: ...

    async def answer(self, question: QuestionAsked, text: str) -> AnswerQuestion: ...


class AgentAnswer(NamedTuple):
    """An answer of the agent's model: its reasoning, its calls (one per line) and its text."""

    reasoning: str
    calls: str
    text: str


class AgentTurn(NamedTuple):
    """The agent's answers to a request, and how the turn ended."""

    answers: Sequence[AgentAnswer]
    ended: TurnFinished

    @property
    def text(self) -> str:
        """The agent's last text, followed by the reason if the agent did not finish."""
        words = next((answer.text for answer in reversed(self.answers) if answer.text), "")
        note = "" if self.ended.reason == "finished" else self.ended.detail or self.ended.reason
        return "\n\n".join(filter(None, [words, note and f"(The agent stopped: {note})"]))


class AgentSession:
    """An open session with the agent.

    - `respondent`: answers permission requests and questions; None if none are expected.
    - `on_answer`: called with each answer of the agent's model, before its calls run.
    - `on_failed_call`: called with a line about each failed call.
    - `problems`: storage errors, which the engine cannot report in the log.
    """

    def __init__(
        self,
        session: Session,
        respondent: Respondent | None,
        on_answer: Callable[[AgentAnswer], None],
        on_failed_call: Callable[[str], None],
        problems: Sequence[TuiAgentError],
    ) -> None:
        self._session = session
        self._respondent = respondent
        self._on_answer = on_answer
        self._on_failed_call = on_failed_call
        self._problems = problems
        self._follower = session.follow()
        self._unread: deque[Envelope] = deque()
        self._state = SessionState()
        self.metrics, self.conduct = Metrics(), Conduct()

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    def record(self, message: SimulationMessage) -> None:
        """Store a message of the simulation in the session's log."""
        self._session.submit(RecordResult(result=message))

    async def request(self, text: str) -> AgentTurn:
        """Send a message to the agent and return the agent's answers at the end of the turn.

        Raise `BudgetExceeded` or `UsageError` if the message is refused. Raise `TuiAgentError` if the session ends.
        """
        command = self._session.submit(SubmitPrompt(text=text))
        answers: list[AgentAnswer] = []
        async for event in self._events():
            match event.payload:
                case ModelResponded(parts=parts) if event.agent == MAIN_AGENT:
                    answers.append(await self._read_answer(parts))
                    self._on_answer(answers[-1])
                case ToolFinished(status=status) as call if event.agent == MAIN_AGENT and status != "ok":
                    self._on_failed_call(f"{call.name} {status}: {call.summary}")
                case TurnFinished() as ended if event.agent == MAIN_AGENT:
                    return AgentTurn(answers, ended)
                case _:
                    await self._handle(event, command)
        raise self._end_error()

    async def execute(self, command: str) -> str:
        """Run a command without showing it to the agent. Return the command's output, followed by the exit status if
        the command failed.
        """
        if not self._state.view().workspace:
            await self._read_start()
        view = self._state.view()
        if view.environment == "local" and not view.sandbox:
            return NO_SANDBOX
        command_id = self._session.submit(RunUserShell(command=command, hidden=True))
        output: str | None = None
        async for event in self._events():
            match event.payload:
                case UserShellFinished(output=text, exit_code=status) if event.cause == command_id:
                    printed = await self._read([text])
                    output = f"{printed}\n[exit status {status}]" if status else printed or "[no output]"
                case AgentStateChanged(state=AgentState.IDLE) if output is not None:
                    return output
                case _:
                    await self._handle(event, command_id)
        raise self._end_error()

    async def _read_start(self) -> None:
        async for _ in self._events():
            if self._state.view().environment:
                return

    async def _handle(self, event: Envelope, command: CommandId) -> None:
        """Answer a permission request or question. If the session refused `command`, raise the error."""
        match event.payload:
            case PermissionRequested() as request if self._respondent is not None:
                self._submit(await self._respondent.decide(request, describe_request(request)))
            case QuestionAsked() as question if self._respondent is not None:
                text = await self._read([question.text])
                self._submit(await self._respondent.answer(question, text))
            case CommandRejected(reason=reason, hint=hint, limit=limit) if event.cause == command:
                raise BudgetExceeded(reason, hint=hint) if limit else UsageError(reason, hint=hint)

    def _submit(self, command: Command) -> None:
        self._session.submit(command)

    async def _read_answer(self, parts: Sequence[ModelPart]) -> AgentAnswer:
        calls = (
            f"{part.name} {json.dumps(part.arguments, ensure_ascii=False)}"
            for part in parts
            if isinstance(part, ToolCallPart)
        )
        return AgentAnswer(
            reasoning=await self._read([part.text for part in parts if isinstance(part, ReasoningPart)]),
            calls="\n".join(calls),
            text=await self._read([part.text for part in parts if isinstance(part, TextPart)]),
        )

    async def _read(self, texts: Sequence[LongText]) -> str:
        return await join_texts(self._session, texts)

    async def _events(self) -> AsyncIterator[Envelope]:
        """Yield the new events since the previous call, until the session ends."""
        while True:
            while self._unread:
                yield self._unread.popleft()
            batch = await self._follower.next_batch()
            if not batch:
                return
            for record in known_events(batch):
                self._state.apply(record)
                self.metrics.apply(record)
                self.conduct.apply(record)
                self._unread.append(record)

    def _end_error(self) -> TuiAgentError:
        return self._problems[0] if self._problems else TuiAgentError("The session ended during the turn.")

    def close(self) -> None:
        """Stop following the session."""
        self._follower.close()


def describe_request(request: PermissionRequested) -> str:
    """Return a permission request as text: what would run or change, and why the policy asks."""
    lines = [f"{request.verb} {request.target}".strip()]
    for command in request.commands:
        lines += [
            f"- {command.command}: {effect.verb} {effect.target}".rstrip() for effect in command.effects
        ]
    lines += [block_text(block) for block in request.preview]
    lines += [f"Asked because {request.reason}"] if request.reason else []
    lines += [f"Warning: {request.risk}"] if request.risk else []
    return "\n".join(dict.fromkeys(filter(None, lines)))
