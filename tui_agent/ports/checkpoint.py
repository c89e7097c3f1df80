"""Checkpoints of the workspace's files, outside the user's own repository."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tui_agent.protocol.events.files import Author


@dataclass(frozen=True, slots=True)
class FileStand:
    """One path that differs from the newest checkpoint. `path` is relative to the workspace, with `/`.

    `before` and `after` are the bytes of each side (of a link: its target), None where the file is absent there or too
    large to be handed about; the sizes are right in any case. `mode` is the permission bits now.
    """

    path: str
    before: bytes | None
    after: bytes | None
    before_size: int
    after_size: int
    mode: int | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the newest checkpoint. False when nothing does."""

    paths: tuple[str, ...]
    """Every changed path, sorted."""
    files: tuple[FileStand, ...]
    """The first of them in detail."""
    skipped: tuple[str, ...] = ()
    """What was not looked at or is not kept, in words: too large, over the quota."""
    doubtful: tuple[str, ...] = ()
    """Of the paths those that a person may have changed as well: putting them back asks."""

    def __bool__(self) -> bool:
        return bool(self.paths)


@dataclass(frozen=True, slots=True)
class RestoreAct:
    """What a restore would do to one path; `added` and `removed` count lines.

    `conflict` says why it asks first (someone else changed the path as well); empty where the path is free.
    """

    path: str
    kind: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What putting the files back to `source` means: paths that the session changed, on the way from there or to
    there, and no others."""

    source: str
    head: str
    acts: tuple[RestoreAct, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back, what was left as it is, and the commit that holds the workspace as it now stands.

    `files` are the first of the paths that were put back, as they were before and as they are.
    """

    commit: str
    paths: tuple[str, ...]
    kept: tuple[str, ...]
    files: tuple[FileStand, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Of those that were left, the ones that nobody's answer could put back, each with the reason."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The first checkpoint of a session: the files as it found them."""

    commit: str
    skipped: tuple[str, ...]


class Checkpoints(Protocol):
    """Takes and restores checkpoints. One call at a time; cancelled, it leaves workspace and store as they were.

    Raises `CheckpointError` where the store cannot be used, or an act of a restore could not be done (the others then
    were undone again).
    """

    @property
    def unavailable(self) -> str:
        """Why there are no checkpoints, as a sentence; empty where there are."""
        ...

    @property
    def head(self) -> str:
        """The newest checkpoint's commit; empty before the first."""
        ...

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """Go on from the commit that the log knows as its newest; without one, or where the store has lost it, keep
        the files as they are.

        Returns the baseline where one was made; it stands in for the lost one where the session changed nothing since
        (`unchanged`). May be called again after a fault.
        """
        ...

    def notices(self) -> tuple[str, ...]:
        """What happened to the store by itself since the last call, as sentences for the user: what was lost, what a
        cut restore left."""
        ...

    async def look(self, paths: Sequence[str] | None = None, *, also: Sequence[str] = ()) -> Changes:
        """What differs now from the newest checkpoint: at `paths`; or anywhere, and at the paths in `also` though they
        are ignored: a call is about to change them. Changes nothing."""
        ...

    async def late(self, paths: Sequence[str], at: float) -> frozenset[str]:
        """Those of the paths at which something changed after this time (of a removed one: in its folder). Where that cannot
        be told apart, it did."""
        ...

    async def commit(self, changes: Changes, *, part: int, author: Author, message: str) -> str:
        """Keep these changes as the newest checkpoint; returns its commit."""
        ...

    async def plan(self, source: str, named: Sequence[str] = ()) -> RestorePlan:
        """What putting the files back to the checkpoint `source` would do. Changes nothing.

        Paths that the user `named` are in it whoever changed them.

        What differs from the newest checkpoint by now counts as changed by someone else.
        """
        ...

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> Restored:
        """Carry out a plan: the free acts, and of those in conflict the ones that `overwrite` names.

        Never writes through a link. Afterwards `head` is the returned commit.
        """
        ...

    async def settle(self) -> bool:
        """Upkeep, for when nothing else is to be done: make what is borrowed the store's own, and pack. True if it did
        something. Any other call ends it, and so does cancellation, at once and at any moment."""
        ...

    async def aclose(self) -> None:
        """Stop what works in the background."""
        ...
