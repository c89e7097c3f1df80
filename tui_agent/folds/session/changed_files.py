"""The files that the session changed, with line counts."""

from dataclasses import dataclass, replace

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import Author, FileChanged
from tui_agent.protocol.events.turn import TurnStarted


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One changed file. Line counts are sums over its changes.

    `before` is the stored content before the first change, `after` that after the newest. `held` and `holds`
    are the hex SHA-256 of the file's own bytes at those times. `bits` is True if its permissions changed.
    """

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
        """True if only its permissions changed."""
        return self.bits and self.held is not None and self.held == self.holds


@dataclass(frozen=True, slots=True)
class FilesChangedView:
    """The changed files in order of first change, without those that are back in their first state.

    `added` and `removed` are the sums over `files`. `turn_files` are the paths changed in the newest turn,
    and `last_seq` is the newest change to any file.
    """

    files: tuple[ChangedFile, ...] = ()
    added: int = 0
    removed: int = 0
    turn_files: tuple[str, ...] = ()
    last_seq: int = -1


TAKES = (FileChanged, TurnStarted)
"""Payload classes that this fold handles."""


class FilesChanged:
    """A fold of `file.changed`."""

    def __init__(self) -> None:
        self._files: dict[str, ChangedFile] = {}
        self._turn_files: dict[str, None] = {}
        self._last_seq = -1
        self._view: FilesChangedView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if a file changed or a new turn began."""
        payload = ev.payload
        if isinstance(payload, FileChanged):
            self._add_change(payload, ev.seq)
        elif isinstance(payload, TurnStarted) and self._turn_files:
            self._turn_files = {}
        else:
            return False
        self._view = None
        return True

    def _add_change(self, change: FileChanged, seq: int) -> None:
        self._turn_files[change.path] = None
        self._last_seq = seq
        known = self._files.get(change.path)
        bits_only = change.held is not None and change.held == change.holds
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
                bits_only,
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
            bits=known.bits or bits_only,
        )

    def view(self) -> FilesChangedView:
        """Return the changed files."""
        if self._view is None:
            files = tuple(file for file in self._files.values() if file.held != file.holds or file.bits_only)
            self._view = FilesChangedView(
                files,
                sum(file.added for file in files),
                sum(file.removed for file in files),
                tuple(self._turn_files),
                self._last_seq,
            )
        return self._view
