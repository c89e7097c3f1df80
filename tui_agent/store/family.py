"""The sessions related to a session: its parents and all their forks.

Invariant: only first lines are read; a missing parent ends the search and raises nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.store.forks import by_parent
from tui_agent.store.lineage import Origin, origin_of
from tui_agent.store.repair import EVENTS


@dataclass(frozen=True, slots=True)
class Relative:
    """A session of a family. `origin` is where it was forked from; None if it is not a fork."""

    folder: Path
    origin: Origin | None


def family(folder: Path, folders: Iterable[Path]) -> tuple[Relative, ...]:
    """Return a session's relatives among `folders`, and itself: the oldest available first, parents before
    forks.
    """
    oldest = folder
    visited = {folder.name}
    while (origin := origin_of(oldest)) is not None:
        if origin.parent in visited or not (origin.folder / EVENTS).is_file():
            break
        visited.add(origin.parent)
        oldest = origin.folder
    forks = by_parent(folders)
    relatives: dict[str, Relative] = {}
    pending = [oldest]
    while pending:
        current = pending.pop(0)
        if current.name not in relatives:
            relatives[current.name] = Relative(current, origin_of(current))
            pending.extend(forks.get(current.name, []))
    if folder.name not in relatives:
        relatives[folder.name] = Relative(folder, origin_of(folder))
    return tuple(relatives.values())
