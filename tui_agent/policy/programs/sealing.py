"""L3: whether what a command changes follows from its words, or only a sandbox bounds it.

Invariant: pure. Code that a command runs (a script, tests, a build) is never told by its words.
"""

from tui_agent.policy.programs.part import GIT, Part, started
from tui_agent.policy.programs.table import Table, table
from tui_agent.policy.shell.script import ARBITRARY, READ_ONLY

_NAMED = frozenset({"write", "remove", "copy", "move", "edit", "pack"})
"""Operands that are the files that a program changes."""


def follows(part: Part, programs: Table | None) -> bool:
    """Whether all that it changes is named in the line, or is git's to change."""
    if ARBITRARY in part.classes:
        return False
    if started(part) == GIT or not part.words:  # it starts nothing: a file that is written by `>`
        return True
    entry = (programs or table()).programs.get(part.program)
    return entry is not None and (entry.operands in _NAMED or (entry.does == READ_ONLY and not entry.subs))
