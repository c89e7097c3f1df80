"""Drawing of any transcript entry as rows, and a cheap estimate of the number of rows.

Invariant: rows depend only on the entry, the look and the `DisplayState`.
"""

import re
from collections.abc import Sequence
from typing import Final, assert_never

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.stored_text import BlobText, LongText, text_preview
from tui_agent.tui.transcript.blocks import LIVE_ROWS, OUTPUT_ROWS, PART_LINES, Reader, line_count
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.message_rows import (
    FOLDED_ROWS,
    answer_tail,
    fold_answer,
    is_long,
    question_rows,
    reasoning_rows,
    user_rows,
)
from tui_agent.tui.transcript.notices import notice_rows, turn_rows
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import Row
from tui_agent.tui.transcript.tool_rows import is_hidden, is_open_by_default, tool_rows, unfolded_blocks
from tui_agent.tui.untrusted_text import clean

BODY_ROWS: Final = 3
"""Maximum number of body rows of a tool call or notice without empty rows around the entry."""


@dataclass(frozen=True, slots=True)
class DisplayState:
    """The state for drawing an entry, besides the entry and the look.

    - `opened`: True if the user opened the entry, False if the user folded it, otherwise None
    - `has_turn_ended`: True if the entry's turn has ended
    - `active`: True if the cursor or the mouse is on the entry
    - `now`: the time in seconds
    - `start`: number of the line shown first in a long opened entry; None for the default
    """

    opened: bool | None = None
    has_turn_ended: bool = False
    active: bool = False
    now: float = 0.0
    start: int | None = None


def draw(
    entry: Entry, state: DisplayState, look: Look, read: Reader, stream: MarkdownStream | None = None
) -> list[Row]:
    """Draw a transcript entry as rows.

    `stream`: cache of a streaming answer's finished rows.
    """
    match entry:
        case UserEntry():
            return user_rows(entry, look, read, opened=state.opened, active=state.active)
        case AnswerEntry():
            return _answer(entry, state, look, read, stream)
        case ReasoningEntry():
            return reasoning_rows(entry, look, read, opened=state.opened)
        case ToolEntry():
            if is_hidden(entry, state.now):
                return []
            return tool_rows(
                entry,
                look,
                read,
                opened=state.opened,
                has_turn_ended=state.has_turn_ended,
                now=state.now,
                start=state.start,
            )
        case NoticeEntry():
            return notice_rows(entry, look, read, opened=state.opened, start=state.start)
        case QuestionEntry():
            return question_rows(entry, look, read, opened=state.opened, start=state.start)
        case TurnEntry():
            return turn_rows(entry, look)
        case _:
            assert_never(entry)


def new_stream(look: Look) -> MarkdownStream:
    return MarkdownStream(look, Place((look.gutter(),), (look.gutter(),)))


def has_gaps(entry: Entry, rows: int) -> bool:
    """Return True if the entry needs an empty row before and after it.

    `rows`: number of the entry's drawn rows.
    """
    match entry:
        case UserEntry() | AnswerEntry() | TurnEntry() | QuestionEntry():
            return rows > 0
        case _:
            return rows > BODY_ROWS + 1


def guess_rows(entry: Entry, state: DisplayState, look: Look) -> int:
    """Estimate the number of rows of an entry without drawing it."""
    match entry:
        case UserEntry(state="removed" | "queued"):
            return 0
        case UserEntry():
            rows = _guess_lines(entry.text, max(look.right - TEXT_COLUMN - 8, 8))
            return min(rows, FOLDED_ROWS + 1) if state.opened is None and is_long(entry) else rows
        case AnswerEntry():
            return 1 if state.opened is False else _guess_lines(entry.text, look.text) + entry.stopped
        case ToolEntry():
            return 0 if is_hidden(entry, state.now) else _guess_tool(entry, state)
        case NoticeEntry():
            return max(len(entry.lines), 1) + _count_lines(entry.blocks)
        case QuestionEntry():
            rows = _guess_lines(entry.text, look.text)
            rows += 1 if entry.answer is not None else len(entry.options)
            return min(rows, OUTPUT_ROWS + 2) if entry.form == "plan" and not state.opened else rows
        case _:
            return 1


def can_fold(entry: Entry) -> bool:
    """Return True if the user can fold and unfold the entry."""
    match entry:
        case AnswerEntry() | UserEntry() | ReasoningEntry():
            return True
        case ToolEntry():
            body = entry.blocks or entry.output or entry.denial or "\n" in entry.target
            return bool(body) and not entry.is_question
        case NoticeEntry():
            return bool(entry.blocks) or (
                entry.is_summary and entry.level != "error" and len(entry.lines) > 1
            )
        case QuestionEntry():
            return entry.form == "plan"
        case _:
            return False


def is_open(entry: Entry, state: DisplayState) -> bool:
    """Return True if the entry is unfolded now."""
    if state.opened is not None:
        return state.opened
    match entry:
        case ToolEntry():
            return is_open_by_default(entry, state.has_turn_ended)
        case ReasoningEntry():
            return entry.streaming
        case NoticeEntry():
            return not entry.is_summary or entry.level == "error"
        case QuestionEntry():
            return entry.form != "plan"
        case UserEntry():
            return not is_long(entry)
        case _:
            return True


def _texts(entry: Entry) -> list[LongText]:
    """Return all texts of the unfolded entry."""
    match entry:
        case UserEntry() | AnswerEntry() | ReasoningEntry():
            return [entry.text]
        case ToolEntry(is_question=True):
            return []
        case ToolEntry():
            blocks = unfolded_blocks(entry)
            return [
                entry.verb,
                entry.target,
                entry.outcome,
                entry.denial,
                *(_block_texts(blocks) if blocks else [entry.output]),
            ]
        case NoticeEntry():
            return [*entry.lines, entry.command, *_block_texts(entry.blocks)]
        case QuestionEntry():
            return [entry.text, *entry.options, entry.answer or ""]
        case TurnEntry():
            return [f"turn {entry.turn}"]
        case _:
            assert_never(entry)


def search_text(entry: Entry, read: Reader) -> str:
    """Return the text of an entry for `find`: all texts of the unfolded entry."""
    return clean("\n".join(map(read, _texts(entry))))


def match_lines(entry: Entry, read: Reader, pattern: re.Pattern[str]) -> list[int | None]:
    """Return the line number (from 0) of each match of `pattern` in the texts of an entry.

    The number is None for a short text, which is drawn as a whole.
    """
    numbers: list[int | None] = []
    for text in map(read, _texts(entry)):
        lines = text.removesuffix("\n").split("\n")
        is_parted = len(lines) > PART_LINES
        for number, line in enumerate(lines):
            numbers += [number if is_parted else None for _ in pattern.finditer(clean(line))]
    return numbers


def long_texts(entry: Entry) -> list[BlobText]:
    """Return the texts of an entry that are stored outside the log."""
    return [text for text in _texts(entry) if isinstance(text, BlobText)]


def _answer(
    entry: AnswerEntry, state: DisplayState, look: Look, read: Reader, stream: MarkdownStream | None
) -> list[Row]:
    text = read(entry.text)
    if not text.strip():
        return answer_tail(entry, look)
    stream = stream or new_stream(look)
    stream.update(text, done=not entry.streaming)
    if state.opened is False:
        return fold_answer(stream.rows, look)
    tail = answer_tail(entry, look)
    return [*stream.rows, *tail] if tail else stream.rows


def _guess_tool(entry: ToolEntry, state: DisplayState) -> int:
    if not is_open(entry, state):
        return 1
    if entry.state == "running":
        return 1 + min(entry.output.count("\n") + 1 if entry.output else 0, LIVE_ROWS + 1)
    body = _count_lines(entry.blocks)
    return 1 + (body if state.opened else min(body, OUTPUT_ROWS + 4)) + bool(entry.denial)


def _count_lines(blocks: Sequence[DisplayBlock]) -> int:
    return sum(line_count(block, text_preview) for block in blocks)


def _guess_lines(text: LongText, room: int) -> int:
    if not isinstance(text, str):
        # Only the length is known. Prose has a line break about every second full row.
        return max(text.size // max(room // 2, 1), 1)
    return text.count("\n") + 1 + len(text) // max(room, 1)


def _block_texts(blocks: Sequence[DisplayBlock]) -> list[LongText]:
    texts: list[LongText] = []
    for block in blocks:
        match block.kind:
            case "text" | "markdown" | "terminal" | "custom":
                texts.append(block.text)
            case "diff":
                texts += [block.path, block.diff]
            case "table":
                texts += ["  ".join(row) for row in (block.columns, *block.rows)]
            case _:
                pass
    return texts
