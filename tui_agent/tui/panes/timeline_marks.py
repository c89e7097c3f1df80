"""Marks on a timeline: the symbol, word and colour role of each mark, and the marks' order of importance.

Invariant: a mark looks the same everywhere.
"""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from tui_agent.folds.trace.timeline import Mark
from tui_agent.tui.theme.glyphs import Symbols
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
_BY_IMPORTANCE: Final[tuple[AnyMark, ...]] = ("error", "denied", "you", "compaction", "files")


def mark_symbol(mark: AnyMark, symbols: Symbols) -> str:
    signs: dict[AnyMark, str] = {
        "you": symbols.bar,
        "files": symbols.files,
        "error": symbols.failed,
        "denied": symbols.stopped,
    }
    return signs.get(mark, symbols.compaction)


def most_important(marks: Iterable[tuple[int, AnyMark]]) -> dict[int, AnyMark]:
    """Map each column to its most important mark. `marks` are (column, mark) pairs."""
    # In ascending importance, so that a later mark replaces an earlier one in the same column.
    return dict(sorted(marks, key=lambda mark: _BY_IMPORTANCE.index(mark[1]), reverse=True))
