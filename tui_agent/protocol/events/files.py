"""What was read and what changed in the workspace."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import Frozen
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId

Author: TypeAlias = Literal["agent", "command", "human"]

PATHS_NAMED = 200
"""Paths that one event names at most."""


class FileRead(Payload):
    """A tool read a file. `digest` is the hex SHA-256 of the whole content, lines count from 1."""

    kind: Literal["file.read"] = "file.read"
    path: str
    digest: str
    size: int
    first_line: int
    last_line: int
    whole: bool
    call_id: CallId | None = None


class FileChanged(Payload):
    """A file was created (`before` None), changed, or removed (`after` None). Both are blob digests.

    `path` is relative to the workspace, with `/`. `mode` is the permission bits after the change. What is stored is
    without secrets: where that is not what the file held, `before_sha256` and `after_sha256` are the hex SHA-256 of the
    file's own bytes.
    """

    kind: Literal["file.changed"] = "file.changed"
    path: str
    before: str | None
    after: str | None
    before_size: int
    after_size: int
    mode: int | None
    author: Author
    added: int
    removed: int
    call_id: CallId | None = None
    before_sha256: str | None = None
    after_sha256: str | None = None

    @property
    def held(self) -> str | None:
        """The hex SHA-256 of what the file held before; None where there was none, or it was too large."""
        return self.before_sha256 or self.before

    @property
    def holds(self) -> str | None:
        """The hex SHA-256 of what it holds after."""
        return self.after_sha256 or self.after


class CheckpointTaken(Payload):
    """The workspace as it was then can be restored from `commit`, in the session's own `workspace.checkpoints.git`.

    `part` is the part after which it was taken, -1 for the files as the session found them. `author` is who changed
    `paths` since the checkpoint before; at most `PATHS_NAMED` are named, `more` others are in the commit only.
    `skipped` says in a few words what is not in it (too large, over the quota).
    """

    kind: Literal["checkpoint.taken"] = "checkpoint.taken"
    part: int
    commit: str
    author: Author = "agent"
    paths: tuple[str, ...] = ()
    more: int = 0
    skipped: tuple[str, ...] = ()
    call_id: CallId | None = None


class PlannedAct(Frozen):
    """What putting files back would do to one path; `added` and `removed` count lines.

    `conflict` says who else changed the path, so that it is asked about first; empty where it is free.
    """

    path: str
    act: Literal["write", "create", "remove", "mode"]
    added: int
    removed: int
    conflict: str = ""


class CheckpointPlanned(Payload):
    """What putting the files back to the checkpoint at event `to_seq` would do: a preview, nothing was changed.

    `unavailable` says why files cannot be put back, where they cannot.
    """

    kind: Literal["checkpoint.planned"] = "checkpoint.planned"
    to_seq: int
    acts: tuple[PlannedAct, ...] = ()
    more: int = 0
    unavailable: str = ""


class CheckpointRestoring(Payload):
    """Files are about to be put back to `source`, the checkpoint at event `to_seq`. Without `checkpoint.restored`
    behind it the program ended meanwhile."""

    kind: Literal["checkpoint.restoring"] = "checkpoint.restoring"
    source: str
    to_seq: int
    paths: tuple[str, ...] = ()
    more: int = 0


class CheckpointRestored(Payload):
    """Files were put back as they are in the checkpoint `source`; `commit` holds the workspace as it then stood.

    The two differ where `kept` (changed by someone else too) or files that the session never changed were left alone.
    """

    kind: Literal["checkpoint.restored"] = "checkpoint.restored"
    source: str
    commit: str
    paths: tuple[str, ...]
    more: int = 0
    kept: tuple[str, ...] = ()
