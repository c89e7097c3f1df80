"""The files that the session changed, on the current branch and across all undos and redos, and the estimated number
of changed files in generated folders such as `.venv/`.

Invariant: a file that only a person changed is left out. The estimate for a folder is never larger than its number of
files.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import (
    UNNAMED_AUTHOR,
    Author,
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
    FolderChange,
)
from tui_agent.protocol.events.session import RevertedHunk, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.unicode_text import format_count

FolderFiles: TypeAlias = tuple[str, int]
"""The path of a generated folder (with `/` at the end), and the number of changed files in the folder."""
TAKES = (FileChanged, TurnStarted, CheckpointTaken, SessionHeadMoved)
"""The classes of event payloads that `FilesChanged` handles."""


class GeneratedFiles:
    """Adds up the changed files of each generated folder over several checkpoints."""

    def __init__(self) -> None:
        self._changed: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def add(self, folders: Iterable[FolderChange]) -> None:
        """Add a checkpoint's counts of changed files in each folder."""
        for folder in folders:
            self._changed[folder.path] = self._changed.get(folder.path, 0) + folder.files
            self._total[folder.path] = max(self._total.get(folder.path, 0), folder.total)

    def view(self) -> tuple[FolderFiles, ...]:
        """Return the folders in order of their first change."""
        # Several checkpoints can count the same file, so the sum can exceed the number of files.
        return tuple(
            (path, min(count, max(self._total[path], 1))) for path, count in self._changed.items() if count
        )


def format_folders(folders: Sequence[FolderFiles], max_named: int = 3) -> str:
    """Format folders as text, e.g. `.venv/ 2,570 files, target/ 1 file and 2 more generated folders`."""
    text = ", ".join(f"{path} {format_count(count, 'file')}" for path, count in folders[:max_named])
    rest = len(folders) - max_named
    return f"{text} and {format_count(rest, 'more generated folder')}" if rest > 0 else text


def format_files(count: int, folders: Sequence[FolderFiles]) -> str:
    """Format a number of files and generated folders as text, e.g. `2 files and .venv/ 2,570 files`."""
    own = format_count(count, "file") if count or not folders else ""
    return " and ".join(filter(None, (own, format_folders(folders))))


class ContentChange(NamedTuple):
    """A change of a file's stored content. The fields are digests of blobs (None: no file)."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the session changed `changes` times.

    - `added`, `removed`: totals of all changes, without reverted hunks.
    - `before`: stored content before the first change.
    - `after`: stored content after the newest change.
    - `disk_sha256_before`, `disk_sha256_after`: hex SHA-256 of the unredacted file before the first and after the
      newest change.
    - `mode_changed`: True if the file's permissions changed.
    - `hidden_changes`: checksums of the lines in which a redacted value changed, as in `file.changed`.
    - `user_changes`: the changes by others than the session, in order. Successive changes are joined.
    - `other_authors`: the authors of `user_changes`: titles of other sessions, and an empty text for the user.
    """

    path: str
    before: str | None = None
    after: str | None = None
    added: int = 0
    removed: int = 0
    authors: tuple[Author, ...] = ()
    last_seq: int = -1
    disk_sha256_before: str | None = None
    disk_sha256_after: str | None = None
    mode_changed: bool = False
    changes: int = 0
    hidden_changes: tuple[int, ...] = ()
    user_changes: tuple[ContentChange, ...] = ()
    other_authors: tuple[str, ...] = ()

    @property
    def versions(self) -> tuple[str | None, ...]:
        """The digests of the contents from `before` to `after`.

        The session made the second content from the first, the user the third from the second, and so on alternately.
        """
        return (self.before, *chain.from_iterable(self.user_changes), self.after)

    @property
    def only_mode_changed(self) -> bool:
        """True if the file's permissions changed and its content did not."""
        return (
            self.mode_changed
            and self.disk_sha256_before is not None
            and self.disk_sha256_before == self.disk_sha256_after
        )

    @property
    def differs(self) -> bool:
        """True if the content or the permissions differ from those before the first change."""
        return self.disk_sha256_before != self.disk_sha256_after or self.only_mode_changed

    def with_change(self, change: FileChanged, seq: int) -> "ChangedFile":
        """Return the file after one more change. `seq`: the event of the change."""
        author = change.first_author
        return replace(
            self,
            after=change.after,
            disk_sha256_after=change.disk_sha256_after,
            added=self.added + change.added,
            removed=self.removed + change.removed,
            authors=self.authors if author in self.authors else (*self.authors, author),
            last_seq=seq,
            mode_changed=self.mode_changed or change.is_mode_only,
            changes=self.changes + 1,
            hidden_changes=tuple(sorted({*self.hidden_changes, *change.hidden_changes})),
            user_changes=self._add_user_change(change) if author == "human" else self.user_changes,
            other_authors=tuple(dict.fromkeys((*self.other_authors, change.other_session)))
            if author == "human"
            else self.other_authors,
        )

    def _add_user_change(self, change: FileChanged) -> tuple[ContentChange, ...]:
        """Return `user_changes` with one more change."""
        known, before = self.user_changes, change.before
        if known and known[-1].after == before == self.after:
            known, before = known[:-1], known[-1].before
        return (*known, ContentChange(before, change.after))


def describe_other_authors(authors: Sequence[str]) -> str:
    """Return who else changed a file, e.g. `also changed by you or another session`.

    `authors`: see `ChangedFile.other_authors`.
    """
    sessions = [session for session in authors if session]
    names = (
        [f"by the session “{sessions[0]}”"]
        if len(sessions) == 1
        else ["by other sessions"]
        if sessions
        else []
    )
    if "" in authors or not authors:
        names.append(f"by {UNNAMED_AUTHOR}")
    return f"also changed {' and '.join(names)}"


def unchanged_file(change: FileChanged) -> ChangedFile:
    """Return the file as it was before this change."""
    return ChangedFile(change.path, change.before, disk_sha256_before=change.disk_sha256_before)


@dataclass(frozen=True, slots=True)
class FilesChangedView:
    """The changed files in order of first change. Files that have their original content again are left out.

    - `added`, `removed`: sums over `files`.
    - `turn_files`: paths that the newest turn changed.
    - `last_seq`: event of the newest change to any file.
    - `folders`: generated folders, each with the number of its changed files.
    - `unlisted_count`: number of changed files that the log does not list.
    - `reverted`: hunks that the user reverted. Hunks of files that the session changed later are left out.
    """

    files: tuple[ChangedFile, ...] = ()
    added: int = 0
    removed: int = 0
    turn_files: tuple[str, ...] = ()
    last_seq: int = -1
    folders: tuple[FolderFiles, ...] = ()
    unlisted_count: int = 0
    reverted: frozenset[RevertedHunk] = frozenset()

    @property
    def count(self) -> int:
        """The number of changed files, including files not listed in the log."""
        return len(self.files) + self.unlisted_count

    @property
    def line_counts(self) -> tuple[int, int] | None:
        """The numbers of added and removed lines, or None if a file changed more than once."""
        # With several changes, a line could be counted twice.
        return None if any(file.changes > 1 for file in self.files) else (self.added, self.removed)


class FilesChanged:
    """Collects the current branch's changed files from `file.changed` events."""

    def __init__(self) -> None:
        self._files: dict[str, ChangedFile] = {}
        self._turn_files: dict[str, None] = {}
        self._last_seq = -1
        self._generated = GeneratedFiles()
        self._unlisted_count = 0
        self._reverted: set[RevertedHunk] = set()
        self._newest_change: FileChanged | None = None
        self._view: FilesChangedView | None = None

    def apply(self, ev: Envelope) -> bool:
        payload = ev.payload
        if isinstance(payload, FileChanged) and (
            payload.first_author != "human" or payload.path in self._files
        ):
            self._add_change(payload, ev.seq)
        elif isinstance(payload, TurnStarted) and self._turn_files:
            self._turn_files = {}
        elif isinstance(payload, SessionHeadMoved) and payload.hunk is not None:
            self._reverted.add(payload.hunk)
            self._discount_revert(payload.hunk.path)
        elif (
            isinstance(payload, CheckpointTaken)
            and payload.first_author != "human"
            and (payload.folders or payload.unlisted_count)
        ):
            self._generated.add(payload.folders)
            self._unlisted_count += payload.unlisted_count
        else:
            return False
        self._view = None
        return True

    def _add_change(self, change: FileChanged, seq: int) -> None:
        if change.author != "human":
            self._turn_files[change.path] = None
            self._reverted = {hunk for hunk in self._reverted if hunk.path != change.path}
        self._last_seq, self._newest_change = seq, change
        known = self._files.get(change.path) or unchanged_file(change)
        self._files[change.path] = known.with_change(change, seq)

    def _discount_revert(self, path: str) -> None:
        """If the user's newest change reverted a hunk of a file, subtract the hunk from the file's line counts."""
        change, file = self._newest_change, self._files.get(path)
        if file is not None and change is not None and (change.path, change.author) == (path, "human"):
            count = change.added + change.removed
            self._files[path] = replace(file, added=file.added - count, removed=file.removed - count)

    def view(self) -> FilesChangedView:
        if self._view is None:
            files = tuple(file for file in self._files.values() if file.differs)
            self._view = FilesChangedView(
                files,
                sum(file.added for file in files),
                sum(file.removed for file in files),
                tuple(self._turn_files),
                self._last_seq,
                self._generated.view(),
                self._unlisted_count,
                frozenset(self._reverted),
            )
        return self._view


class FileState(NamedTuple):
    """The state of a file after the event `seq`."""

    seq: int
    sha256: str | None
    mode_changed: bool


class ModifiedFiles:
    """Tracks the state of each file that an agent or command changed."""

    def __init__(self) -> None:
        self._originals: dict[str, str | None] = {}
        self._history: dict[str, list[FileState]] = {}
        self._to_seq = -1
        """Target event of an undo, redo or revert whose files are not restored yet. -1 if there is none."""
        self._moved_seq = -1
        """The event of this undo, redo or revert."""

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case FileChanged() as change if change.author != "human" or change.path in self._history:
                self._originals.setdefault(change.path, change.disk_sha256_before)
                states = self._history.setdefault(change.path, [])
                is_removed = change.disk_sha256_after is None
                had_mode_changed = bool(states) and states[-1].mode_changed and not is_removed
                mode_changed = change.is_mode_only or had_mode_changed
                states.append(FileState(ev.seq, change.disk_sha256_after, mode_changed))
            case SessionHeadMoved(to_seq=to_seq, files=True):
                self._to_seq, self._moved_seq = to_seq, ev.seq
                return False
            case CheckpointRestored() as restored if self._to_seq >= 0:
                self._restore(restored, ev.seq)
            case _:
                return False
        return True

    def _restore(self, restored: CheckpointRestored, seq: int) -> None:
        """Add the states of restored files after a move of the head."""
        to_seq, self._to_seq = self._to_seq, -1
        # If the event does not list all restored paths, every path that was not skipped counts as restored.
        restored_paths = (
            set(self._history) - set(restored.skipped_paths)
            if restored.unlisted_count
            else set(restored.paths)
        )
        for path in restored_paths & self._history.keys():
            states = self._history[path]
            if states[-1].seq > self._moved_seq:
                continue  # The file was merged: the event of the user's remaining change has its state.
            # The newest state that is not later than the target. Without one, the file is as before its first change.
            index = bisect_right(states, to_seq, key=lambda state: state.seq) - 1
            past_state = (
                states[index] if index >= 0 else FileState(seq, self._originals[path], mode_changed=False)
            )
            states.append(past_state._replace(seq=seq))

    def view(self) -> tuple[str, ...]:
        """Return the paths in the order of their first change."""
        return tuple(path for path, states in self._history.items() if self._differs(path, states[-1]))

    def _differs(self, path: str, state: FileState) -> bool:
        return state.sha256 != self._originals[path] or (state.mode_changed and state.sha256 is not None)
