"""A simulated user: a model that plays a person, and the parsing of its answers into actions and decisions.

Invariant: an answer without the required form raises `FormatError`, and the model is asked again.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from tui_agent.errors import ModelError
from tui_agent.folds.simulation_fold import OVERSEERS, SimulationHistory
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission
from tui_agent.protocol.events.policy import PermissionRequested, Reach
from tui_agent.protocol.events.simulation import SimulationMessage, SimulationRole, Viewer
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.simulation.mode_settings import UserAgentSettings, render
from tui_agent.simulation.model_caller import ModelCaller
from tui_agent.simulation.orchestration import Orchestrator

ActionKind: TypeAlias = Literal["execute", "request", "exit"]
FENCE = "```"
BLOCKS: dict[str, ActionKind] = {"bash": "execute", "sh": "execute", "request": "request", "exit": "exit"}
EXIT_MARKS = ("[USER END]", "[TASK COMPLETE]")
DECISIONS: dict[str, Reach] = {"yes": "once", "yes, this session": "session"}
CONVERSATION = "user"
TO_USER: tuple[Viewer, ...] = ("user", *OVERSEERS)
TO_BOTH: tuple[Viewer, ...] = ("user", "agent", *OVERSEERS)
Answer = TypeVar("Answer")
Record = Callable[[SimulationMessage], None]


class FormatError(Exception):
    """Raised for an answer that does not have the required form. The message is a sentence for the model."""


class UserAction(NamedTuple):
    """An action of the simulated user: a command, a request to the agent, or the end of the run."""

    kind: ActionKind
    reasoning: str
    text: str


def parse_action(answer: str) -> UserAction:
    """Return the action in an answer. Raise `FormatError` if the answer has not exactly one action in the required form."""
    reasoning, response = parse_response(answer)
    if response in EXIT_MARKS:
        return UserAction("exit", reasoning, "")
    lines = response.splitlines()
    name = lines[0].strip().removeprefix(FENCE)
    if not response.startswith(FENCE) or name not in BLOCKS:
        raise FormatError("The response must begin with ```bash, ```request or ```exit.")
    end = _block_end(lines)
    if any(line.strip() for line in lines[end + 1 :]):
        raise FormatError("The response has more than one action.")
    text = "\n".join(lines[1:end]).strip()
    if not text and BLOCKS[name] != "exit":
        raise FormatError(f"The block ```{name} is empty.")
    return UserAction(BLOCKS[name], reasoning, text)


def _block_end(lines: list[str]) -> int:
    """Return the index of the line that ends the block. The block begins with the first line."""
    # A fence with a name opens a block, also inside the action's block; a bare fence closes the innermost one.
    depth = 0
    for index, line in enumerate(lines):
        mark = line.strip()
        if mark == FENCE:
            depth -= 1
        elif mark.startswith(FENCE):
            depth += 1
        if depth == 0:
            return index
    raise FormatError("The block in the response is not closed.")


def parse_response(answer: str) -> tuple[str, str]:
    """Return the thoughts and the response in an answer. Raise `FormatError` if one of them is missing."""
    reasoning, rest = _split_at_tag(answer, "think")
    response, _ = _split_at_tag(rest, "response")
    if not response:
        raise FormatError("The <response> is empty.")
    return reasoning, response


def parse_tagged(answer: str, tag: str) -> str:
    """Return the text inside a tag. Raise `FormatError` if the tag is missing."""
    return _split_at_tag(answer, tag)[0]


def _split_at_tag(text: str, tag: str) -> tuple[str, str]:
    _, opened, rest = text.partition(f"<{tag}>")
    inside, closed, after = rest.partition(f"</{tag}>")
    if not opened or not closed:
        raise FormatError(f"There is no <{tag}>…</{tag}>.")
    return inside.strip(), after


def decision_options(request: PermissionRequested) -> list[str]:
    """Return the possible answers to a permission request."""
    session = request.choice_for("session")
    return ["yes", *(["yes, this session"] if session is not None and session.offered else []), "no"]


def parse_decision(request: PermissionRequested, answer: str) -> tuple[str, str, DecidePermission]:
    """Return the simulated user's thoughts, the response and the decision.

    If the response begins with "no", the following text is a message to the agent.
    """
    reasoning, response = parse_response(answer)
    word = response.strip("`\n ").lower().rstrip(".!")
    if word in decision_options(request) and word != "no":
        decision = DecidePermission(request_id=request.request_id, decision="allow", reach=DECISIONS[word])
        return reasoning, response, decision
    if response[:2].lower() != "no" or response[2:3].isalnum():
        raise FormatError(f"The response must be one of: {', '.join(decision_options(request))}.")
    why = response[2:].strip(" .,:;-–\n")
    return reasoning, response, DecidePermission(request_id=request.request_id, decision="deny", message=why)


def parse_reply(question: QuestionAsked, answer: str) -> tuple[str, str, AnswerQuestion]:
    """Return the thoughts, the response and the answer to a question."""
    reasoning, response = parse_response(answer)
    number = response.rstrip(".")
    index = int(number) - 1 if number.isascii() and number.isdecimal() and len(number) < 4 else -1
    if not question.options or not 0 <= index < len(question.options):
        return reasoning, response, AnswerQuestion(question_id=question.question_id, answer=response)
    chosen = AnswerQuestion(question_id=question.question_id, answer=question.options[index], choice=index)
    return reasoning, response, chosen


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
        history: SimulationHistory,
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
        for _ in range(self._settings.limits.max_answer_attempts):
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
