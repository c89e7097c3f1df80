"""A tool call as rows: the head row of the ledger (state, verb, target, outcome, time) and its body.

Invariant: state stands in column 2, the verb in 4, the target in 14, the time at the right edge; a command is wrapped,
never cut. What failed or was denied is open and says why; what went well folds when the next message begins.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.folds.transcript.entries import Subtask, ToolEntry, ToolState
from tui_agent.protocol.display import DiffBlock, DisplayBlock, TerminalBlock, TextBlock
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import clean, clean_line, fit, pad, width
from tui_agent.tui.theme.symbols import Symbols
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
)
from tui_agent.tui.transcript.rows import LITERAL, Row, Run, width_of, wrap
from tui_agent.tui.transcript.style import STATE_COLUMN, TARGET_COLUMN, Look
from tui_agent.units import format_duration, format_elapsed, format_line_changes, format_tokens

QUIET: Final = frozenset({"read", "search", "find", "list", "map", "glob", "grep"})
QUICK_S: Final = 0.15
"""A call that only looks shows from this age on, unless it has ended."""
COUNTS_AT: Final = 22
"""Cells that a target is filled to in front of the counts of a change."""
TIME_CELLS: Final = 6
_OUTCOME_LIMIT: Final = 30
_TALLY: Final = re.compile(r"\d+ [a-z]+(, \d+ [a-z]+)+")
"""Counts, the one that matters first: `90 failed, 186 passed, 110 skipped`."""
_REMARK_LIMIT: Final = 48
_TARGET_LEAST: Final = 10
"""Cells that the target's first row has at least; the outcome gives way in a narrow view."""
_ROOMY: Final = 64
"""Cells of the transcript from which on a delegate's row names its iteration."""
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
_ROLES: Final[dict[ToolState, Role]] = {
    "queued": "t3",
    "running": "accent",
    "waiting": "warning",
    "done": "success",
    "failed": "error",
    "denied": "warning",
    "interrupted": "t3",
    "lost": "error",
}


def is_quiet(entry: ToolEntry) -> bool:
    """Whether the call only looked: one row is its normal state."""
    return entry.verb in QUIET and entry.state == "done"


def is_quick(entry: ToolEntry) -> bool:
    """Whether the call only looks and has not ended: most end before anyone could read their row."""
    return entry.verb in QUIET and entry.state in ("queued", "running")


def unseen(entry: ToolEntry, now: float) -> bool:
    """Whether the call has no row: a question stands for it, or it began just now and only looks."""
    return entry.is_question or (is_quick(entry) and 0 <= now - entry.time < QUICK_S)


def opens_by_itself(entry: ToolEntry, past: bool) -> bool:
    """Whether the body shows while nobody has folded or opened it."""
    if entry.state != "done":
        return entry.state != "queued"
    if is_quiet(entry):
        return False
    diffs = _diffs(entry.blocks)
    if diffs:
        return sum(_diff_lines(block) for block in diffs) <= DIFF_ROWS
    return is_subtask(entry) or not past


def is_subtask(entry: ToolEntry) -> bool:
    """Whether the call is another agent's work."""
    return entry.verb.startswith("[")


def tool_rows(
    entry: ToolEntry, look: Look, read: Reader, *, opened: bool | None, past: bool, now: float
) -> list[Row]:
    """All rows of a tool call. `opened` is what the user chose, None for the default."""
    shown = opens_by_itself(entry, past) if opened is None else opened
    body = Body(
        look,
        read,
        rail="accent" if entry.state == "running" else "border-strong",
        limit=None if opened else LIVE_ROWS if entry.state == "running" else OUTPUT_ROWS,
        dim=entry.state == "denied",
    )
    remark = _remark(entry)
    if remark:
        entry = replace(entry, blocks=tuple(block for block in entry.blocks if isinstance(block, DiffBlock)))
    rows = _body(entry, body, opened=bool(opened)) if shown else []
    note = remark if shown or entry.state == "queued" else _fold_note(entry, read)
    return [*head_rows_of(entry, look, note, now, full=bool(opened)), *rows]


def head_rows_of(entry: ToolEntry, look: Look, note: str, now: float, *, full: bool) -> list[Row]:
    """The head row, and more where the target is longer than its column."""
    queued = entry.state == "queued"
    right = _right(entry, look, now)
    right_cells = width_of(right)
    verb_role: Role = "t3" if queued else "accent" if entry.state == "running" else "t2"
    symbol = [
        Run(" " * STATE_COLUMN, look.ground),
        Run(state_symbol(entry, look.symbols), look.s(_state_role(entry))),
    ]
    longest = max((look.right - TARGET_COLUMN) // 4, TARGET_COLUMN - STATE_COLUMN - 3)
    verb = (
        pad(fit(clean_line(entry.verb), longest, look.symbols.ellipsis), TARGET_COLUMN - STATE_COLUMN - 3)
        + " "
    )
    first = [*symbol, Run(" ", look.ground), Run(verb, look.s(verb_role), LITERAL)]
    indent = max(TARGET_COLUMN, width_of(first))
    lines, hidden = _target_lines(entry, look, full)
    room = max(look.right - indent - (right_cells + 2 if right_cells else 0), 1)
    rest_room = max(look.right - indent - 2, 8)
    rows: list[Row] = []
    for number, runs in enumerate(lines):
        extra = _counts(entry, look, note) if number == 0 and len(lines) == 1 else []
        parts = wrap(runs, room if number == 0 else rest_room, rest_room=rest_room, fold=False)
        if extra and len(parts) == 1 and width_of(parts[0]) + width_of(extra) <= room:
            fill = max(COUNTS_AT - width_of(parts[0]), 0) if extra[0].text != note else 0
            fill = fill if width_of(parts[0]) + fill + 3 + width_of(extra) <= room else 0
            parts[0] = [*parts[0], Run(" " * (fill + 3), look.ground), *extra]
        for line, part in enumerate(parts):
            ahead = first if not rows else [Run(" " * (indent + (2 if line else 0)), look.ground)]
            rows.append(Row([*ahead, *part], look.ground, joined=line > 0))
    if hidden:
        more = Run(format_count(hidden, "more line"), look.s("t3"), act="fold")
        rows.append(Row([Run(" " * indent, look.ground), more], look.ground))
    if right_cells:
        rows[0] = look.both_sides(rows[0].runs, right)
    return rows


def state_symbol(entry: ToolEntry, symbols: Symbols) -> str:
    """The symbol of a call's state."""
    if is_subtask(entry) and entry.state in ("running", "done"):
        return symbols.subtask
    match entry.state:
        case "queued":
            return symbols.queued
        case "running":
            return symbols.running
        case "waiting":
            return symbols.waiting
        case "done":
            return symbols.done
        case "failed" | "lost":
            return symbols.failed
        case "denied" | "interrupted":
            return symbols.stopped


def _state_role(entry: ToolEntry) -> Role:
    if is_subtask(entry) and entry.state == "done":
        return "accent"
    return _ROLES[entry.state]


def _target_lines(entry: ToolEntry, look: Look, full: bool) -> tuple[list[list[Run]], int]:
    """The target's lines (a note behind two spaces is in the tone of hints), and how many are hidden."""
    lines = clean(entry.target, reveal=True).strip("\n").split("\n")
    hidden = 0 if full or len(lines) <= _COMMAND_LINES + 1 else len(lines) - _COMMAND_LINES
    role: Role = "t3" if entry.state == "queued" else "t1"
    made: list[list[Run]] = []
    for line in lines[: len(lines) - hidden]:
        head, gap, tail = line.partition("  ") if entry.verb in QUIET else (line, "", "")
        runs = [Run(head, look.s(role), LITERAL)]
        if gap:
            runs.append(Run(gap + tail, look.s("t3"), LITERAL))
        made.append(runs)
    return made, hidden


def _counts(entry: ToolEntry, look: Look, note: str) -> list[Run]:
    runs: list[Run] = []
    diffs = _diffs(entry.blocks)
    if diffs:
        added, removed = sum(block.added for block in diffs), sum(block.removed for block in diffs)
        dim = entry.state == "denied"
        for words, role in format_line_changes(added, removed, look.symbols.minus):
            runs += [*([Run(" ", look.ground)] if runs else []), Run(words, look.s("t3" if dim else role))]
    if note:
        runs.append(Run(f"  {note}" if runs else note, look.s("t3"), act="fold"))
    return runs


def _right(entry: ToolEntry, look: Look, now: float) -> list[Run]:
    outcome = _outcome(entry, roomy=look.right >= _ROOMY)
    role: Role = "t3" if entry.state == "done" else _ROLES[entry.state]
    time = ""
    if entry.state == "running" and entry.started_at is not None:
        time = format_elapsed(now - entry.started_at)
    elif entry.duration_ms is not None:
        time = format_duration(entry.duration_ms / 1000)
    runs: list[Run] = []
    room = look.right - TARGET_COLUMN - _TARGET_LEAST - (max(len(time), TIME_CELLS) + 3 if time else 0)
    if outcome and width(outcome) > room:
        outcome = fit(outcome, max(room, 4), look.symbols.ellipsis)
    if outcome:
        runs.append(Run(outcome, look.s(role), LITERAL))
    if time:
        gap = "   " if outcome else ""
        runs.append(Run(gap + time.rjust(TIME_CELLS), look.s("t3")))
    return runs


def _outcome(entry: ToolEntry, *, roomy: bool) -> str:
    outcome = clean(entry.outcome)
    if is_subtask(entry) and entry.state == "running" and outcome:
        return f"{outcome}{_meter(entry.subtask, roomy=roomy)}"
    if is_subtask(entry) and entry.state == "running" and entry.subtask is None:
        return "waits for its turn"
    if entry.state in ("queued", "running", "waiting", "denied", "interrupted"):
        return _WORDS[entry.state]
    if _diffs(entry.blocks) and outcome.startswith("+"):
        return ""
    if _is_long(outcome):
        return _leading(outcome) if _TALLY.fullmatch(outcome) else _WORDS.get(entry.state, "")
    return outcome or _WORDS.get(entry.state, "")


def _meter(subtask: Subtask | None, *, roomy: bool) -> str:
    """Where a delegate stands: its iteration, and what it has used; on narrow screens only the latter."""
    if subtask is None or not subtask.iteration:
        return ""
    used = f" · {format_tokens(subtask.tokens)} tokens" if subtask.tokens else ""
    return f" · iteration {subtask.iteration}{used}" if roomy else used


def _body(entry: ToolEntry, body: Body, *, opened: bool) -> list[Row]:
    rows: list[Row] = []
    if entry.denial:
        rows += prose_rows(entry.denial, "t2", body)
    if entry.state == "running" and not entry.blocks:
        if not entry.output:
            return rows
        held = entry.output.removesuffix("\n").count("\n") + 1
        omitted = max(entry.output_lines + (0 if entry.output.endswith("\n") else 1) - held, 0)
        if is_subtask(entry) and not opened:
            return rows + tail_rows(entry.output.strip().rsplit("\n", 1)[-1], 0, body)
        return rows + tail_rows(entry.output, omitted, body)
    if entry.output and (not entry.blocks or (opened and entry.subtask is not None)):
        rows += tail_rows(entry.output.removesuffix("\n"), 0, body)
    blocks = entry.blocks
    if opened and entry.full_output is not None:
        # Opened by hand: all of the output instead of the part that the model saw.
        blocks = tuple(block for block in blocks if not isinstance(block, TerminalBlock))
        blocks = (*blocks, TerminalBlock(text=entry.full_output))
    rows += body_rows(blocks, body)
    outcome = clean(entry.outcome)
    told = not _is_long(outcome) or _TALLY.fullmatch(outcome)
    if not told and not entry.denial and entry.state != "running":
        rows += prose_rows(outcome, "t2", body)
    return rows


def _is_long(outcome: str) -> bool:
    return "\n" in outcome or width(outcome) > _OUTCOME_LIMIT


def _leading(tally: str) -> str:
    """As many counts as have room, the first ones: they matter most."""
    while width(tally) > _OUTCOME_LIMIT and ", " in tally:
        tally = tally.rpartition(", ")[0]
    return tally


def _remark(entry: ToolEntry) -> str:
    """The one short line that came with a change: it stands on the head row."""
    others = [block for block in entry.blocks if not isinstance(block, DiffBlock)]
    if len(others) != 1 or len(entry.blocks) < 2 or not isinstance(others[0], TextBlock):
        return ""
    text = others[0].text
    short = isinstance(text, str) and "\n" not in text and width(clean(text)) <= _REMARK_LIMIT
    return clean(text) if isinstance(text, str) and short else ""


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
