"""Sessions as rows of a list: parsed, filtered, sorted, grouped by day, each fork below its parent.

Invariant: all functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branch_tree import fork_name
from tui_agent.tui.cli_client import read_rows
from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.rows import state_mark
from tui_agent.units import CostPrecision

Sort: TypeAlias = Literal["used", "name", "cost", "size"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
CleanLine: TypeAlias = Annotated[str, AfterValidator(clean_line)]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as printed by `sessions list --json`. Times are seconds since the epoch."""

    id: str
    path: str = ""
    title: CleanLine = ""
    workspace: str = ""
    started: float = 0.0
    updated: float = 0.0
    events: int = 0
    last_seq: int = -1
    turns: int | None = None
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    outcome: str = ""
    model: CleanLine = ""
    parent: str | None = None
    forked_at: int | None = None
    size_bytes: int = 0
    open: bool = False
    damaged: bool = False
    other_version: bool = False

    @property
    def name(self) -> str:
        """The title of the session, or `no name`."""
        return self.title or "no name"

    @property
    def folder(self) -> str:
        """The last part of the path of the session's workspace."""
        return clean_line(PurePath(self.workspace).name or self.workspace) or "unknown"

    @property
    def fork_note(self) -> str:
        """The text after the name of a fork, e.g. `, fork at 88`; empty for other sessions."""
        return f", {fork_name(self.forked_at)}" if self.forked_at is not None else ""

    @property
    def search_text(self) -> str:
        """The title, the fork note and the id as one text, prepared for a search that ignores case."""
        return f"{self.title}{self.fork_note}\n{self.id}".casefold()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """The newest match of a search in a session. `places` is the number of matches in the session."""

    session: str
    seq: int = 0
    kind: str = ""
    snippet: CleanLine = ""
    places: int = 1


@dataclass(frozen=True, slots=True)
class ListLine:
    """A line of the list: a session, the name of a group, or an empty line.

    `depth`: the nesting depth of a fork.
    """

    row: SessionRow | None = None
    group: str = ""
    depth: int = 0

    @property
    def key(self) -> str:
        return self.row.id if self.row is not None else ""


def parse_sessions(output: str) -> list[SessionRow]:
    """Parse the output of `sessions list --json` into rows."""
    return [row for row in read_rows(SessionRow, output) if row.id]


def parse_hits(output: str) -> dict[str, SearchHit]:
    """Parse the output of `sessions search --sessions --json` into a mapping from session id to match."""
    return {hit.session: hit for hit in read_rows(SearchHit, output)}


def filter_rows(
    rows: Iterable[SessionRow], text: str, hits: Mapping[str, SearchHit], workspace: str = ""
) -> list[SessionRow]:
    """Return the sessions that match a search.

    - `text`: the search; every word must occur in a session's name, fork note or id
    - `hits`: sessions in whose texts the search was found; they match even without these words
    - `workspace`: if set, return only the sessions of this workspace
    """
    words = text.casefold().split()
    return [
        row
        for row in rows
        if (not workspace or row.workspace == workspace)
        and (row.id in hits or all(word in row.search_text for word in words))
    ]


def arrange_rows(rows: Sequence[SessionRow], sort: Sort, now: float) -> list[ListLine]:
    """Return the lines of the list; a fork is below its parent if the parent is listed."""
    listed = {row.id: row for row in rows}
    forks: dict[str, list[SessionRow]] = {}
    roots: list[SessionRow] = []
    for row in rows:
        parent = listed.get(row.parent or "")
        # Damaged logs may name each other, or themselves, as parent. In this order, no row is its own ancestor.
        if parent is not None and (parent.started, parent.id) < (row.started, row.id):
            forks.setdefault(parent.id, []).append(row)
        else:
            roots.append(row)
    families = sorted((_family(row, forks) for row in roots), key=lambda family: _order(family, sort))
    if sort != "used":
        return [line for family in families for line in family]
    lines: list[ListLine] = []
    group, groups = "", days(now)
    for family in families:
        used = _last_used(family)
        name = next((name for name, since in groups if used >= since), "Earlier")
        if name != group:
            lines += [ListLine()] if lines else []
            lines.append(ListLine(group=name))
            group = name
        lines += family
    return lines


def _family(row: SessionRow, forks: Mapping[str, Sequence[SessionRow]], depth: int = 0) -> list[ListLine]:
    lines = [ListLine(row, depth=depth)]
    for fork in sorted(forks.get(row.id, ()), key=lambda fork: fork.started):
        lines += _family(fork, forks, min(depth + 1, 8))  # bounds the indent
    return lines


def _last_used(family: Sequence[ListLine]) -> float:
    return max(line.row.updated for line in family if line.row is not None)


def _order(family: Sequence[ListLine], sort: Sort) -> tuple[object, ...]:
    first = family[0].row
    assert first is not None
    match sort:
        case "used":
            return (-_last_used(family), first.id)
        case "name":
            return (not first.title, first.search_text)
        case "cost":
            return (-max(line.row.cost_usd or 0.0 for line in family if line.row), -_last_used(family))
        case "size":
            return (-max(line.row.size_bytes for line in family if line.row), -_last_used(family))


def days(now: float) -> tuple[tuple[str, float], ...]:
    """Return (name, start time) of each group, e.g. `Today`; the times are in seconds since the epoch."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    before = (("Today", 0), ("Yesterday", 1), ("This month", 31))
    return tuple((name, (today - timedelta(days=ago)).timestamp()) for name, ago in before)


_OUTCOMES: Final = {"waiting": "waiting for you", "": "nothing has run yet"}
"""Maps an outcome to the words for the user, if they differ from the outcome's name."""


def state_of(row: SessionRow, symbols: Symbols) -> tuple[str, Role, str]:
    """Return the symbol, the colour role and the description of a session's state."""
    if row.damaged:
        return symbols.warning, "warning", "the start of its log is damaged"
    if row.other_version:
        return symbols.warning, "warning", "written by another version: cannot be opened"
    return *state_mark(row.outcome, symbols), _OUTCOMES.get(row.outcome, row.outcome)
