"""What stands out on a line of time: its symbol, its word, its role, and which of two in one place is shown.

Invariant: a mark looks the same wherever it stands.
"""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from tui_agent.folds.trace.timeline import Mark
from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role

AnyMark: TypeAlias = Mark | Literal["denied"]
MARKS: Final[tuple[tuple[Mark, str, Role], ...]] = (
    ("you", "you", "accent"),
    ("files", "files", "success"),
    ("error", "error", "error"),
    ("compaction", "compaction", "warning"),
)
DENIED: Final[tuple[AnyMark, str, Role]] = ("denied", "denied", "warning")
ROLES: Final[dict[AnyMark, Role]] = {mark: role for mark, _, role in (*MARKS, DENIED)}
_LOUDEST: Final[tuple[AnyMark, ...]] = ("error", "denied", "you", "compaction", "files")


def mark_symbol(mark: AnyMark, symbols: Symbols) -> str:
    """The symbol of a mark."""
    signs: dict[AnyMark, str] = {
        "you": symbols.bar,
        "files": symbols.files,
        "error": symbols.failed,
        "denied": symbols.stopped,
    }
    return signs.get(mark, symbols.compaction)


def loudest(marks: Iterable[tuple[int, AnyMark]]) -> dict[int, AnyMark]:
    """One mark for each column: the one that must not be missed."""
    found: dict[int, AnyMark] = {}
    for column, mark in marks:
        known = found.get(column)
        if known is None or _LOUDEST.index(mark) < _LOUDEST.index(known):
            found[column] = mark
    return found
