"""The engine's permission requests and questions, as options to choose from in an editor.

Invariant: a call is allowed only if the user chose an option that allows it.
"""

from collections.abc import Iterable
from typing import Final

from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate

from tui_agent.acp.updates import UpdateTranslator, text_content
from tui_agent.folds.session.state_view import OpenCall
from tui_agent.folds.text.labels import always_label
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission
from tui_agent.protocol.events.policy import OPENS_FILES, PermissionRequested, Reach
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.unicode_text import clip_line, reveal_invisible

MAX_TITLE_CHARS: Final = 200
DENY: Final = "deny"
LATER: Final = "later"
"""Id of the option "Answer in the next message"."""
LATER_ANSWER: Final = (
    "I will answer in my next message. Repeat the question in your answer, and end the turn."
)
NO_ANSWER: Final = "No answer."


def permission_options(request: PermissionRequested) -> list[PermissionOption]:
    """Return the answers that the user can choose for a permission request."""
    labels: tuple[tuple[Reach, str], ...] = (
        ("session", "Yes, this session"),
        ("always", always_label(request)),
        ("everywhere", always_label(request, everywhere=True)),
    )
    options = [PermissionOption(option_id="once", name="Yes, this once", kind="allow_once")]
    for reach, label in labels:
        choice = request.choice_for(reach)
        if choice is None or not choice.offered:
            continue
        if reach == "everywhere" and choice.rule.startswith(OPENS_FILES):
            continue  # this rule opens files; it would be saved in config.toml, which cannot limit it to a project
        name = f"{label}: {reveal_invisible(choice.rule)}" if choice.rule else label
        options.append(PermissionOption(option_id=reach, name=name, kind="allow_always"))
    no = PermissionOption(option_id=DENY, name="No", kind="reject_once")
    return [no, *options] if request.default_no else [*options, no]


async def permission_call(request: PermissionRequested, translator: UpdateTranslator) -> ToolCallUpdate:
    """Return the tool call of a permission request, with all its effects."""
    effects = [
        f"{reveal_invisible(command.command)}: {effect.verb} {reveal_invisible(effect.target)}".rstrip()
        for command in request.commands
        for effect in command.effects
    ]
    notes = [
        f"Warning: {request.risk}" if request.risk else "",
        f"Asked because {request.reason}" if request.reason else "",
        *effects,
    ]
    content = await translator.contents(request.preview)
    content += [text_content(reveal_invisible(note)) for note in notes if note]
    title = reveal_invisible(clip_line(f"{request.verb} {request.target}", MAX_TITLE_CHARS))
    return ToolCallUpdate(tool_call_id=request.call_id, title=title, status="pending", content=content)


def permission_decision(request: PermissionRequested, chosen: str) -> DecidePermission:
    """Return the decision for the option `chosen`. An option that was not offered denies the call."""
    offered = {option.option_id for option in permission_options(request)} - {DENY}
    reach: Reach | None = next((reach for reach in _REACHES if reach == chosen and chosen in offered), None)
    if reach is None:
        return DecidePermission(request_id=request.request_id, decision="deny")
    return DecidePermission(request_id=request.request_id, decision="allow", reach=reach)


_REACHES: Final[tuple[Reach, ...]] = ("once", "session", "always", "everywhere")


def question_options(question: QuestionAsked) -> list[PermissionOption]:
    """Return one option for each answer to a question, and the option "Answer in the next message".

    The id of an answer's option is the answer's index.
    """
    options = [
        PermissionOption(option_id=str(index), name=option, kind="allow_once")
        for index, option in enumerate(question.options)
    ]
    return [
        *options,
        PermissionOption(option_id=LATER, name="Answer in the next message", kind="reject_once"),
    ]


def asking_call(agent: AgentId, open_calls: Iterable[OpenCall]) -> str:
    """Return the id of the tool call in which an agent asks a question. Empty if no call of the agent runs."""
    running = [call.call_id for call in open_calls if call.agent == agent and call.started]
    return running[-1] if running else ""


def question_call(question: QuestionAsked, text: str, call_id: str) -> ToolCallUpdate:
    """Return the tool call that shows a question with the full `text`."""
    title = clip_line(text, MAX_TITLE_CHARS)
    return ToolCallUpdate(tool_call_id=call_id, title=title, status="pending", content=[text_content(text)])


def question_answer(question: QuestionAsked, chosen: str) -> AnswerQuestion:
    """Return the answer for the option `chosen`."""
    index = int(chosen) if chosen.isdecimal() else -1
    if 0 <= index < len(question.options):
        return AnswerQuestion(question_id=question.question_id, answer=question.options[index], choice=index)
    answer = LATER_ANSWER if chosen == LATER else NO_ANSWER
    return AnswerQuestion(question_id=question.question_id, answer=answer)


def chosen_option(response: RequestPermissionResponse) -> str:
    """Return the id of the chosen option; empty if the request was cancelled."""
    return response.outcome.option_id if isinstance(response.outcome, AllowedOutcome) else ""
