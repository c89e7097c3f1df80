"""Rows of a tool call in the transcript: the head row (state, verb, target, outcome, time) and the body.

Invariant: the state is in column 2, the verb in column 4, the target in column 14, and the time at the right edge.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.folds.transcript.entries import Entry, Subtask, ToolEntry, ToolState
from tui_agent.protocol.display_blocks import DiffBlock, DisplayBlock, TerminalBlock, TextBlock
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.blocks import (
    DIFF_ROWS,
    LIVE_ROWS,
    OUTPUT_ROWS,
    Body,
    Reader,
    body_rows,
    line_count,
    prose_rows,
    tail_rows,
    user_words_rows,
)
from tui_agent.tui.transcript.style import STATE_COLUMN, TARGET_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import LITERAL, Row, TextRun, width_of, wrap
from tui_agent.tui.untrusted_text import clean, clean_line, fit, fit_path, pad, width
from tui_agent.tui.widgets.rows import state_mark
from tui_agent.units import NO_LINES, format_duration, format_elapsed, format_line_changes, format_tokens

QUIET: Final = frozenset({"read", "search", "find", "list", "map", "glob", "grep"})
QUICK_S: Final = 0.15
"""Seconds until a running read-only call gets a row."""
MIN_CELLS_BEFORE_COUNTS: Final = 22
"""Targets narrower than this, in cells, are padded if counts of changed lines follow."""
TIME_CELLS: Final = 6
_MAX_OUTCOME_CELLS: Final = 30
_TALLY: Final = re.compile(r"\d+ [a-z]+(, \d+ [a-z]+)+")
"""Pattern of a list of counts, the most important count first: `90 failed, 186 passed, 110 skipped`."""
_LINE_COUNTS: Final = re.compile(r"[+−-]\d")
"""Pattern of an outcome that begins with the number of changed lines."""
_MAX_REMARK_CELLS: Final = 48
_MIN_TARGET_CELLS: Final = 10
"""Minimum width in cells of the target's first row."""
_MIN_ROOMY_CELLS: Final = 64
"""Minimum width of the transcript, in cells, to show the iteration in a delegate's row."""
_COMMAND_LINES: Final = 3

_WORDS: Final[dict[ToolState, str]] = {
    "queued": "queued",
    "running": "running",
    "waiting": "waiting for you",
    "denied": "denied",
    "interrupted": "stopped",
    "lost": "lost",
    "failed": "failed",
}


def is_quiet(entry: ToolEntry) -> bool:
    """Return True if the call only read something; such a call is folded to one row."""
    return entry.verb in QUIET and entry.state == "done"


def is_unfinished(entry: Entry) -> bool:
    """Return True for a tool call that has not ended."""
    return isinstance(entry, ToolEntry) and entry.state in ("queued", "running")


def is_too_young(entry: Entry, now: float) -> bool:
    """Return True if the call only reads and has just begun."""
    # Most such calls end before the user could read their row.
    return (
        isinstance(entry, ToolEntry)
        and is_unfinished(entry)
        and entry.verb in QUIET
        and 0 <= now - entry.time < QUICK_S
    )


def is_hidden(entry: ToolEntry, now: float) -> bool:
    """Return True if the call has no row: it is shown as a question, or has just begun."""
    return entry.is_question or is_too_young(entry, now)


def is_open_by_default(entry: ToolEntry, has_turn_ended: bool) -> bool:
    """Return True if the body is shown by default.

    `has_turn_ended`: True if the call's turn has ended.
    """
    if entry.state != "done":
        return entry.state != "queued"
    if is_quiet(entry):
        return False
    diffs = _diffs(entry.blocks)
    if diffs:
        return sum(_diff_lines(block) for block in diffs) <= DIFF_ROWS
    return is_subtask(entry) or not has_turn_ended


def is_subtask(entry: ToolEntry) -> bool:
    """Return True if the call runs a delegate."""
    return entry.verb.startswith("[")


def tool_rows(
    entry: ToolEntry,
    look: Look,
    read: Reader,
    *,
    opened: bool | None,
    has_turn_ended: bool,
    now: float,
    start: int | None = None,
) -> list[Row]:
    """Draw a tool call as rows.

    - `opened`: True if the user unfolded the call, False if the user folded it, otherwise None
    - `start`: number of the first line to show of a very long output; None for the default
    """
    is_shown = is_open_by_default(entry, has_turn_ended) if opened is None else opened
    body = Body(
        look,
        read,
        rail="accent" if entry.state == "running" else "border-strong",
        limit=None if opened else LIVE_ROWS if entry.state == "running" else OUTPUT_ROWS,
        dim=entry.state == "denied",
        start=start,
    )
    remark = _remark(entry)
    if remark:
        entry = replace(entry, blocks=tuple(block for block in entry.blocks if isinstance(block, DiffBlock)))
    rows = _body(entry, body, opened=bool(opened)) if is_shown else []
    note = remark if is_shown or entry.state == "queued" else _fold_note(entry, read)
    return [*_head_rows(entry, look, note, now, full=bool(opened)), *rows]


def _head_rows(entry: ToolEntry, look: Look, note: str, now: float, *, full: bool) -> list[Row]:
    """Draw the head row of a call, and further rows for a long target."""
    right = _right(entry, look, now)
    right_cells = width_of(right)
    verb_role: Role = "t3" if entry.state == "queued" else "accent" if entry.state == "running" else "t2"
    verb_cells = TARGET_COLUMN - STATE_COLUMN - 3
    longest = max((look.right - TARGET_COLUMN) // 4, verb_cells)
    verb = pad(fit(clean_line(entry.verb), longest, look.symbols.ellipsis), verb_cells)
    symbol, role = _state_mark(entry, look.symbols)
    first = [
        TextRun(" " * STATE_COLUMN, look.ground),
        TextRun(symbol, look.style(role)),
        TextRun(" ", look.ground),
    ]
    first.append(TextRun(f"{verb} ", look.style(verb_role), LITERAL))
    indent = max(TARGET_COLUMN, width_of(first))
    room = max(look.right - indent - (right_cells + 2 if right_cells else 0), 1)
    lines, hidden = _target_lines(entry, look, room, full=full)
    rest_room = max(look.right - indent - 2, 8)
    rows: list[Row] = []
    for number, runs in enumerate(lines):
        extra = _counts(entry, look, note) if number == 0 and len(lines) == 1 else []
        parts = wrap(runs, room if number == 0 else rest_room, rest_room=rest_room)
        if extra and len(parts) == 1 and width_of(parts[0]) + width_of(extra) <= room:
            fill = max(MIN_CELLS_BEFORE_COUNTS - width_of(parts[0]), 0) if extra[0].text != note else 0
            fill = fill if width_of(parts[0]) + fill + 3 + width_of(extra) <= room else 0
            parts[0] = [*parts[0], TextRun(" " * (fill + 3), look.ground), *extra]
        for line, part in enumerate(parts):
            prefix = [TextRun(" " * (indent + (2 if line else 0)), look.ground)] if rows else first
            rows.append(Row([*prefix, *part], look.ground, joined=line > 0))
    if hidden:
        rows.append(look.row(TextRun(" " * indent, look.ground), look.more_lines(hidden)))
    if right_cells:
        rows[0] = look.both_sides(rows[0].runs, right)
    return rows


def _state_mark(entry: ToolEntry, symbols: Symbols) -> tuple[str, Role]:
    if is_subtask(entry) and entry.state in ("running", "done"):
        return symbols.subtask, "accent"
    symbol, role = state_mark(entry.state, symbols)
    return symbol, "t3" if entry.state == "interrupted" else role


def _target_lines(entry: ToolEntry, look: Look, room: int, *, full: bool) -> tuple[list[list[TextRun]], int]:
    """Return the lines of a call's target, and the number of hidden lines.

    `full`: True to show all lines and the whole path.
    """
    target = clean(entry.target, reveal=True).strip("\n")
    if not full and "/" in target and not any(char.isspace() for char in target):
        target = fit_path(target, room, look.symbols.ellipsis)
    lines = target.split("\n")
    hidden = 0 if full or len(lines) <= _COMMAND_LINES + 1 else len(lines) - _COMMAND_LINES
    role: Role = "t3" if entry.state == "queued" else "t1"
    target_lines: list[list[TextRun]] = []
    for line in lines[: len(lines) - hidden]:
        # In the target of a call that reads, two spaces separate a remark.
        head, gap, tail = line.partition("  ") if entry.verb in QUIET else (line, "", "")
        runs = [TextRun(head, look.style(role), LITERAL)]
        if gap:
            runs.append(TextRun(gap + tail, look.style("t3"), LITERAL))
        target_lines.append(runs)
    return target_lines, hidden


def _counts(entry: ToolEntry, look: Look, note: str) -> list[TextRun]:
    runs: list[TextRun] = []
    diffs = _diffs(entry.blocks)
    if diffs:
        added, removed = sum(block.added for block in diffs), sum(block.removed for block in diffs)
        dim = entry.state == "denied"
        changes = format_line_changes(added, removed, look.symbols.minus) or ((NO_LINES, "t3"),)
        for words, role in changes:
            runs += [
                *([TextRun(" ", look.ground)] if runs else []),
                TextRun(words, look.style("t3" if dim else role)),
            ]
    if note:
        runs.append(TextRun(f"  {note}" if runs else note, look.style("t3"), act="fold"))
    return runs


def _right(entry: ToolEntry, look: Look, now: float) -> list[TextRun]:
    outcome = _outcome(entry, roomy=look.right >= _MIN_ROOMY_CELLS)
    role: Role = "t3" if entry.state == "done" else _state_mark(entry, look.symbols)[1]
    time = ""
    if entry.state == "running" and entry.started_at is not None:
        time = format_elapsed(now - entry.started_at)
    elif (
        entry.duration_ms is not None and entry.state != "lost"
    ):  # A lost call may have run on after its last event.
        time = format_duration(entry.duration_ms / 1000)
    runs: list[TextRun] = []
    room = look.right - TARGET_COLUMN - _MIN_TARGET_CELLS - (max(len(time), TIME_CELLS) + 3 if time else 0)
    if outcome:
        outcome = fit(outcome, max(room, 4), look.symbols.ellipsis)
        runs.append(TextRun(outcome, look.style(role), LITERAL))
    if time:
        gap = "   " if outcome else ""
        runs.append(TextRun(gap + time.rjust(TIME_CELLS), look.style("t3")))
    return runs


def _outcome(entry: ToolEntry, *, roomy: bool) -> str:
    outcome = clean(entry.outcome)
    if is_subtask(entry) and entry.state == "running":
        if outcome:
            return f"{outcome}{_usage(entry.subtask, roomy=roomy)}"
        if entry.subtask is None:
            return "waits for another subtask"
    if entry.state in ("queued", "running", "waiting", "denied") or (
        entry.state == "interrupted" and outcome not in ("not run", "ran, then undone")
    ):
        return _WORDS[entry.state]
    if _diffs(entry.blocks) and _LINE_COUNTS.match(outcome):
        return ""  # The counts after the target say the same.
    if _is_long(outcome):
        return _first_counts(outcome) if _TALLY.fullmatch(outcome) else _WORDS.get(entry.state, "")
    return outcome or _WORDS.get(entry.state, "")


def _usage(subtask: Subtask | None, *, roomy: bool) -> str:
    """Return a delegate's iteration and tokens; on a narrow screen, only the tokens."""
    if subtask is None or not subtask.iteration:
        return ""
    used = f" · {format_tokens(subtask.usage.tokens)} tokens" if subtask.usage.tokens else ""
    return f" · iteration {subtask.iteration}{used}" if roomy else used


def _body(entry: ToolEntry, body: Body, *, opened: bool) -> list[Row]:
    rows: list[Row] = []
    if entry.denial and not entry.denied_by_user:
        rows += prose_rows(entry.denial, "t2", body)
    if entry.state == "running" and not entry.blocks:
        if not entry.output:
            return rows
        present = entry.output.removesuffix("\n").count("\n") + 1
        omitted = max(entry.output_lines + (0 if entry.output.endswith("\n") else 1) - present, 0)
        if is_subtask(entry) and not opened:
            return rows + tail_rows(entry.output.strip().rsplit("\n", 1)[-1], 0, body)
        return rows + tail_rows(entry.output, omitted, body)
    if entry.output and (not entry.blocks or (opened and entry.subtask is not None)):
        rows += tail_rows(entry.output.removesuffix("\n"), 0, body)
    rows += body_rows(unfolded_blocks(entry) if opened else entry.blocks, body)
    outcome = clean(entry.outcome)
    on_head_row = not _is_long(outcome) or _TALLY.fullmatch(outcome)
    if not on_head_row and not entry.denial and entry.state != "running":
        rows += prose_rows(outcome, "t2", body)
    return [*rows, *user_words_rows(entry.denial, body.look)] if entry.denied_by_user else rows


def unfolded_blocks(entry: ToolEntry) -> tuple[DisplayBlock, ...]:
    """Return the blocks of an unfolded call, with the full output of its command."""
    if entry.full_output is None:
        return entry.blocks
    others = tuple(block for block in entry.blocks if not isinstance(block, TerminalBlock))
    return (*others, TerminalBlock(text=entry.full_output))


def _is_long(outcome: str) -> bool:
    return "\n" in outcome or width(outcome) > _MAX_OUTCOME_CELLS


def _first_counts(tally: str) -> str:
    """Drop counts from the end of a list such as `90 failed, 186 passed`, until the list fits into the head row."""
    while width(tally) > _MAX_OUTCOME_CELLS and ", " in tally:
        tally = tally.rpartition(", ")[0]
    return tally


def _remark(entry: ToolEntry) -> str:
    """Return the short text that belongs to a call's diffs, for the head row; empty if there is none."""
    others = [block for block in entry.blocks if not isinstance(block, DiffBlock)]
    if len(others) != 1 or len(entry.blocks) < 2 or not isinstance(others[0], TextBlock):
        return ""
    text = others[0].text
    if not isinstance(text, str) or "\n" in text or width(clean(text)) > _MAX_REMARK_CELLS:
        return ""
    return clean(text)


def _fold_note(entry: ToolEntry, read: Reader) -> str:
    if not entry.blocks or is_quiet(entry):
        return ""
    if _diffs(entry.blocks):
        return "folded"
    lines = sum(line_count(block, read) for block in entry.blocks)
    return f"folded, {format_count(lines, 'line')}" if lines else ""


def _diffs(blocks: Sequence[DisplayBlock]) -> list[DiffBlock]:
    return [block for block in blocks if isinstance(block, DiffBlock)]


def _diff_lines(block: DiffBlock) -> int:
    if not isinstance(block.diff, str):
        return DIFF_ROWS + 1
    return block.diff.removesuffix("\n").count("\n") + 1 - block.diff.startswith("@@")
