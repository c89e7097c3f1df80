"""Whose the changes are that no checkpoint holds yet: of a call that failed to be kept, or of a run that broke off.

Invariant: what the log gives to a call is the session's as long as it stands there as it was told; what anybody may have
changed since is the session's and a person's, so that going back asks.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tui_agent.errors import BlobMissing
from tui_agent.folds.session.uncheckpointed_changes import ToldChange
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.text.line_diff import count_changes
from tui_agent.ports.checkpoint import Changes, Checkpoints, FileStand
from tui_agent.ports.log import Blobs
from tui_agent.protocol.events.files import PATHS_NAMED, Author, FileChanged
from tui_agent.protocol.ids import CallId

GRACE_S = 1.0
"""Seconds after the newest event of a run that broke off in which what changes still counts as its call's."""


@dataclass
class Missed:
    """What calls changed while nothing could be kept: at these paths, or (`anything`) anywhere, but for what was changed
    after `until`: that may be anybody's."""

    anything: bool = False
    paths: set[str] = field(default_factory=set)
    until: float | None = None

    def add(self, author: Author, paths: Iterable[str] | None) -> None:
        """A call of this author changed something; of a command, anything."""
        if paths is None or author == "command":
            self.anything = True
        else:
            self.paths |= set(paths)


def left_by_a_run(state: SessionStateView) -> Missed:
    """What the runs before left in no checkpoint."""
    told = {path: one for path, one in state.unkept.items() if one.session}
    if state.lost_at is not None:
        return Missed(anything=True, paths=set(told), until=state.lost_at + GRACE_S)
    if len(told) >= PATHS_NAMED:  # no more are told of one call, however many it changed
        until = max(one.at for one in told.values()) + GRACE_S
        return Missed(anything=True, paths=set(told), until=until)
    return Missed(paths=set(told))


@dataclass(frozen=True, slots=True)
class Sorted:
    """Changes to be kept as the session's; `changes.doubtful` are a person's too."""

    changes: Changes
    author: Author
    call_id: CallId | None


async def sort_out(
    store: Checkpoints, changes: Changes, missed: Missed, told: Mapping[str, ToldChange]
) -> Sorted:
    """Whose each of these changes is. Raises `CheckpointError`."""
    stands = {file.path: file for file in changes.files}
    known = {path: one for path in changes.paths if (one := told.get(path)) is not None and one.session}
    as_told = {
        path: one
        for path, one in known.items()
        if one.change.author != "human" and path in stands and holds(one.change, stands[path])
    }
    others = [path for path in changes.paths if path not in as_told]
    doubtful: frozenset[str] = frozenset()
    if others and not missed.anything:
        doubtful = frozenset(others).intersection(known)
    elif others and missed.until is not None:
        doubtful = await store.late(others, missed.until)
    calls = {one.change.call_id for one in as_told.values()}
    agent = missed.paths.issuperset(others) and all(one.change.author == "agent" for one in as_told.values())
    return Sorted(
        replace(changes, doubtful=tuple(sorted(doubtful))),
        "agent" if agent and not missed.anything else "command",
        calls.pop() if len(calls) == 1 and not others else None,
    )


def holds(told: FileChanged, file: FileStand) -> bool:
    """Whether a file stands as it was told; of a large one its size counts."""
    if told.mode is not None and file.mode is not None and told.mode != file.mode:
        return False
    if told.after_size != file.after_size or (told.after_size and file.mode is None):
        return False
    if file.after is None:
        return file.mode is None or told.holds is None
    return told.holds == hashlib.sha256(file.after).hexdigest()


def file_changed(
    blobs: Blobs,
    file: FileStand,
    author: Author,
    call_id: CallId | None,
    told: FileChanged | None = None,
) -> FileChanged:
    """The event of one changed file, its contents stored without secrets. Where a side is too large to be kept, it has no digest.

    `told` is the newest that was told of it since the checkpoint: the event tells what came after.
    """
    before, after = _before(blobs, file, told), file.after
    added, removed = line_counts(before, after)
    old = None if before is None else blobs.put_file(before)
    new = None if after is None else blobs.put_file(after)
    event = FileChanged(
        path=file.path,
        before=old and old.blob,
        after=new and new.blob,
        before_sha256=old and old.other_sha256,
        after_sha256=new and new.other_sha256,
        before_size=file.before_size,
        after_size=file.after_size,
        mode=file.mode,
        author=author,
        added=added,
        removed=removed,
        call_id=call_id,
    )
    if told is None:
        return event
    since = {"before": told.after, "before_sha256": told.after_sha256, "before_size": told.after_size}
    return event.model_copy(update=since)


def _before(blobs: Blobs, file: FileStand, told: FileChanged | None) -> bytes | None:
    if told is None:
        return file.before
    try:
        return None if told.after is None else blobs.read(told.after)
    except BlobMissing:
        return file.before  # only the counts of lines come from it


def line_counts(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """(added, removed) lines; 0 and 0 where either side is binary."""
    old, new = before or b"", after or b""
    if b"\0" in old[:8192] or b"\0" in new[:8192]:
        return 0, 0
    return count_changes(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
