"""The sessions that a session is related to: where it was forked from, and what was forked from those.

Invariant: only first lines are read; a parent that is gone ends the way up, and nothing is raised for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.store.forks import by_parent
from tui_agent.store.lineage import Origin, origin_of
from tui_agent.store.repair import EVENTS


@dataclass(frozen=True, slots=True)
class Relative:
    """A session of a family. `origin` says where it was forked from; None where its log begins itself."""

    folder: Path
    origin: Origin | None


def family(folder: Path, folders: Iterable[Path]) -> tuple[Relative, ...]:
    """A session's relatives among these folders and itself: the oldest that is there first, parents before forks."""
    oldest = folder
    seen = {folder.name}
    while (origin := origin_of(oldest)) is not None:
        if origin.parent in seen or not (origin.folder / EVENTS).is_file():
            break
        seen.add(origin.parent)
        oldest = origin.folder
    forks = by_parent(folders)
    found: dict[str, Relative] = {}
    waiting = [oldest]
    while waiting:
        here = waiting.pop(0)
        if here.name not in found:
            found[here.name] = Relative(here, origin_of(here))
            waiting.extend(forks.get(here.name, []))
    if folder.name not in found:
        found[folder.name] = Relative(folder, origin_of(folder))
    return tuple(found.values())
