"""The row in the transcript that ends a turn.

Invariant: no text is cut off; if one row is too narrow, the changed files get a row of their own.
"""

from typing import Final

from tui_agent.folds.session.generated_files import format_folders
from tui_agent.folds.text.labels import TURN_END_LABELS
from tui_agent.folds.transcript.entries import TurnEntry
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.blocks import Body, prose_rows
from tui_agent.tui.transcript.rows import Row, Run, action_runs, width_of, wrap
from tui_agent.tui.transcript.style import TEXT_COLUMN, Look
from tui_agent.units import format_cost, format_duration, format_line_changes

_END_ROLES: Final[dict[TurnEnd, Role]] = {"interrupted": "t3", "model_error": "error", "error": "error"}
"""Colour roles for the ends of a turn; an end that is not listed has the role `warning`."""


def turn_rows(entry: TurnEntry, look: Look) -> list[Row]:
    """Draw the row that ends a turn: time, iterations, files, cost, and available actions."""
    dot = f" {look.symbols.dot} "
    tone = look.style("t3")
    facts = [f"turn {entry.turn}", format_duration(entry.duration_ms / 1000)]
    iterations = format_count(entry.iterations, "iteration")
    left: list[Run] = []
    if entry.reason != "finished":
        end_role = _END_ROLES.get(entry.reason, "warning")
        left += [Run(TURN_END_LABELS[entry.reason], look.style(end_role)), Run(dot, tone)]
    folders = format_folders(entry.folders, most=1)
    # The open calls of a turn that a crash stopped can still run, in the next turn.
    nothing = "no files changed" if entry.reason == "finished" else ""
    nothing = "changed files unknown" if entry.has_unknown_changes else nothing
    changed = entry.files_text if entry.files else folders or nothing
    files = [Run(changed, tone)] if changed else []
    if entry.files:
        for words, role in format_line_changes(entry.added, entry.removed, look.symbols.minus):
            files += [Run(" ", tone), Run(words, look.style(role))]
        files += [Run(f"{dot}{folders}", tone)] if folders else []
    right = [Run(format_cost(entry.cost_usd), tone)] if entry.cost_usd is not None else []
    if entry.files or folders:
        pressed = action_runs(look.available_actions("diff", "undo"), look.style("t2"), tone)
        right += [*([Run("   ", tone)] if right and pressed else []), *pressed]
    room = look.right - TEXT_COLUMN - (width_of(right) + 2 if right else 0)
    for shown in ([*facts, iterations], facts):
        runs = [*left, Run(dot.join(shown) + (dot if files else ""), tone), *files]
        if width_of(runs) <= room:
            rows = [look.both_sides([look.gutter(), *runs], right)]
            break
    else:
        # Put the changed files in a row of their own, so that their numbers stay together.
        heads = wrap([*left, Run(dot.join(facts), tone)], room, rest_room=look.full)
        rows = [
            look.both_sides([look.gutter(), *part], [] if number else right)
            for number, part in enumerate([*heads, *wrap(files, look.full)])
        ]
    if entry.detail and entry.reason != "finished":
        rows += prose_rows(entry.detail, "t2", Body(look, text_preview))
    return rows
