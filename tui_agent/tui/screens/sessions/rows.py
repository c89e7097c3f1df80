"""The sessions as rows: parsed, filtered, sorted, by day, each fork below its parent. Invariant: pure; time is told."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role

Sort: TypeAlias = Literal["used", "name", "cost", "size"]
SORTS: Final[tuple[Sort, ...]] = ("used", "name", "cost", "size")


@dataclass(frozen=True, slots=True)
class Row:
    """A session as `sessions list --json` tells of it; `folded` is its name as it is looked through."""

    id: str
    path: str
    title: str
    folded: str
    workspace: str
    started: float
    updated: float
    events: int
    turns: int | None
    cost: float | None
    outcome: str
    model: str
    parent: str
    forked_at: int | None
    size: int
    open: bool
    damaged: bool
    other_version: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return self.title or "without a name"

    @property
    def folder(self) -> str:
        """The last name of its workspace."""
        return clean_line(PurePath(self.workspace).name or self.workspace) or "unknown"


@dataclass(frozen=True, slots=True)
class Hit:
    """Where words were found in a session: the newest of so many places."""

    seq: int
    kind: str
    snippet: str
    places: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the list: a session, or without one a group's name or a gap. `depth` is that of a fork."""

    row: Row | None = None
    group: str = ""
    depth: int = 0


def rows_of(said: str) -> list[Row]:
    """The sessions that the command line printed."""
    return [_row(one) for one in json_rows(said) if text_of(one, "id")]


def _row(one: JsonRow) -> Row:
    title = clean_line(text_of(one, "title"))
    turns, cost, at = one.get("turns"), one.get("cost_usd"), one.get("forked_at")
    return Row(
        id=text_of(one, "id"),
        path=text_of(one, "path"),
        title=title,
        folded=f"{title}\n{text_of(one, 'id')}".casefold(),
        workspace=text_of(one, "workspace"),
        started=number_of(one, "started"),
        updated=number_of(one, "updated"),
        events=round(number_of(one, "events")),
        turns=turns if isinstance(turns, int) else None,
        cost=float(cost) if isinstance(cost, int | float) else None,
        outcome=text_of(one, "outcome"),
        model=clean_line(text_of(one, "model")),
        parent=text_of(one, "parent"),
        forked_at=at if isinstance(at, int) else None,
        size=round(number_of(one, "size_bytes")),
        open=bool(one.get("open")),
        damaged=bool(one.get("damaged")),
        other_version=bool(one.get("other_version")),
    )


def hits_of(said: str) -> dict[str, Hit]:
    """What `sessions search --sessions --json` printed, by session."""
    return {
        text_of(one, "session"): Hit(
            round(number_of(one, "seq")),
            text_of(one, "kind"),
            clean_line(text_of(one, "snippet")),
            round(number_of(one, "places")),
        )
        for one in json_rows(said)
    }


def matching(rows: Iterable[Row], text: str, hits: Mapping[str, Hit], workspace: str = "") -> list[Row]:
    """The sessions (of one workspace) in whose name every word stands, or in whose text they were found."""
    words = text.casefold().split()
    return [
        row
        for row in rows
        if (not workspace or row.workspace == workspace)
        and (all(word in row.folded for word in words) or row.id in hits)
    ]


def arranged(rows: Sequence[Row], sort: Sort, now: float) -> list[Line]:
    """The lines of the list. A fork whose parent is not among them stands for itself."""
    here = {row.id: row for row in rows}
    below: dict[str, list[Row]] = {}
    top: list[Row] = []
    for row in rows:
        # A fork of a fork of itself cannot be; one that names itself is no reason to lose it.
        if row.parent in here and row.parent != row.id and here[row.parent].started <= row.started:
            below.setdefault(row.parent, []).append(row)
        else:
            top.append(row)
    families = [_family(row, below) for row in top]
    families.sort(key=lambda family: _order(family, sort))
    if sort != "used":
        return [line for family in families for line in family]
    lines: list[Line] = []
    group, groups = "", days(now)
    for family in families:
        used = _used(family)
        named = next((name for name, since in groups if used >= since), "Earlier")
        if named != group:
            lines += [Line()] if lines else []
            lines.append(Line(group=named))
            group = named
        lines += family
    return lines


def _family(row: Row, below: Mapping[str, Sequence[Row]], depth: int = 0) -> list[Line]:
    found = [Line(row, depth=depth)]
    for fork in sorted(below.get(row.id, ()), key=lambda one: one.started):
        found += _family(fork, below, min(depth + 1, 8))
    return found


def _used(family: Sequence[Line]) -> float:
    """When the newest of a family was used."""
    return max(line.row.updated for line in family if line.row is not None)


def _order(family: Sequence[Line], sort: Sort) -> tuple[object, ...]:
    first = family[0].row
    assert first is not None
    match sort:
        case "used":
            return (-_used(family), first.id)
        case "name":
            return (not first.title, first.folded)
        case "cost":
            return (-max(line.row.cost or 0.0 for line in family if line.row), -_used(family))
        case "size":
            return (-max(line.row.size for line in family if line.row), -_used(family))


def days(now: float) -> tuple[tuple[str, float], ...]:
    """The groups, each with the time from which on it is that one."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    before = (("Today", 0), ("Yesterday", 1), ("This month", 31))
    return tuple((name, (today - timedelta(days=ago)).timestamp()) for name, ago in before)


def state_of(row: Row, symbols: Symbols) -> tuple[str, Role, str]:
    """Symbol, role and word of how a session stands."""
    if row.damaged:
        return symbols.warning, "warning", "its beginning is damaged"
    if row.other_version:
        return symbols.warning, "warning", "of another version: it cannot be opened"
    known: dict[str, tuple[str, Role, str]] = {
        "done": (symbols.done, "success", "done"),
        "failed": (symbols.failed, "error", "failed"),
        "stopped": (symbols.stopped, "warning", "stopped"),
        "waiting": (symbols.waiting, "warning", "waiting for you"),
        "running": (symbols.running, "accent", "running"),
    }
    return known.get(row.outcome, (symbols.queued, "t3", "nothing has run in it"))
