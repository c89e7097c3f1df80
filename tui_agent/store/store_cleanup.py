"""Detection and removal of unneeded files of the session store.

Invariant: no file is removed while an event of any session refers to it.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tui_agent.fast_dataclass import dataclass
from tui_agent.store.forks import find_digests, group_by_parent
from tui_agent.store.lineage import read_origin
from tui_agent.store.log_chunks import find_lines, read_chunks
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.session_store import REMOVED_PREFIX, Detach, SessionStore
from tui_agent.store.writer_lock import is_locked

WasteKind = Literal["empty", "old", "texts", "draft", "rest"]
_MESSAGE_MARK = b'"payload":{"kind":"user.message"'
_BLOB_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Waste:
    """Files of the session store that can be removed. `paths` are files, or the folder of a whole session.

    - `empty`, `old`: a session without messages, or one that was not used for a long time.
    - `texts`: stored texts to which no event refers.
    - `draft`: incompletely written files.
    - `rest`: remaining files of a session after an interrupted removal.
    """

    kind: WasteKind
    session: str
    paths: tuple[Path, ...]
    size_bytes: int


def find_waste(store: SessionStore, *, unused_since: float | None = None) -> Iterator[Waste]:
    """Yield the removable files of the store. Sessions last used before `unused_since` are included.

    `unused_since`: seconds since the epoch (None: keep old sessions).
    """
    folders = list(store.folders())
    for remnant in sorted(store.root.glob(f"{REMOVED_PREFIX}*")):
        yield Waste("rest", remnant.name.removeprefix(REMOVED_PREFIX), (remnant,), measure_path(remnant))
    last_used = {str(summary.id): summary.updated for summary in store.list()}
    forks = group_by_parent(folders)
    for folder in sorted(folders):
        if is_locked(folder / "lock"):
            continue
        if folder.name not in forks and _is_empty(folder):
            yield Waste("empty", folder.name, (folder,), measure_path(folder))
        elif unused_since is not None and last_used.get(folder.name, unused_since) < unused_since:
            yield Waste("old", folder.name, (folder,), measure_path(folder))
        else:
            yield from _waste_in(folder, _family(folder, forks))


def _is_empty(folder: Path) -> bool:
    return read_origin(folder) is None and next(find_lines(folder, _MESSAGE_MARK), None) is None


def _family(folder: Path, forks: Mapping[str, Sequence[Path]]) -> list[Path]:
    members = [folder]
    for member in members:  # the list grows during the loop, by the forks of its forks
        members += [fork for fork in forks.get(member.name, ()) if fork not in members]
    return members


def _waste_in(folder: Path, family: Sequence[Path]) -> Iterator[Waste]:
    drafts = tuple(sorted([*folder.glob(".*.new"), *folder.glob("blobs/.*.new")]))
    if drafts:
        yield Waste("draft", folder.name, drafts, sum(map(measure_path, drafts)))
    orphans = _unreferenced_blobs(folder, family)
    if orphans:
        yield Waste("texts", folder.name, orphans, sum(map(measure_path, orphans)))


def _unreferenced_blobs(folder: Path, family: Sequence[Path]) -> tuple[Path, ...]:
    stored = [path for path in sorted(folder.glob("blobs/*")) if _BLOB_NAME.fullmatch(path.name)]
    if not stored:
        return ()
    referenced = frozenset[str]().union(*(find_digests(read_chunks(member), member) for member in family))
    return tuple(path for path in stored if path.name not in referenced)


def measure_path(path: Path) -> int:
    """Return the size of a file, or the total size of the files in a folder, in bytes. Links are not followed."""
    try:
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        return sum(measure_path(child) for child in path.iterdir())
    except FileNotFoundError:
        return 0


def remove_waste(store: SessionStore, item: Waste, detach: Detach | None = None) -> None:
    """Remove the files of one item of `find_waste`. Texts and unfinished files that are in use again are kept.

    `detach` is passed to `SessionStore.remove`. Raise `SessionLocked` if the session is in use. Raise `OSError` or
    `StoreError` if removing fails.
    """
    if item.kind in ("empty", "old"):
        store.remove(item.session, detach)
        return
    if item.kind == "rest":
        shutil.rmtree(item.paths[0])
        return
    with store.lock_session(item.session) as folder:
        # Looked up again under the lock, because the session may have been used since `find_waste`.
        current = _waste_in(folder, _family(folder, group_by_parent(store.folders())))
        removable = {path for waste in current for path in waste.paths}
        for path in item.paths:
            if path in removable:
                path.unlink(missing_ok=True)


def measure_session(folder: Path) -> dict[str, int]:
    """Return the bytes used by a session's `log`, `texts`, `checkpoints` and (for a fork) its own `workspace`."""
    return {
        "log": measure_path(folder / EVENTS_FILE),
        "texts": measure_path(folder / "blobs"),
        "checkpoints": measure_path(folder / "checkpoints.git"),
        "workspace": measure_path(folder / "workspace"),
    }
