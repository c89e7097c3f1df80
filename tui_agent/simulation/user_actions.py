"""Parsing of a simulated user's answers: `<think>` and `<response>`, with one action or a decision in the response.

Invariant: an answer in another form raises `FormatError`.
"""

from typing import Literal, NamedTuple, TypeAlias

from tui_agent.protocol.commands import AnswerQuestion, DecidePermission
from tui_agent.protocol.events.policy import PermissionRequested, Reach
from tui_agent.protocol.events.turn import QuestionAsked

ActionKind: TypeAlias = Literal["execute", "request", "exit"]
FENCE = "```"
BLOCKS: dict[str, ActionKind] = {"bash": "execute", "sh": "execute", "request": "request", "exit": "exit"}
EXIT_MARKS = ("[USER END]", "[TASK COMPLETE]")
DECISIONS: dict[str, Reach] = {"yes": "once", "yes, this session": "session"}


class FormatError(Exception):
    """Raised for an answer that does not have the required form. The message is a sentence for the model."""


class UserAction(NamedTuple):
    """An action of the simulated user: a command, a request to the agent, or the end of the run."""

    kind: ActionKind
    reasoning: str
    text: str


def parse_action(answer: str) -> UserAction:
    """Return the action in an answer. Raise `FormatError` if the answer has another form."""
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
