"""The one row that stands for many reads and searches of a finished turn.

Invariant: counts and time are those of the calls that it stands for.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.transcript.rows import Row, Run, width_of
from tui_agent.tui.transcript.style import STATE_COLUMN, Look
from tui_agent.tui.transcript.tools import TIME_CELLS
from tui_agent.units import format_duration

QUIET_RUN: Final = 4
"""More calls in a row than this fold into one row."""

_NOUNS: Final = {"read": "read", "search": "search", "grep": "search", "find": "search", "glob": "search"}


def group_row(members: Sequence[ToolEntry], look: Look) -> Row:
    """`▸ 7 reads, 2 searches   0.1 s`."""
    counts = Counter(_NOUNS.get(entry.verb, "look") for entry in members)
    words = ", ".join(
        counted(counts[noun], noun, many)
        for noun, many in (("read", ""), ("search", "searches"), ("look", ""))
        if counts[noun]
    )
    time = format_duration(sum(entry.duration_ms or 0.0 for entry in members) / 1000).rjust(TIME_CELLS)
    runs = [
        Run(" " * STATE_COLUMN, look.ground),
        Run(look.symbols.folded + " ", look.s("t3"), act="fold"),
        Run(words, look.s("t2"), act="fold"),
    ]
    runs.append(Run(" " * max(look.right - width_of(runs) - len(time), 1), look.ground))
    return Row([*runs, Run(time, look.s("t3"))], look.ground)
