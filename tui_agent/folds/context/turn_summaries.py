"""What each turn of a session came to, and the bounded text of it that a fresh session begins with.

Invariant: made of recorded words only, without a model; the text has at most `MOST_CHARS` characters, of which no turn
takes more than its detail allows, and is small enough to stand in one line of a log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tui_agent.folds.dispatch import Handlers
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.session import ErrorRaised, SessionContextLoaded, SessionTitled
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.parts import TextPart
from tui_agent.protocol.unicode_text import counted

MOST_CHARS: Final = 6_000
MOST_BYTES: Final = 7_600
"""In UTF-8: below what a log keeps beside it."""
CARRIED_CHARS: Final = 900
"""Of what the earlier session had itself taken over from one before."""
_WORDS_KEPT = 1_200
_DONE = ("completed", "verified", "abandoned")


class Detail(NamedTuple):
    """How many characters of a turn are told, by what they tell; 0 leaves it out."""

    asked: int
    done: int
    changed: int
    tests: int
    errors: int


NEWEST: Final = Detail(asked=500, done=900, changed=400, tests=250, errors=250)
RECENT: Final = Detail(asked=200, done=240, changed=160, tests=120, errors=120)
OLD: Final = Detail(asked=120, done=0, changed=0, tests=0, errors=0)
RECENT_TURNS: Final = 5
LEFT_OPEN_CHARS: Final = 600
_HEAD_CHARS = 200
"""Kept for the first line."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One turn. `files` are (path, lines added, lines removed), `tests` and `errors` sentences, the newest last.

    `asked` is empty where the turn went on without a new message.
    """

    turn: int
    asked: str = ""
    done: str = ""
    files: tuple[tuple[str, int, int], ...] = ()
    tests: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSummariesView:
    """The turns in order; `left` are the tasks that are not done, `carried` what the session began with itself."""

    turns: tuple[TurnSummary, ...] = ()
    left: tuple[TodoItem, ...] = ()
    title: str = ""
    carried: str = ""


@dataclass(slots=True)
class _Turn:
    turn: int
    asked: list[str] = field(default_factory=list)
    done: str = ""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    tests: dict[tuple[str, str], str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def summary(self) -> TurnSummary:
        files = tuple((path, added, removed) for path, (added, removed) in self.files.items())
        asked = " / ".join(self.asked)
        return TurnSummary(self.turn, asked, self.done, files, tuple(self.tests.values()), tuple(self.errors))


class TurnSummaries:
    """Folds the records of one branch."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._waiting: list[str] = []
        """What was said and has no turn yet."""
        self._todo: tuple[TodoItem, ...] = ()
        self._title = ""
        self._carried: LongText = ""

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if something that is told changed."""
        return _HANDLERS.apply(self, ev)

    def view(self) -> TurnSummariesView:
        """Every turn so far; a message that was never answered is one too."""
        turns = [turn.summary() for turn in self._turns]
        if self._waiting:
            number = turns[-1].turn + 1 if turns else 1
            asked = " / ".join(self._waiting)
            turns.append(TurnSummary(number, asked, errors=("It was not answered.",)))
        left = tuple(item for item in self._todo if item.status not in _DONE)
        return TurnSummariesView(tuple(turns), left, self._title, text_preview(self._carried))

    @property
    def _now(self) -> _Turn | None:
        return self._turns[-1] if self._turns else None


_HANDLERS: Handlers[TurnSummaries] = Handlers()


def _short(text: LongText) -> str:
    return clip(text_preview(text), _WORDS_KEPT)


@_HANDLERS.on(SessionTitled)
def _on_session_titled(fold: TurnSummaries, ev: Envelope, payload: SessionTitled) -> bool:
    fold._title = payload.title
    return True


@_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(fold: TurnSummaries, ev: Envelope, payload: SessionContextLoaded) -> bool:
    fold._carried = payload.summary
    return True


@_HANDLERS.on(UserMessageReceived)
def _on_user_message_received(fold: TurnSummaries, ev: Envelope, payload: UserMessageReceived) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold._waiting.append(_short(payload.text))
    return True


@_HANDLERS.on(UserSteered)
def _on_user_steered(fold: TurnSummaries, ev: Envelope, payload: UserSteered) -> bool:
    if fold._now is None:
        return False
    fold._now.asked.append(_short(payload.text))
    return True


@_HANDLERS.on(TurnStarted)
def _on_turn_started(fold: TurnSummaries, ev: Envelope, payload: TurnStarted) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold._turns.append(_Turn(payload.turn, asked=fold._waiting))
    fold._waiting = []
    return True


@_HANDLERS.on(ModelResponded)
def _on_model_responded(fold: TurnSummaries, ev: Envelope, payload: ModelResponded) -> bool:
    words = [text_preview(part.text) for part in payload.parts if isinstance(part, TextPart)]
    if fold._now is None or ev.agent != MAIN_AGENT or not any(words):
        return False
    fold._now.done = clip(" ".join(words), _WORDS_KEPT)
    return True


@_HANDLERS.on(FileChanged)
def _on_file_changed(fold: TurnSummaries, ev: Envelope, payload: FileChanged) -> bool:
    if fold._now is None or payload.author == "human":
        return False
    added, removed = fold._now.files.get(payload.path, (0, 0))
    fold._now.files[payload.path] = added + payload.added, removed + payload.removed
    return True


@_HANDLERS.on(TestFinished)
def _on_test_finished(fold: TurnSummaries, ev: Envelope, payload: TestFinished) -> bool:
    if fold._now is None:
        return False
    key = payload.command, payload.folder
    fold._now.tests.pop(key, None)
    fold._now.tests[key] = _test_words(payload)
    return True


def _test_words(test: TestFinished) -> str:
    counts = [f"{test.passed} passed"] if test.passed >= 0 else []
    counts += [f"{test.failed} failed"] if test.failed > 0 else []
    ended = "did not end" if test.exit_code is None else f"exit {test.exit_code}"
    where = f" in {test.folder}" if test.folder else ""
    named = f" ({', '.join(test.failures)})" if test.failures else ""
    return f"{test.command}{where}: {', '.join(counts) or ended}{named}"


@_HANDLERS.on(ModelFailed)
def _on_model_failed(fold: TurnSummaries, ev: Envelope, payload: ModelFailed) -> bool:
    if fold._now is None or ev.agent != MAIN_AGENT or payload.fault == "cancelled":
        return False
    fold._now.errors.append(clip(payload.message, _WORDS_KEPT))
    return True


@_HANDLERS.on(ErrorRaised)
def _on_error_raised(fold: TurnSummaries, ev: Envelope, payload: ErrorRaised) -> bool:
    if fold._now is None:
        return False
    fold._now.errors.append(clip(payload.message, _WORDS_KEPT))
    return True


@_HANDLERS.on(TodoUpdated)
def _on_todo_updated(fold: TurnSummaries, ev: Envelope, payload: TodoUpdated) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold._todo = payload.items
    return True


@_HANDLERS.on(TurnFinished)
def _on_turn_finished(fold: TurnSummaries, ev: Envelope, payload: TurnFinished) -> bool:
    if fold._now is None or ev.agent != MAIN_AGENT or payload.reason == "finished":
        return False
    why = f": {payload.detail}" if payload.detail else ""
    fold._now.errors.append(clip(f"The turn ended ({payload.reason.replace('_', ' ')}){why}", _WORDS_KEPT))
    return True


# -- as a text -----------------------------------------------------------------------------------------------------


def clip(text: str, most: int) -> str:
    """The words of a text in one line, cut to so many characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def summary_text(view: TurnSummariesView, session: str) -> str:
    """What a fresh session is told of this one, in Markdown; empty where nothing was said in it.

    The newest turn is told in detail, the `RECENT_TURNS` before it shortly, older ones in a line, as far as there is
    room: a turn that does not fit is told in less, and what is still too much is left out, the oldest first.
    """
    if not view.turns and not view.carried:
        return ""
    tail = [_left_open(view.left)] if view.left else []
    if view.carried:
        tail.append(f"## Before that\n{clip(view.carried, CARRIED_CHARS)}")
    told: list[str] = []
    for place, turn in enumerate(reversed(view.turns)):
        block = _fitting(turn, place, [*told, *tail])
        if block is None:
            break
        told.append(block)
    return "\n\n".join([_head(view, session, len(view.turns) - len(told)), *reversed(told), *tail])


def _fitting(turn: TurnSummary, place: int, others: Sequence[str]) -> str | None:
    """The turn in as much detail as its place allows and there is room for; None where there is none."""
    details = (NEWEST, RECENT, OLD)[0 if place == 0 else 1 if place <= RECENT_TURNS else 2 :]
    used = "\n\n".join(others)
    room = MOST_CHARS - _HEAD_CHARS - len(used)
    byte_room = MOST_BYTES - 4 * _HEAD_CHARS - len(used.encode("utf-8", "replace"))
    for detail in details:
        block = _block(turn, detail)
        if len(block) + 2 <= room and len(block.encode("utf-8", "replace")) + 2 <= byte_room:
            return block
    return None


def _head(view: TurnSummariesView, session: str, left_out: int) -> str:
    named = f" ({clip(view.title, 60)})" if view.title else ""
    count = counted(len(view.turns), "turn")
    less = f" The oldest {left_out} of them are left out here." if left_out else ""
    return f"This session carries on from an earlier one of {count}: {session}{named}. What it came to:{less}"


def _block(turn: TurnSummary, detail: Detail) -> str:
    asked = clip(turn.asked, detail.asked) or "(it went on without a new message)"
    if not detail.done:
        count = len(turn.files)
        files = f"; changed {count} {'file' if count == 1 else 'files'}" if count else ""
        return f"- turn {turn.turn}: {asked}{files}"
    lines = [
        f"## Turn {turn.turn}",
        f"- Asked: {asked}",
        _line("Done", [turn.done] if turn.done else [], detail.done),
        _line(
            "Changed", [f"{path} +{added} -{removed}" for path, added, removed in turn.files], detail.changed
        ),
        _line("Tests", turn.tests[::-1], detail.tests),
        _line("Errors", turn.errors[::-1], detail.errors),
    ]
    return "\n".join(line for line in lines if line)


def _left_open(left: Iterable[TodoItem]) -> str:
    told = [f"- {'[>]' if item.status == 'in_progress' else '[ ]'} {item.content}" for item in left]
    return "## Left open\n" + _some(told, LEFT_OPEN_CHARS, "\n")


def _line(name: str, items: Sequence[str], most: int) -> str:
    return f"- {name}: {_some(items, most, '; ')}" if items else ""


def _some(items: Sequence[str], most: int, between: str) -> str:
    """As many of the items as have room, the first one cut if need be; says how many are not named."""
    told = [clip(items[0], most)]
    for item in items[1:]:
        if sum(len(one) + len(between) for one in told) + len(item) > most:
            break
        told.append(clip(item, most))
    rest = len(items) - len(told)
    return between.join(told) + (f" and {rest} more" if rest else "")
