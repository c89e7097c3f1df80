"""What of a history can stand shorter: where a summary may end, and which outputs may be put away first.

Invariant: pure; the same history gives the same choice. A person's words are never chosen here, the newest messages
never, and what follows a cut is legal on its own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.folds.context.compacted_history import REDUCED, calls_of
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, TextContent, ToolCallPart

IMAGE_CHARS: Final = 4_800
SPARED: Final[frozenset[str]] = frozenset(("write_todos", "read_todos", "present_plan", "ask_user"))
"""Tools whose results stay: tasks, plans, and what the user answered."""
TESTS: Final = "run_tests"
READS: Final = "read_file"
NEWEST_ANSWERS: Final = 2
OPEN_FILES: Final = 5
"""So many files whose newest reading stays."""
WORTH: Final = 1_200
"""Characters from which on an output is worth putting away."""


@dataclass(frozen=True, slots=True)
class Shrinking:
    """Shares of the window: from `reduce_at` on old outputs are put away, from `compact_at` on old turns are summarised
    (0: never by itself); `keep` is what of the newest messages stays word for word."""

    reduce_at: float = 0.70
    reduce_to: float = 0.50
    compact_at: float = 0.85
    keep: float = 0.20
    prompt: str = ""
    """What the model is told that writes a summary."""


def chars_of(message: Message) -> int:
    """Characters of a message as a model reads it, an image as so many."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            return sum(map(_content_chars, content))
        case SummaryMessage(text=text):
            return _chars(text)
        case AssistantMessage(parts=parts):
            return sum(
                len(part.name) + len(str(part.arguments))
                if isinstance(part, ToolCallPart)
                else _chars(part.text)
                for part in parts
            )


def _content_chars(piece: Content) -> int:
    return IMAGE_CHARS if isinstance(piece, ImageContent) else _chars(piece.text)


def _chars(text: LongText) -> int:
    return text.size if isinstance(text, BlobText) else len(text)


def cut_of(history: Sequence[Message], keep_chars: int, first: int = 0) -> int:
    """How many of the first messages a summary can stand for, so that about `keep_chars` stay; 0: none.

    `first` of them go in any case: an older summary. A cut lies before a message that is no result, and such that all
    behind it came later: that is how the log tells both sides apart.
    """
    starts = [at for at in range(first + 1, len(history)) if not isinstance(history[at], ToolMessage)]
    after, room = list[int](), keep_chars
    tail = len(history)
    for start in reversed(starts):
        room -= sum(map(chars_of, history[start:tail]))
        tail = start
        if after and room < 0:
            break
        after.append(start)
    for start in sorted(after):
        if _apart(history, first, start):
            return start
    return next(
        (at for at in reversed(starts) if at < min(after, default=0) and _apart(history, first, at)), 0
    )


def _apart(history: Sequence[Message], first: int, start: int) -> bool:
    return max(one.seq for one in history[first:start]) < min(one.seq for one in history[start:])


def reducible(
    history: Sequence[Message], keep_chars: int, spared: Collection[CallId] = ()
) -> list[ToolMessage]:
    """The outputs that may be put away, the oldest first: none of the newest `keep_chars`, and none of `spared`."""
    end, room, answers = len(history), keep_chars, 0
    while end > 0 and (room > 0 or answers < NEWEST_ANSWERS):
        end -= 1
        room -= chars_of(history[end])
        answers += isinstance(history[end], AssistantMessage)
    return [
        one
        for one in history[:end]
        if isinstance(one, ToolMessage)
        and one.name not in SPARED
        and one.call_id not in spared
        and chars_of(one) >= WORTH
        and not _put_away(one)
    ]


def _put_away(message: ToolMessage) -> bool:
    first = message.content[0] if message.content else None
    return isinstance(first, TextContent) and isinstance(first.text, str) and first.text.startswith(REDUCED)


def needed_calls(history: Sequence[Message], pinned: Collection[int] = ()) -> set[CallId]:
    """Calls whose results stay: pinned ones, and the newest tests where they fail."""
    calls = calls_of(history)
    results = {one.call_id: one for one in history if isinstance(one, ToolMessage)}
    needed = {call for call, one in results.items() if one.seq in pinned}
    tests = [call for call, part in calls.items() if part.name == TESTS and call in results]
    if tests and not results[tests[-1]].ok:
        needed.add(tests[-1])
    return needed


def newest_readings(history: Sequence[Message]) -> set[CallId]:
    """The newest reading of each of the files that were used last."""
    ok = {one.call_id for one in history if isinstance(one, ToolMessage) and one.ok}
    used: dict[str, CallId] = {}
    for call, part in calls_of(history).items():
        path = path_of(part)
        if path and call in ok:
            held = used.pop(path, None)
            used[path] = call if part.name == READS or held is None else held
    return set(list(used.values())[-OPEN_FILES:])


def path_of(call: ToolCallPart | None) -> str:
    """The file that a call names; empty where it names none."""
    arguments: Mapping[str, object] = call.arguments if call is not None else {}
    path = arguments.get("path")
    return path if isinstance(path, str) else ""
