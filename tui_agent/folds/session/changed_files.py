"""Which files the session changed, and by how much."""

from dataclasses import dataclass, replace

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.events.turn import TurnStarted


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """Line counts are sums over its changes; `before` is what is stored of the content before the first, `after` of the
    newest. `held` and `holds` are the hex SHA-256 of the file's own bytes then. `bits`: its permissions were changed."""

    path: str
    before: str | None
    after: str | None
    added: int
    removed: int
    authors: tuple[Author, ...]
    last_seq: int
    held: str | None = None
    holds: str | None = None
    bits: bool = False

    @property
    def bits_only(self) -> bool:
        """Its content is what it was, its permissions are not."""
        return self.bits and self.held is not None and self.held == self.holds


@dataclass(frozen=True, slots=True)
class FilesChangedView:
    """In order of first change, without those that are again as they were; the sums are those of `files`.

    `turn_files` are the paths of the newest turn, `last_seq` is the newest change: of whatever became of the files.
    """

    files: tuple[ChangedFile, ...] = ()
    added: int = 0
    removed: int = 0
    turn_files: tuple[str, ...] = ()
    last_seq: int = -1


TAKES = (FileChanged, TurnStarted)
"""The events that change it."""


class FilesChanged:
    """Folds `file.changed`."""

    def __init__(self) -> None:
        self._files: dict[str, ChangedFile] = {}
        self._turn_files: dict[str, None] = {}
        self._last_seq = -1
        self._view: FilesChangedView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if a file changed or a new turn began."""
        payload = ev.payload
        if isinstance(payload, FileChanged):
            self._take(payload, ev.seq)
        elif isinstance(payload, TurnStarted) and self._turn_files:
            self._turn_files = {}
        else:
            return False
        self._view = None
        return True

    def _take(self, change: FileChanged, seq: int) -> None:
        self._turn_files[change.path] = None
        self._last_seq = seq
        known = self._files.get(change.path)
        bits = change.held is not None and change.held == change.holds
        if known is None:
            self._files[change.path] = ChangedFile(
                change.path,
                change.before,
                change.after,
                change.added,
                change.removed,
                (change.author,),
                seq,
                change.held,
                change.holds,
                bits,
            )
            return
        authors = known.authors if change.author in known.authors else (*known.authors, change.author)
        self._files[change.path] = replace(
            known,
            after=change.after,
            holds=change.holds,
            added=known.added + change.added,
            removed=known.removed + change.removed,
            authors=authors,
            last_seq=seq,
            bits=known.bits or bits,
        )

    def view(self) -> FilesChangedView:
        """The files as they are now."""
        if self._view is None:
            files = tuple(one for one in self._files.values() if one.held != one.holds or one.bits_only)
            self._view = FilesChangedView(
                files,
                sum(one.added for one in files),
                sum(one.removed for one in files),
                tuple(self._turn_files),
                self._last_seq,
            )
        return self._view
