"""What the session store could do without, and its removal.

Invariant: `waste` only looks; nothing goes that an event of any session names, nor anything of a session in use.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_agent.store.chunks import lines_with, pieces
from tui_agent.store.forks import by_parent, named_in
from tui_agent.store.lineage import origin_of
from tui_agent.store.lock import is_locked
from tui_agent.store.repair import EVENTS
from tui_agent.store.sessions import REMOVED, Detach, SessionStore

Kind = Literal["empty", "old", "texts", "draft", "rest"]
_SAID = b'"payload":{"kind":"user.message"'
_BLOB = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Waste:
    """Something that could go. `session` is whose it is; `paths` are files, or the folder of a whole session.

    `kind`: a session in which nothing was said, one not used for long, texts that no event names, half-written files,
    what an interrupted removal left.
    """

    kind: Kind
    session: str
    paths: tuple[Path, ...]
    size_bytes: int


def waste(store: SessionStore, *, unused_since: float | None = None) -> Iterator[Waste]:
    """What could go: whole sessions that were last used before the time `unused_since`, too."""
    folders = list(store.folders())
    for left in sorted(store.root.glob(f"{REMOVED}*")):
        yield Waste("rest", left.name.removeprefix(REMOVED), (left,), size_of(left))
    used = {str(summary.id): summary.updated for summary in store.list()}
    forks = by_parent(folders)
    for folder in sorted(folders):
        if is_locked(folder / "lock"):
            continue
        if folder.name not in forks and _is_empty(folder):
            yield Waste("empty", folder.name, (folder,), size_of(folder))
        elif unused_since is not None and used.get(folder.name, unused_since) < unused_since:
            yield Waste("old", folder.name, (folder,), size_of(folder))
        else:
            yield from _within(folder, _family(folder, forks))


def _is_empty(folder: Path) -> bool:
    return origin_of(folder) is None and next(lines_with(folder, _SAID), None) is None


def _family(folder: Path, forks: Mapping[str, Sequence[Path]]) -> list[Path]:
    """A session and all forks of it, and of them."""
    found = [folder]
    for member in found:
        found += [fork for fork in forks.get(member.name, ()) if fork not in found]
    return found


def _within(folder: Path, family: Sequence[Path]) -> Iterator[Waste]:
    drafts = tuple(sorted([*folder.glob(".*.new"), *folder.glob("blobs/.*.new")]))
    if drafts:
        yield Waste("draft", folder.name, drafts, sum(map(size_of, drafts)))
    orphans = _unnamed(folder, family)
    if orphans:
        yield Waste("texts", folder.name, orphans, sum(map(size_of, orphans)))


def _unnamed(folder: Path, family: Sequence[Path]) -> tuple[Path, ...]:
    there = [path for path in sorted(folder.glob("blobs/*")) if _BLOB.fullmatch(path.name)]
    if not there:
        return ()
    named = frozenset[str]().union(*(named_in(pieces(member), member) for member in family))
    return tuple(path for path in there if path.name not in named)


def size_of(path: Path) -> int:
    """Bytes below a path; links are not followed, what goes meanwhile counts for nothing."""
    try:
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        return sum(size_of(inner) for inner in path.iterdir())
    except FileNotFoundError:
        return 0


def clear(store: SessionStore, found: Waste, detach: Detach | None = None) -> None:
    """Remove it; of texts and drafts what still is none. `detach` as in `SessionStore.remove`.

    Raises `SessionLocked` where its session is in use by now, `StoreError`, OSError.
    """
    if found.kind in ("empty", "old"):
        store.remove(found.session, detach)
        return
    if found.kind == "rest":
        shutil.rmtree(found.paths[0])
        return
    with store.held(found.session) as folder:
        now = _within(folder, _family(folder, by_parent(store.folders())))
        still = {path for waste in now for path in waste.paths}
        for path in found.paths:
            if path in still:
                path.unlink(missing_ok=True)


def sizes(folder: Path) -> dict[str, int]:
    """What a session takes: its log, its texts, its checkpoints, a fork's own workspace, in bytes."""
    return {
        "log": size_of(folder / EVENTS),
        "texts": size_of(folder / "blobs"),
        "checkpoints": size_of(folder / "checkpoints.git"),
        "workspace": size_of(folder / "workspace"),
    }
