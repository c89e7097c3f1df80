"""Summaries of a session's turns, and a short text of all summaries for a new session.

Invariant: the summaries are built from recorded text, without a model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.model_notes import approved_plan
from tui_agent.folds.session.todo_list import CLOSED_STATUSES, format_todo_item
from tui_agent.folds.text.labels import describe_failures
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.session import ErrorRaised, SessionContextLoaded, SessionTitled
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import (
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserSteered,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, RequestId
from tui_agent.protocol.parts import text_previews
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import clip_line, format_count

MAX_CHARS: Final = 6_000
MAX_BYTES: Final = 7_600
"""Maximum size of the text with all summaries, in bytes of UTF-8. A text of this size can be stored without a blob."""
MAX_CARRIED_CHARS: Final = 900
"""Maximum length of the summary from an earlier session, in characters."""
_MAX_TEXT_CHARS = 1_200


class DetailLevel(NamedTuple):
    """Maximum length of each part of a turn's summary, in characters. 0 leaves the part out."""

    asked: int
    done: int
    changed: int
    tests: int
    errors: int


NEWEST_DETAIL: Final = DetailLevel(asked=500, done=900, changed=400, tests=250, errors=250)
RECENT_DETAIL: Final = DetailLevel(asked=200, done=240, changed=160, tests=120, errors=120)
OLD_DETAIL: Final = DetailLevel(asked=120, done=0, changed=0, tests=0, errors=0)
RECENT_TURNS: Final = 5
MAX_OPEN_TASK_CHARS: Final = 600
MAX_PLAN_CHARS: Final = 1_500
MIN_TURN_BYTES: Final = 1_000
"""Number of bytes that a plan leaves for the newest turn's summary."""
_HEAD_CHARS = 200
"""Number of characters that are reserved for the first line of a turn's summary."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """The summary of one turn.

    - `prompt`: the user's message. Empty if the turn continued without a new message.
    - `files`: paths of changed files.
    - `tests`, `errors`: sentences about test runs and about errors, newest last.
    """

    turn: int
    prompt: str = ""
    answer: str = ""
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSummariesView:
    """The summaries of a session's turns, in order.

    - `open_tasks`: unfinished todo items.
    - `open_plan`: the newest approved plan, if its turn was stopped.
    - `earlier_summary`: summary of the earlier session that this session continues.
    """

    turns: tuple[TurnSummary, ...] = ()
    open_tasks: tuple[TodoItem, ...] = ()
    title: str = ""
    earlier_summary: str = ""
    open_plan: str = ""


@dataclass(slots=True)
class _Turn:
    turn: int
    asked: list[str] = field(default_factory=list)
    plan: LongText = ""
    """The plan that the user approved in this turn, or in the turn that it continues."""
    is_finished: bool = False
    done: str = ""
    files: dict[str, None] = field(default_factory=dict)
    tests: dict[tuple[str, str], str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, payload: Payload, *, is_main: bool) -> bool:
        """Add an event of the turn to the summary, or return False if the event changes nothing."""
        match payload:
            case UserSteered(text=text):
                self.asked.append(_clip_text(text))
            case ModelResponded(parts=parts) if is_main:
                texts = text_previews(parts)
                self.done = _clip_text(" ".join(texts)) or self.done
            case FileChanged(path=path) as change if change.author != "human":
                self.files[path] = None
            case TestFinished() as test:
                # Move the test to the end, where the newest ones are.
                self.tests.pop((test.command, test.folder), None)
                self.tests[test.command, test.folder] = _describe_test(test)
            case ModelFailed(message=message, fault=fault) if is_main and fault != "cancelled":
                self.errors.append(_clip_text(message))
            case ErrorRaised(message=message):
                self.errors.append(_clip_text(message))
            case TurnFinished(reason="finished") if is_main:
                self.is_finished = True
            case TurnFinished(reason=reason, detail=detail) if is_main:
                suffix = f": {detail}" if detail else ""
                self.errors.append(_clip_text(f"The turn ended ({reason.replace('_', ' ')}){suffix}"))
            case _:
                return False
        return True

    def summary(self) -> TurnSummary:
        asked, tests = " / ".join(self.asked), tuple(self.tests.values())
        return TurnSummary(self.turn, asked, self.done, tuple(self.files), tests, tuple(self.errors))


class TurnSummaries:
    """Builds the summaries of turns from the records of one branch."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._waiting: list[str] = []
        """The user's messages that have not started a turn yet."""
        self._todo: tuple[TodoItem, ...] = ()
        self._plans: dict[RequestId, QuestionAsked] = {}
        """The plans that the user has not answered yet."""
        self._title = ""
        self._carried: LongText = ""

    def apply(self, ev: Envelope) -> bool:
        is_main = ev.agent == MAIN_AGENT
        match ev.payload:
            case SessionTitled(title=title):
                self._title = title
            case SessionContextLoaded(summary=summary):
                self._carried = summary
            case UserMessageReceived(text=text) if is_main:
                self._waiting.append(_clip_text(text))
            case TodoUpdated(items=items) if is_main:
                self._todo = items
            case TurnStarted(turn=number) if is_main:
                continued_plan = self._turns[-1].plan if self._turns and not self._waiting else ""
                self._turns.append(_Turn(number, asked=self._waiting, plan=continued_plan))
                self._waiting = []
            case QuestionAsked(form="plan") as question if is_main and self._turns:
                self._plans[question.question_id] = question
            case QuestionAnswered(question_id=question_id) as answer if question_id in self._plans:
                plan = approved_plan(self._plans.pop(question_id), answer)
                self._turns[-1].plan = plan or self._turns[-1].plan
            case payload:
                return bool(self._turns) and self._turns[-1].add(payload, is_main=is_main)
        return True

    def view(self) -> TurnSummariesView:
        """Return the summaries of all turns so far. Messages that still wait for a turn get a summary with the error
        `Not answered.`"""
        turns = [turn.summary() for turn in self._turns]
        if self._waiting:
            number = turns[-1].turn + 1 if turns else 1
            asked = " / ".join(self._waiting)
            turns.append(TurnSummary(number, asked, errors=("Not answered.",)))
        left = tuple(item for item in self._todo if item.status not in CLOSED_STATUSES)
        carried = text_preview(self._carried)
        return TurnSummariesView(tuple(turns), left, self._title, carried, self._open_plan())

    def _open_plan(self) -> str:
        """Return the newest approved plan; empty if its turn ended normally."""
        turn = next((turn for turn in reversed(self._turns) if turn.plan), None)
        return "" if turn is None or turn.is_finished else text_preview(turn.plan).strip()


def _clip_text(text: LongText) -> str:
    return clip_line(text_preview(text), _MAX_TEXT_CHARS)


def _describe_test(test: TestFinished) -> str:
    counts = [f"{test.passed} passed"] if test.passed >= 0 else []
    counts += [describe_failures(test.failed, test.errors)] if test.failed > 0 else []
    outcome = "did not end" if test.exit_code is None else f"exit {test.exit_code}"
    folder = f" in {test.folder}" if test.folder else ""
    failures = f" ({', '.join(test.failures)})" if test.failures else ""
    return f"{test.command}{folder}: {', '.join(counts) or outcome}{failures}"


# -- as a text -----------------------------------------------------------------------------------------------------


def summary_text(view: TurnSummariesView, session: str) -> str:
    """Return a session's summary for a new session, in Markdown. Older turns have less detail."""
    if not view.turns and not view.earlier_summary:
        return ""
    tail = [_format_tasks(view.open_tasks)] if view.open_tasks else []
    if view.earlier_summary:
        tail.append(f"## Before that\n{clip_line(view.earlier_summary, MAX_CARRIED_CHARS)}")
    if view.open_plan:
        tail.insert(0, _format_plan(view.open_plan, "\n\n".join(tail)))
    blocks: list[str] = []
    for age, turn in enumerate(reversed(view.turns)):
        block = _fit_turn(turn, age, [*blocks, *tail])
        if block is None:
            break
        blocks.append(block)
    return "\n\n".join([_format_head(view, session, len(view.turns) - len(blocks)), *reversed(blocks), *tail])


def _fit_turn(turn: TurnSummary, age: int, others: Sequence[str]) -> str | None:
    """Return the summary of a turn in as much detail as fits beside the texts `others`, or None if nothing fits."""
    details = (NEWEST_DETAIL, RECENT_DETAIL, OLD_DETAIL)[0 if age == 0 else 1 if age <= RECENT_TURNS else 2 :]
    used = "\n\n".join(others)
    max_chars = MAX_CHARS - _HEAD_CHARS - len(used)
    # A character has at most four bytes in UTF-8.
    byte_room = MAX_BYTES - 4 * _HEAD_CHARS - len(used.encode("utf-8", "replace"))
    for detail in details:
        block = _format_turn(turn, detail)
        if len(block) + 2 <= max_chars and len(block.encode("utf-8", "replace")) + 2 <= byte_room:
            return block
    return None


def _format_head(view: TurnSummariesView, session: str, left_out: int) -> str:
    title = f" ({clip_line(view.title, 60)})" if view.title else ""
    count = format_count(len(view.turns), "turn")
    omission = f" (the oldest {left_out} are left out)" if left_out else ""
    return f"This session continues the earlier session {session}{title}, which had {count}{omission}:"


def _format_turn(turn: TurnSummary, detail: DetailLevel) -> str:
    asked = clip_line(turn.prompt, detail.asked) or "(continued without a new message)"
    if not detail.done:
        files = f"; changed {format_count(len(turn.files), 'file')}" if turn.files else ""
        return f"- turn {turn.turn}: {asked}{files}"
    lines = [
        f"## Turn {turn.turn}",
        f"- Asked: {asked}",
        _format_line("Done", [turn.answer] if turn.answer else [], detail.done),
        _format_line("Changed", turn.files, detail.changed),
        _format_line("Tests", turn.tests[::-1], detail.tests),
        _format_line("Errors", turn.errors[::-1], detail.errors),
    ]
    return "\n".join(line for line in lines if line)


def _format_tasks(left: Iterable[TodoItem]) -> str:
    lines = [f"- {format_todo_item(item)}" for item in left]
    return "## Left open\n" + _join_items(lines, MAX_OPEN_TASK_CHARS, "\n")


def _format_plan(plan: str, others: str) -> str:
    """Return the block with the approved plan, cut so that the newest turn still has room beside `others`."""
    max_bytes = MAX_BYTES - 4 * _HEAD_CHARS - MIN_TURN_BYTES - len(others.encode("utf-8", "replace"))
    shown = plan.encode("utf-8", "replace")[: max(max_bytes, 0)].decode("utf-8", "ignore")[:MAX_PLAN_CHARS]
    cut = " […]" if len(shown) < len(plan) else ""
    return f"## Approved plan, not carried out to the end\n{shown}{cut}"


def _format_line(name: str, items: Sequence[str], max_chars: int) -> str:
    return f"- {name}: {_join_items(items, max_chars, '; ')}" if items else ""


def _join_items(items: Sequence[str], max_chars: int, separator: str) -> str:
    """Join as many items as fit in `max_chars` characters, and add the number of further items, e.g. ` and 3 more`."""
    shown = [clip_line(items[0], max_chars)]
    for item in items[1:]:
        if sum(len(text) + len(separator) for text in shown) + len(item) > max_chars:
            break
        shown.append(clip_line(item, max_chars))
    rest = len(items) - len(shown)
    return separator.join(shown) + (f" and {rest} more" if rest else "")
