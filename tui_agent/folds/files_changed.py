"""L1: which files the session changed, and by how much."""

from dataclasses import dataclass

from tui_agent.protocol.events.files import Author


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """Line counts are sums over its changes; `before` is the content before the first, `after` the newest."""

    path: str
    before: str | None
    after: str | None
    added: int
    removed: int
    authors: tuple[Author, ...]
    last_seq: int


@dataclass(frozen=True, slots=True)
class FilesChangedView:
    """In order of first change; `turn_files` are the paths of the newest turn."""

    files: tuple[ChangedFile, ...] = ()
    added: int = 0
    removed: int = 0
    turn_files: tuple[str, ...] = ()
