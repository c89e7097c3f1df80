"""What people and the model say, as rows: messages, thinking, questions, and the row that ends a turn.

Invariant: a message of the user stands on its own surface behind the bar; an answer has no symbol; no text is cut.
"""

import time
from collections.abc import Sequence
from typing import Final

from rich.style import Style

from tui_agent.folds.text.labels import TURN_END_LABELS, mention_name, mention_result
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    QuestionEntry,
    ReasoningEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean, clean_line, expand_tabs, width
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.blocks import OUTPUT_ROWS, Body, Reader, literal, markdown_rows, prose_rows
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.rows import LITERAL, Row, Run, width_of, wrap
from tui_agent.tui.transcript.style import NARROW, STATE_COLUMN, TARGET_COLUMN, TEXT_COLUMN, Look
from tui_agent.units import format_bytes, format_cost, format_duration, format_line_changes, format_tokens

WIDE: Final = 90
MESSAGE_ROWS: Final = 16
GLIMPSE_ROWS: Final = 8
"""What stays in sight of a message that is longer than `MESSAGE_ROWS`."""
_ROW_CHARACTERS: Final = 80

_END_ROLES: Final[dict[TurnEnd, Role]] = {"interrupted": "t3", "model_error": "error", "error": "error"}
"""The others are warnings."""


def is_long(entry: UserEntry) -> bool:
    """Whether a message is folded until it is opened, as a long paste is."""
    if not isinstance(entry.text, str):
        return True
    return entry.text.count("\n") + len(entry.text) // _ROW_CHARACTERS > MESSAGE_ROWS


def user_rows(entry: UserEntry, look: Look, read: Reader, *, opened: bool | None, active: bool) -> list[Row]:
    """A message of the user. `active` (focused or under the mouse) shows `fork  revert` where there is room."""
    if entry.state in ("removed", "queued"):  # what is queued stands above the prompt
        return []
    note = clock(entry.time)
    field = look.s("t1", "s2")
    tone = look.s("t1", "s2", bold=True)
    edge = look.right - 1
    reserve = width(note) + 3
    actions = look.offered("fork", "revert")
    said = "  ".join(actions)
    if look.width >= WIDE and actions:
        reserve += len(said) + 3
    room = max(edge - TEXT_COLUMN - reserve, 8)
    bar = look.s("accent", "s2")
    ahead = [Run(" " * STATE_COLUMN, look.ground), Run(look.symbols.bar, bar), Run(" ", field)]
    lines: list[Row] = []
    for runs in _message(entry, read, tone):
        for part in wrap(runs, room):
            lines.append(Row([*ahead, *part], look.ground, joined=bool(lines) and part is not runs))
    glimpse = 2 if opened is False else GLIMPSE_ROWS if opened is None and is_long(entry) else len(lines)
    hidden = len(lines) - glimpse
    if hidden > 0:
        lines = lines[:glimpse]
        more = Run(format_count(hidden, "more line"), look.s("t3", "s2"), act="fold")
        lines.append(Row([*ahead, more], look.ground))
    for image in entry.attachments:
        words = f"{image.name or 'image'}  {format_bytes(image.size)}"
        lines.append(Row([*ahead, Run(clean_line(words), look.s("t3", "s2"))], look.ground))
    for runs in _mentions(entry, look, max(edge - TEXT_COLUMN, 8)):
        lines.append(Row([*ahead, *runs], look.ground))
    for number, row in enumerate(lines):
        right = [Run(note, look.s("t3", "s2"))] if number == 0 else []
        runs = list(row.runs)
        if active and actions and number == 0 and width_of(runs) + len(said) + 3 + width(note) + 3 <= edge:
            right = [*_pressable(actions, look.s("t2", "s2"), field), Run("   ", field), *right]
        runs.append(Run(" " * max(edge - width_of(runs) - width_of(right), 0), field))
        runs += [*right, Run(" " * (look.right - edge), field)]
        lines[number] = Row(runs, look.ground, row.joined)
    return lines


def _mentions(entry: UserEntry, look: Look, room: int) -> list[list[Run]]:
    """What the message mentions, as many to a row as there is room for: what was sent of each, or why nothing was."""
    rows: list[list[Run]] = []
    for one in entry.mentions:
        sent = one.kind not in ("refused", "missing")
        said = mention_result(one, format_bytes(one.size), format_tokens(one.tokens))
        chip = [
            Run(clean_line(mention_name(one)), look.s("t2" if sent else "warning", "s2")),
            Run(f"  {clean_line(said)}", look.s("t3", "s2")),
        ]
        if rows and width_of(rows[-1]) + width_of(chip) + 3 <= room:
            rows[-1] += [Run("   ", look.s("t3", "s2")), *chip]
        else:
            rows += wrap(chip, room)
    return rows


def source_of_user(entry: UserEntry, read: Reader) -> str:
    """The text that the message's rows point into."""
    return clean(read(entry.text), tab=0)


def answer_tail(entry: AnswerEntry, look: Look) -> list[Row]:
    """What stands under an answer that was cut short."""
    if not entry.stopped:
        return []
    return [Row([look.gutter(), Run("stopped here", look.s("t3"))], look.ground)]


def reasoning_rows(entry: ReasoningEntry, look: Look, read: Reader, *, opened: bool | None) -> list[Row]:
    """The model's thinking: its last rows while it goes on, one row after that."""
    text = clean(read(entry.text)).strip("\n")
    if not text:
        return []
    symbol = look.symbols.running if entry.streaming else look.symbols.queued
    count = text.count("\n") + 1
    shown = entry.streaming if opened is None else opened
    note = "" if shown else f"folded, {format_count(count, 'line')}"
    ahead = look.head(symbol, "accent" if entry.streaming else "t3", "thinking", "t3")
    rows = [Row([*ahead, Run(note, look.s("t3"), act="fold")], look.ground)]
    if shown:
        body = Body(look, read, limit=None)
        wrapped = prose_rows(text, "t3", body)
        rows += wrapped if opened else wrapped[-3:]
    return rows


def question_rows(entry: QuestionEntry, look: Look, read: Reader, *, opened: bool | None) -> list[Row]:
    """A question of the agent as Markdown, its options, and the answer once there is one; a plan stands on the rail."""
    symbol, role, said = _question_state(entry, look)
    ahead = look.head(symbol, role, "plan" if entry.form == "plan" else "question")
    answer = None if entry.answer is None else read(entry.answer)
    body = Body(look, read, limit=None if opened else OUTPUT_ROWS)
    if entry.form == "plan":
        edited = answer is not None and _edited(entry, answer)
        rows = [Row([*ahead, Run(said, look.s("t1" if role == "success" else role), LITERAL)], look.ground)]
        if symbol == look.symbols.waiting and not opened:
            return rows  # the whole of it stands in the question that is open
        rows += markdown_rows(answer if edited and answer else read(entry.text), body)
        refused_why = answer is not None and not edited and answer not in entry.options
        return rows + (prose_rows(answer, "t1", body) if refused_why and answer else [])
    asked = MarkdownStream(look, Place(tuple(ahead), (Run(" " * TARGET_COLUMN, look.ground),)))
    asked.update(read(entry.text), done=True)
    rows = literal(asked.rows)
    if answer is not None:
        return rows + prose_rows(answer, "t1", body)
    if entry.is_void:
        return rows + prose_rows(said, "t3", body)
    for number, option in enumerate(entry.options, start=1):
        rows += prose_rows(f"{number}  {clean_line(option)}", "t2", body)
    return rows


def _question_state(entry: QuestionEntry, look: Look) -> tuple[str, Role, str]:
    """Symbol, role and words of where a question stands."""
    if entry.is_void:
        return look.symbols.stopped, "t3", "not answered"
    if entry.answer is None:
        return look.symbols.waiting, "warning", "waiting for you"
    if entry.form == "plan" and (entry.choice is None or entry.choice >= len(entry.options) - 1):
        return look.symbols.stopped, "warning", "refused"
    if entry.form == "plan" and _edited(entry, text_preview(entry.answer)):
        return look.symbols.done, "success", "edited by you, and approved"
    return look.symbols.done, "success", clean_line(text_preview(entry.answer))


def _edited(entry: QuestionEntry, answer: str) -> bool:
    """Whether a plan was approved in other words than it was asked in."""
    approved = entry.choice is not None and entry.choice < len(entry.options) - 1
    return approved and answer not in entry.options


def turn_rows(entry: TurnEntry, look: Look) -> list[Row]:
    """The row that ends a turn: time, iterations, files, cost, and what can be done with it."""
    dot = f" {look.symbols.dot} "
    tone = look.s("t3")
    facts = [f"turn {entry.turn}", format_duration(entry.duration_ms / 1000)]
    if look.width >= NARROW:
        facts.append(format_count(entry.iterations, "iteration"))
    facts.append(format_count(entry.files, "file") if entry.files else "no files changed")
    left = [look.gutter()]
    if entry.reason != "finished":
        end_role = _END_ROLES.get(entry.reason, "warning")
        left += [Run(TURN_END_LABELS[entry.reason], look.s(end_role)), Run(dot, tone)]
    left.append(Run(dot.join(facts), tone))
    if entry.files:
        for words, role in format_line_changes(entry.added, entry.removed, look.symbols.minus):
            left += [Run(" ", tone), Run(words, look.s(role))]
    right = [Run(format_cost(entry.cost_usd), tone)] if entry.cost_usd is not None else []
    if entry.files:
        pressed = _pressable(look.offered("diff", "undo"), look.s("t2"), tone)
        right += [*([Run("   ", tone)] if right and pressed else []), *pressed]
    rows = [
        look.both_sides(part, right if number == 0 else [])
        for number, part in enumerate(_fit(left, right, look))
    ]
    if entry.detail and entry.reason != "finished":
        rows += prose_rows(entry.detail, "t2", Body(look, _identity, limit=None))
    return rows


def _pressable(actions: Sequence[str], style: Style, between: Style) -> list[Run]:
    """The actions' names, each to be clicked."""
    runs: list[Run] = []
    for name in actions:
        runs += [*([Run("  ", between)] if runs else []), Run(name, style, act=name)]
    return runs


def clock(at: float) -> str:
    """The local time of day."""
    return time.strftime("%H:%M", time.localtime(at))


def fold_answer(rows: list[Row], look: Look) -> list[Row]:
    """A folded answer: its first row, and a mark that there is more."""
    if len(rows) <= 1:
        return rows
    mark = Run(f" {look.symbols.ellipsis}", look.s("t3"), act="fold")
    first = list(rows[0].runs)
    room = look.right - width_of(first)
    return [Row([*first, mark] if room >= width(mark.text) else first, look.ground)]


def _identity(text: LongText) -> str:
    return text if isinstance(text, str) else text.preview


def _message(entry: UserEntry, read: Reader, tone: Style) -> list[list[Run]]:
    lines: list[list[Run]] = []
    at = 0
    for line in source_of_user(entry, read).split("\n"):
        lines.append([Run(expand_tabs(line), tone, at)])
        at += len(line) + 1
    while len(lines) > 1 and not lines[-1][0].text.strip():
        lines.pop()
    return lines


def _fit(left: list[Run], right: list[Run], look: Look) -> list[list[Run]]:
    """The left side as it fits beside the right one; what does not goes on the next row."""
    room = look.right - TEXT_COLUMN - (width_of(right) + 2 if right else 0)
    parts = wrap(left[1:], room, rest_room=look.full)
    return [[look.gutter(), *part] for part in parts]
