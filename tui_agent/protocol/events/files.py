"""L0: what was read and what changed in the workspace."""

from typing import Literal, TypeAlias

from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId

Author: TypeAlias = Literal["agent", "command", "human"]


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

    `path` is relative to the workspace, with `/`. `mode` is the permission bits after the change.
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


class CheckpointTaken(Payload):
    """The workspace as it is after part `part` can be restored from `commit`."""

    kind: Literal["checkpoint.taken"] = "checkpoint.taken"
    part: int
    commit: str
    paths: tuple[str, ...]


class CheckpointRestored(Payload):
    """Files were put back to `commit`."""

    kind: Literal["checkpoint.restored"] = "checkpoint.restored"
    commit: str
    paths: tuple[str, ...]
