"""Rows of notices in the transcript: retries, errors, compaction, the user's own shell commands, the end of a turn.

Invariant: a notice names the event, the affected thing, the kept data and the next action, in this order.
"""

from typing import Final

from tui_agent.folds.session.changed_files import format_folders
from tui_agent.folds.text.labels import TURN_END_LABELS
from tui_agent.folds.transcript.entries import NoticeEntry, TurnEntry
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.blocks import LIVE_ROWS, OUTPUT_ROWS, Body, Reader, body_rows, prose_rows
from tui_agent.tui.transcript.style import TARGET_COLUMN, TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import LITERAL, Row, TextRun, action_runs, frame, width_of, wrap
from tui_agent.tui.untrusted_text import clean, clean_line, pad, reveal_line, width
from tui_agent.units import format_cost, format_duration, format_line_changes

_VERBS: Final[dict[str, str]] = {"model_failed": "model", "retry": "model", "shell": "run"}
_LEVELS: Final[dict[str, Role]] = {"info": "t3", "running": "accent", "warning": "warning", "error": "error"}
_ACTIONS: Final = " · "
"""Separator of the actions in a line of an error."""


def notice_rows(
    entry: NoticeEntry, look: Look, read: Reader, *, opened: bool | None, start: int | None = None
) -> list[Row]:
    if entry.kind == "shell":
        return _shell(entry, look, read, opened=opened, start=start)
    if entry.level == "error":
        return _error(entry, look, read, opened=opened, start=start)
    role = _LEVELS[entry.level]
    symbol = look.symbols.compaction if entry.is_summary else _symbol(entry.level, look)
    lines = [clean(line) for line in entry.lines] or [""]
    head = look.head(symbol, role, "")[:2]
    tone: Role = "t3" if entry.level == "info" else "t2"
    rows: list[Row] = []
    for line in lines[0].split("\n"):
        parts = wrap([TextRun(line, look.style(tone), LITERAL)], look.text)
        rows += frame(parts, look.ground, [look.gutter()] if rows else head, [look.gutter()])
    is_folded = not opened if entry.is_summary else opened is False
    if is_folded and (len(lines) > 1 or bool(entry.blocks)):
        rows[-1] = look.row(*rows[-1].runs, _open_hint(look))
        return rows
    body = Body(look, read, limit=None if opened else OUTPUT_ROWS, start=start)
    for line in lines[1:]:
        rows += prose_rows(line, "t2", body)
    return rows + body_rows(entry.blocks, body)


def _error(
    entry: NoticeEntry, look: Look, read: Reader, *, opened: bool | None, start: int | None
) -> list[Row]:
    """Draw an error: a row with the failed part, the explanation, and the keys to press."""
    verb = _VERBS.get(entry.kind, "error")
    head = look.head(look.symbols.failed, "error", verb)
    lines = [clean(line) for line in entry.lines] or ["Something failed."]
    if len(lines) == 1 and not entry.blocks:
        parts = wrap([TextRun(lines[0], look.style("t1"), LITERAL)], look.text)
        return frame(parts, look.ground, head[:2], [look.gutter()])
    if entry.command:
        head.append(TextRun(reveal_line(entry.command), look.style("t1"), LITERAL))
    if opened is False:
        return [look.row(*head, _open_hint(look))]
    rows = [look.row(*head)]
    body = Body(look, read, rail="error", limit=None if opened else OUTPUT_ROWS, start=start)
    rows += prose_rows(lines[0], "t1", body, bold=True)
    for line in lines[1:]:
        if _ACTIONS in line:
            rows += [body.row(), *_actions(line, body)]
        else:
            rows += prose_rows(line, "t2", body)
    return rows + body_rows(entry.blocks, body)


def _actions(line: str, body: Body) -> list[Row]:
    """Draw actions such as `send an empty message to try again · /model use another model` as a small table of keys."""
    look = body.look
    pairs = [part.strip().partition(" ") for part in line.split(_ACTIONS)]
    cells = max(width(key) for key, _, _ in pairs) + 3
    rows = prose_rows("You can", "t1", body, bold=True)
    for key, _, words in pairs:
        runs = [TextRun(pad(key, cells), look.style("accent", bold=True), LITERAL)]
        parts = wrap(
            [TextRun(words, look.style("t2"), LITERAL)], max(look.right - TEXT_COLUMN - 2 - cells, 8)
        )
        blank = [*body.prefix(), TextRun(" " * cells, look.ground)]
        rows += frame(parts, look.ground, [*body.prefix(), *runs], blank)
    return rows


def _shell(
    entry: NoticeEntry, look: Look, read: Reader, *, opened: bool | None, start: int | None
) -> list[Row]:
    """Draw the user's shell command like a tool call."""
    symbol = look.symbols.done if entry.level == "info" else _symbol(entry.level, look)
    role: Role = "success" if entry.level == "info" else _LEVELS[entry.level]
    right = [TextRun(f"{clean_line(line)}   ", look.style("t3")) for line in entry.lines[1:]]
    if entry.lines:
        right.append(TextRun(clean_line(entry.lines[0]), look.style("t3" if role == "success" else role)))
    room = look.right - TARGET_COLUMN - 2
    command = [TextRun(reveal_line(entry.command), look.style("t1"), LITERAL)]
    parts = wrap(command, max(room - width_of(right), 8), rest_room=max(room, 8))
    blank = [TextRun(" " * (TARGET_COLUMN + 2), look.ground)]
    rows = frame(parts, look.ground, look.head(symbol, role, "you ran"), blank)
    if right:
        rows[0] = look.both_sides(rows[0].runs, right)
    if opened is False:
        return rows
    limit = LIVE_ROWS if entry.level == "running" else OUTPUT_ROWS
    body = Body(look, read, limit=None if opened else limit, start=start)
    return rows + body_rows(entry.blocks, body)


def _open_hint(look: Look) -> TextRun:
    return TextRun("  open", look.style("t2"), act="fold")


def _symbol(level: str, look: Look) -> str:
    symbols = look.symbols
    by_level = {"running": symbols.running, "warning": symbols.warning, "error": symbols.failed}
    return by_level.get(level, symbols.queued)


_END_ROLES: Final[dict[TurnEnd, Role]] = {"interrupted": "t3", "model_error": "error", "error": "error"}
"""Maps the reason why a turn ended to a colour role; all other reasons have the role `warning`."""


def turn_rows(entry: TurnEntry, look: Look) -> list[Row]:
    """Draw the row that ends a turn: time, iterations, files, cost, and available actions."""
    dot = f" {look.symbols.dot} "
    tone = look.style("t3")
    facts = [f"turn {entry.turn}", format_duration(entry.duration_ms / 1000)]
    iterations = format_count(entry.iterations, "iteration")
    left: list[TextRun] = []
    if entry.reason != "finished":
        end_role = _END_ROLES.get(entry.reason, "warning")
        left += [TextRun(TURN_END_LABELS[entry.reason], look.style(end_role)), TextRun(dot, tone)]
    folders = format_folders(entry.folders, max_named=1)
    # After a crash, the open calls of this turn can still run in the next one. So only a finished turn says "no files".
    nothing = "no files changed" if entry.reason == "finished" else ""
    nothing = "changed files unknown" if entry.has_unknown_changes else nothing
    changed = entry.files_text if entry.files else folders or nothing
    files = [TextRun(changed, tone)] if changed else []
    if entry.files:
        for words, role in format_line_changes(entry.added, entry.removed, look.symbols.minus):
            files += [TextRun(" ", tone), TextRun(words, look.style(role))]
        files += [TextRun(f"{dot}{folders}", tone)] if folders else []
    right = (
        [TextRun(format_cost(entry.cost_usd, entry.cost_precision, short=True), tone)]
        if entry.cost_usd is not None
        else []
    )
    if entry.files or folders:
        pressed = action_runs(look.available_actions("diff", "undo"), look.style("t2"), tone)
        right += [*([TextRun("   ", tone)] if right and pressed else []), *pressed]
    room = look.right - TEXT_COLUMN - (width_of(right) + 2 if right else 0)
    for shown in ([*facts, iterations], facts):
        runs = [*left, TextRun(dot.join(shown) + (dot if files else ""), tone), *files]
        if width_of(runs) <= room:
            rows = [look.both_sides([look.gutter(), *runs], right)]
            break
    else:
        # Put the changed files in a row of their own, so that their numbers stay together.
        heads = wrap([*left, TextRun(dot.join(facts), tone)], room, rest_room=look.full)
        rows = [
            look.both_sides([look.gutter(), *part], [] if number else right)
            for number, part in enumerate([*heads, *wrap(files, look.full)])
        ]
    if entry.detail and entry.reason != "finished":
        rows += prose_rows(entry.detail, "t2", Body(look, text_preview))
    return rows
