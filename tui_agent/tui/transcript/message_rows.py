"""Rows of messages, thinking and questions in the transcript.

Invariant: no text is cut off.
"""

from itertools import accumulate, takewhile
from typing import Final

from rich.style import Style

from tui_agent.folds.text.labels import mention_name, mention_result
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    QuestionEntry,
    ReasoningEntry,
    UserEntry,
)
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.blocks import (
    OUTPUT_ROWS,
    Body,
    Reader,
    literal_rows,
    markdown_rows,
    prose_rows,
    user_words_rows,
)
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.style import STATE_COLUMN, TARGET_COLUMN, TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import LITERAL, Row, TextRun, action_runs, width_of, wrap
from tui_agent.tui.untrusted_text import clean, clean_line, expand_tabs
from tui_agent.units import format_bytes, format_time_of_day

WIDE: Final = 90
"""Minimum width of the transcript, in cells, to keep space free for a message's actions."""
MESSAGE_ROWS: Final = 16
"""A message with more rows than this, as estimated by `is_long`, is long."""
FOLDED_ROWS: Final = 8
"""Number of rows of a long message that are visible by default."""
FOLDED_USER_ROWS: Final = 2
"""Number of rows of a user's message that stay visible after the user folded the message."""
_ROW_CHARACTERS: Final = 80
"""Assumed length of a full row, because `is_long` must not depend on the screen's width."""


def is_long(entry: UserEntry) -> bool:
    """Return True if the message is long. A long message is folded by default."""
    if not isinstance(entry.text, str):
        return True
    return entry.text.count("\n") + len(entry.text) // _ROW_CHARACTERS > MESSAGE_ROWS


def user_rows(entry: UserEntry, look: Look, read: Reader, *, opened: bool | None, active: bool) -> list[Row]:
    """Draw a message of the user.

    `active`: True to show the actions `fork revert`.
    """
    if entry.state in ("removed", "queued"):  # Queued messages are shown above the prompt.
        return []
    field, hint = look.style("t1", "s2"), look.style("t3", "s2")
    edge = look.right - 1
    actions = look.available_actions("fork", "revert")
    action_cells = len("  ".join(actions)) + 3 if actions else 0
    right = [TextRun(format_time_of_day(entry.time), hint)]
    # On a wide screen, the actions' place stays free, so that the text does not wrap anew when they appear.
    reserve = width_of(right) + 3 + (action_cells if look.width >= WIDE else 0)
    bar = look.style("accent", "s2")
    prefix = [TextRun(" " * STATE_COLUMN, look.ground), TextRun(look.symbols.bar, bar), TextRun(" ", field)]
    bold, room = look.style("t1", "s2", bold=True), max(edge - TEXT_COLUMN - reserve, 8)
    wrapped = [wrap(runs, room) for runs in _message_lines(entry, read, bold)]
    lines = [[*prefix, *part] for parts in wrapped for part in parts]
    visible = (
        FOLDED_USER_ROWS
        if opened is False
        else FOLDED_ROWS
        if opened is None and is_long(entry)
        else len(lines)
    )
    if len(lines) > visible:
        hidden_words = _hidden_words(entry)
        parts = wrap([TextRun(clean_line(hidden_words), bold)], room)[: visible - 1] if hidden_words else []
        words = [[*prefix, *part] for part in parts]
        visible -= len(words)
        hidden = sum(end > visible for end in accumulate(map(len, wrapped)))
        start = [*lines[:visible], [*prefix, look.more_lines(hidden, "s2")]]
        lines = [*start, *words]
    for image in entry.attachments:
        chip = [TextRun(clean_line(f"{image.name or 'image'}  {format_bytes(image.size)}"), hint)]
        if entry.images_left_out_for:
            note = f"  not sent: {entry.images_left_out_for} is not known to accept images"
            chip.append(TextRun(clean_line(note), look.style("warning", "s2")))
        lines += [[*prefix, *part] for part in wrap(chip, max(edge - TEXT_COLUMN, 8))]
    for runs in _mentions(entry, look, max(edge - TEXT_COLUMN, 8)):
        lines.append([*prefix, *runs])
    if active and actions and width_of([*lines[0], *right]) + action_cells + 3 <= edge:
        right = [*action_runs(actions, look.style("t2", "s2"), field), TextRun("   ", field), *right]
    rows: list[Row] = []
    for runs in lines:
        end = right if not rows else []
        gap = TextRun(" " * max(edge - width_of(runs) - width_of(end), 0), field)
        rows.append(look.row(*runs, gap, *end, TextRun(" " * (look.right - edge), field)))
    return rows


def _hidden_words(entry: UserEntry) -> str:
    """Return the user's own words that are hidden in a folded message with long pastes."""
    words = entry.own_words.split(" ")
    pairs = zip(text_preview(entry.text).split(maxsplit=len(words)), words, strict=False)
    visible = sum(1 for _ in takewhile(lambda pair: pair[0].startswith(pair[1]), pairs))
    return " ".join(words[visible:])


def _mentions(entry: UserEntry, look: Look, room: int) -> list[list[TextRun]]:
    """Return rows with each mention and its result: the sent part, or the reason why nothing was sent."""
    rows: list[list[TextRun]] = []
    for mention in entry.mentions:
        is_sent = mention.kind not in ("refused", "missing")
        result = mention_result(mention)
        chip = [
            TextRun(clean_line(mention_name(mention)), look.style("t2" if is_sent else "warning", "s2")),
            TextRun(f"  {clean_line(result)}", look.style("t3", "s2")),
        ]
        if rows and width_of(rows[-1]) + width_of(chip) + 3 <= room:
            rows[-1] += [TextRun("   ", look.style("t3", "s2")), *chip]
        else:
            rows += wrap(chip, room)
    return rows


def answer_tail(entry: AnswerEntry, look: Look) -> list[Row]:
    """Return the row below a stopped answer; no row below other answers."""
    return [look.row(look.gutter(), TextRun("stopped here", look.style("t3")))] if entry.stopped else []


def reasoning_rows(entry: ReasoningEntry, look: Look, read: Reader, *, opened: bool | None) -> list[Row]:
    """Draw the model's reasoning: its last rows while it streams, and then a single row."""
    text = clean(read(entry.text)).strip("\n")
    if not text:
        return []
    symbol = look.symbols.running if entry.streaming else look.symbols.queued
    head = look.head(symbol, "accent" if entry.streaming else "t3", "thinking", "t3")
    if not (entry.streaming if opened is None else opened):
        count = text.count("\n") + 1
        return [look.row(*head, look.hint(f"folded, {format_count(count, 'line')}"))]
    wrapped = prose_rows(text, "t3", Body(look, read))
    return [look.row(*head), *(wrapped if opened else wrapped[-3:])]


def question_rows(
    entry: QuestionEntry, look: Look, read: Reader, *, opened: bool | None, start: int | None = None
) -> list[Row]:
    """Draw a question of the agent as Markdown, with its options or its answer."""
    symbol, role, state_text = _question_state(entry, look)
    head = look.head(symbol, role, "plan" if entry.form == "plan" else "question")
    answer = None if entry.answer is None else read(entry.answer)
    body = Body(look, read, limit=None if opened else OUTPUT_ROWS, start=start)
    if entry.form == "plan":
        edited = answer is not None and _is_edited(entry, answer)
        rows = [
            look.row(*head, TextRun(state_text, look.style("t1" if role == "success" else role), LITERAL))
        ]
        if symbol == look.symbols.waiting and not opened:
            return rows  # The open question shows all of it.
        rows += markdown_rows(answer if edited and answer else read(entry.text), body)
        is_reason = answer is not None and not edited and answer not in entry.options
        return rows + (user_words_rows(f"You said: {answer}", look) if is_reason and answer else [])
    question = MarkdownStream(look, Place(tuple(head), (TextRun(" " * TARGET_COLUMN, look.ground),)))
    question.update(read(entry.text), done=True)
    rows = literal_rows(question.rows)
    if answer is not None:
        return rows + prose_rows(answer, "t1", body)
    if entry.is_void:
        return rows + prose_rows(state_text, "t3", body)
    for number, option in enumerate(entry.options, start=1):
        rows += prose_rows(f"{number}  {clean_line(option)}", "t2", body)
    return rows


def _question_state(entry: QuestionEntry, look: Look) -> tuple[str, Role, str]:
    """Return the symbol, the colour role and the description of the state of a question."""
    if entry.is_void:
        return look.symbols.stopped, "t3", "not answered"
    if entry.answer is None:
        return look.symbols.waiting, "warning", "waiting for you"
    if entry.form == "plan" and (entry.choice is None or entry.choice >= len(entry.options) - 1):
        return look.symbols.stopped, "warning", "refused"
    if entry.form == "plan" and _is_edited(entry, text_preview(entry.answer)):
        return look.symbols.done, "success", "edited by you, and approved"
    return look.symbols.done, "success", clean_line(text_preview(entry.answer))


def _is_edited(entry: QuestionEntry, answer: str) -> bool:
    approved = entry.choice is not None and entry.choice < len(entry.options) - 1
    return approved and answer not in entry.options


def fold_answer(rows: list[Row], look: Look) -> list[Row]:
    """Shorten an answer to its first row. An ellipsis stands for the other rows."""
    if len(rows) <= 1:
        return rows
    mark = look.hint(f" {look.symbols.ellipsis}")
    first = rows[0].runs
    return [look.row(*first, mark) if width_of([*first, mark]) <= look.right else look.row(*first)]


def _message_lines(entry: UserEntry, read: Reader, style: Style) -> list[list[TextRun]]:
    lines: list[list[TextRun]] = []
    offset = 0
    for line in clean(read(entry.text), tab=0).split("\n"):
        lines.append([TextRun(expand_tabs(line), style, offset)])
        offset += len(line) + 1
    if entry.command:
        lines = [[TextRun(clean(entry.command, tab=0), style)], *lines]
    while len(lines) > 1 and not lines[-1][0].text.strip():
        lines.pop()
    return lines
