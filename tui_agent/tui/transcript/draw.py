"""An entry of any type as rows, and a cheap guess of how many there will be.

Invariant: rows depend on the entry, the look and what is in `Shown`, and on nothing else; so they can be cached by those.
"""

from dataclasses import dataclass
from typing import Final, assert_never

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
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.tui.text import clean
from tui_agent.tui.transcript.blocks import LIVE_ROWS, OUTPUT_ROWS, Reader, line_count
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.messages_view import (
    GLIMPSE_ROWS,
    answer_tail,
    fold_answer,
    is_long,
    question_rows,
    reasoning_rows,
    turn_rows,
    user_rows,
)
from tui_agent.tui.transcript.notices import notice_rows
from tui_agent.tui.transcript.rows import Row
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look
from tui_agent.tui.transcript.tools import opens_by_itself, tool_rows, unseen

BODY_ROWS: Final = 3
"""A block with more body rows than this has an empty row before and after."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a drawing depends on beside entry and look: the user's fold, the turn's age, the focus, the time."""

    opened: bool | None = None
    past: bool = False
    active: bool = False
    now: float = 0.0


def draw(
    entry: Entry, shown: Shown, look: Look, read: Reader, stream: MarkdownStream | None = None
) -> list[Row]:
    """The rows of an entry. For an answer that streams, `stream` keeps what is already drawn."""
    match entry:
        case UserEntry():
            return user_rows(entry, look, read, opened=shown.opened, active=shown.active)
        case AnswerEntry():
            return _answer(entry, shown, look, read, stream)
        case ReasoningEntry():
            return reasoning_rows(entry, look, read, opened=shown.opened)
        case ToolEntry():
            if unseen(entry, shown.now):
                return []
            return tool_rows(entry, look, read, opened=shown.opened, past=shown.past, now=shown.now)
        case NoticeEntry():
            return notice_rows(entry, look, read, opened=shown.opened)
        case QuestionEntry():
            return question_rows(entry, look, read, opened=shown.opened)
        case TurnEntry():
            return turn_rows(entry, look)
        case _:
            assert_never(entry)


def new_stream(look: Look) -> MarkdownStream:
    """An empty stream for an answer."""
    place = Place((look.gutter(),), (look.gutter(),))
    return MarkdownStream(look, place)


def spacious(entry: Entry, rows: int) -> bool:
    """Whether the entry has an empty row before and after it."""
    match entry:
        case UserEntry() | AnswerEntry() | TurnEntry() | QuestionEntry():
            return rows > 0
        case _:
            return rows > BODY_ROWS + 1


def guess(entry: Entry, shown: Shown, look: Look) -> int:
    """About how many rows the entry will have, in work that does not grow with its drawing."""
    match entry:
        case UserEntry():
            rows = (
                0
                if entry.state in ("removed", "queued")
                else _lines(entry.text, max(look.right - TEXT_COLUMN - 8, 8))
            )
            return min(rows, GLIMPSE_ROWS + 1) if shown.opened is None and is_long(entry) else rows
        case AnswerEntry():
            return 1 if shown.opened is False else _lines(entry.text, look.text) + entry.stopped
        case ToolEntry():
            return 0 if unseen(entry, shown.now) else _tool(entry, shown)
        case NoticeEntry():
            return max(len(entry.lines), 1) + sum(_block(block) for block in entry.blocks)
        case QuestionEntry():
            rows = _lines(entry.text, look.text) + (1 if entry.answer is not None else len(entry.options))
            return min(rows, OUTPUT_ROWS + 2) if entry.form == "plan" and not shown.opened else rows
        case _:
            return 1


def toggles(entry: Entry) -> bool:
    """Whether the entry can be folded and opened."""
    match entry:
        case AnswerEntry() | UserEntry():
            return True
        case ReasoningEntry():
            return True
        case ToolEntry():
            body = entry.blocks or entry.output or entry.denial or "\n" in entry.target
            return bool(body) and not entry.is_question
        case NoticeEntry():
            return bool(entry.blocks) or len(entry.lines) > 1
        case QuestionEntry():
            return entry.form == "plan"
        case _:
            return False


def is_open(entry: Entry, shown: Shown) -> bool:
    """Whether the entry is open now."""
    if shown.opened is not None:
        return shown.opened
    match entry:
        case ToolEntry():
            return opens_by_itself(entry, shown.past)
        case ReasoningEntry():
            return entry.streaming
        case NoticeEntry():
            return not entry.is_summary
        case QuestionEntry():
            return entry.form != "plan"
        case UserEntry():
            return not is_long(entry)
        case _:
            return True


def search_text(entry: Entry, read: Reader) -> str:
    """What `find` looks through: everything that the entry shows when it is open."""
    match entry:
        case UserEntry() | AnswerEntry() | ReasoningEntry():
            return clean(read(entry.text))
        case ToolEntry(is_question=True):
            return ""
        case ToolEntry():
            parts = [
                entry.verb,
                entry.target,
                entry.outcome,
                entry.denial,
                entry.output if not entry.blocks else "",
            ]
            whole = [] if entry.full_output is None else [read(entry.full_output)]
            return clean("\n".join([*parts, *(_block_text(block, read) for block in entry.blocks), *whole]))
        case NoticeEntry():
            return clean(
                "\n".join(
                    [*entry.lines, entry.command, *(_block_text(block, read) for block in entry.blocks)]
                )
            )
        case QuestionEntry():
            return clean(
                "\n".join([read(entry.text), *entry.options, read(entry.answer) if entry.answer else ""])
            )
        case TurnEntry():
            return f"turn {entry.turn}"
        case _:
            assert_never(entry)


def long_texts(entry: Entry) -> list[BlobText]:
    """The texts of an entry that are kept outside of the log; `find` looks through them too."""
    found: list[BlobText] = []

    def note(text: LongText) -> str:
        if isinstance(text, BlobText):
            found.append(text)
        return ""

    search_text(entry, note)
    return found


def _answer(
    entry: AnswerEntry, shown: Shown, look: Look, read: Reader, stream: MarkdownStream | None
) -> list[Row]:
    text = read(entry.text)
    if not text.strip():
        return answer_tail(entry, look)
    stream = stream or new_stream(look)
    stream.update(text, done=not entry.streaming)
    if shown.opened is False:
        return fold_answer(list(stream.rows), look)
    tail = answer_tail(entry, look)
    return [*stream.rows, *tail] if tail else stream.rows


def _tool(entry: ToolEntry, shown: Shown) -> int:
    opened = shown.opened if shown.opened is not None else opens_by_itself(entry, shown.past)
    if not opened:
        return 1
    if entry.state == "running":
        return 1 + min(entry.output.count("\n") + 1 if entry.output else 0, LIVE_ROWS + 1)
    body = sum(_block(block) for block in entry.blocks)
    body = body if shown.opened else min(body, OUTPUT_ROWS + 4)
    return 1 + body + bool(entry.denial)


def _block(block: DisplayBlock) -> int:
    return line_count(block, lambda text: text if isinstance(text, str) else text.preview)


def _lines(text: LongText, room: int) -> int:
    if not isinstance(text, str):
        # Only the length is known: prose has a line break about every other full row.
        return max(text.size // max(room // 2, 1), 1)
    return text.count("\n") + 1 + len(text) // max(room, 1)


def _block_text(block: DisplayBlock, read: Reader) -> str:
    match block.kind:
        case "text" | "markdown" | "terminal":
            return read(block.text)
        case "diff":
            return f"{block.path}\n{read(block.diff)}"
        case "custom":
            return block.text
        case "table":
            return "\n".join("  ".join(row) for row in (block.columns, *block.rows))
        case _:
            return ""
