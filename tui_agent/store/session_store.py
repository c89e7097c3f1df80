"""The folder of all sessions: creating, opening, reading, listing and naming them.

Invariant: a session is its folder `sessions/<id>`, and nothing else is needed to open or list it.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tui_agent.errors import SessionNotFound, StoreError, UsageError, os_errors_as
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.ids import SessionId, is_session_id
from tui_agent.store.blobs import BlobStore
from tui_agent.store.file_ops import FOLDER_MODE, FileOps, storage_error, sync_path
from tui_agent.store.fold_cache import load_survey
from tui_agent.store.forks import copy_inherited, find_fork_point, group_by_parent, write_fork
from tui_agent.store.lineage import load_lineage
from tui_agent.store.log_chunks import find_lines
from tui_agent.store.log_reader import read_records
from tui_agent.store.log_repair import (
    EVENTS_FILE,
    OpenedLog,
    create_log,
    open_log,
    read_log_version,
    require_known_version,
    session_not_found,
)
from tui_agent.store.payload_shrinker import Shrinker
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_index import SessionIndex
from tui_agent.store.session_index_rows import LogState
from tui_agent.store.session_log import OpenLog, SessionLog, WallClock
from tui_agent.store.session_summary import SessionSummary
from tui_agent.store.writer_lock import WriterLock

REMOVED_PREFIX = ".removed-"
"""Prefix of a session's folder during its deletion."""
# If the deletion is interrupted, cleanup removes the folders with this prefix.
Detach = Callable[[Path, Path], None]
"""Function that makes a fork independent of a session. It copies the shared files, except the log.

Its arguments are the folders of the session and the fork. Raises `OSError` if copying fails.
"""
_RUN_ID = re.compile(r"run_[0-9a-f]{12}")
_MOVE_HINT = ", or move the data folder with --data-dir"


class SessionStore:
    """All sessions in the folder `root` (the data folder's `sessions`)."""

    def __init__(
        self, root: Path, clock: WallClock, redactor: Redactor, *, ops: FileOps | None = None
    ) -> None:
        self.root = root
        self._clock = clock
        self._redactor = redactor
        self._ops = ops or FileOps()

    def folder(self, session_id: str) -> Path:
        """Return a session's folder, even if it does not exist. Raise `SessionNotFound` for an invalid id."""
        if not is_session_id(session_id):
            raise SessionNotFound(
                f"{session_id!r} is not a valid session id.",
                hint="Run `tui-agent sessions list` to list all sessions.",
            )
        return self.root / session_id

    def create(self, session_id: str, *, lazy: bool = False) -> SessionLog:
        """Create a new session and lock it. With `lazy`, the session is created when its first message is recorded.

        Raise `StoreError` if the session exists. Raise `StoreFull` or `StoreUnusable` if the session cannot be stored.
        With `lazy`, the log's `append` raises most of these errors later.
        """
        folder = self.folder(session_id)
        if lazy:
            self._require_writable_root()
        return self._build_log(folder, partial(self._create_locked, folder), lazy=lazy)

    def _require_writable_root(self) -> None:
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            # `os.access` gives no reason, so an error like that of a failed write is raised here.
            if not os.access(self.root, os.W_OK | os.X_OK):
                read_only = os.statvfs(self.root).f_flag & os.ST_RDONLY
                reason = errno.EROFS if read_only else errno.EACCES
                raise OSError(reason, os.strerror(reason))
        except OSError as fault:
            raise storage_error(fault, f"No session can be created in {self.root}", _MOVE_HINT) from fault

    def _create_locked(self, folder: Path) -> tuple[WriterLock, OpenedLog]:
        session_id = folder.name
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            (folder / "blobs").mkdir(mode=FOLDER_MODE, exist_ok=True)
            sync_path(self._ops, self.root.parent)
            return self._hold(folder, create_log, wait_s=0.0)
        except FileExistsError as fault:
            raise StoreError(
                f"The session {session_id} already exists.", hint="Open it, or use another id."
            ) from fault
        except OSError as fault:
            raise _creation_error(folder, fault) from fault

    def open(self, session_id: str, wait_s: float = 2.0) -> SessionLog:
        """Lock and open an existing session, waiting up to `wait_s` seconds for another process to release it.

        Raise `SessionNotFound` or `SessionLocked`, or `StoreError` if the log cannot be opened.
        """
        folder = self.folder(session_id)
        self._require_session(folder)
        fault = load_lineage(folder).fault
        if fault is not None:
            raise fault
        return self._build_log(folder, partial(self._open_locked, folder, wait_s=wait_s))

    def _open_locked(self, folder: Path, *, wait_s: float) -> tuple[WriterLock, OpenedLog]:
        try:
            return self._hold(folder, _open_known, wait_s=wait_s)
        except OSError as fault:
            raise storage_error(fault, f"The session in {folder} cannot be locked", _MOVE_HINT) from fault

    def _build_log(self, folder: Path, open_log: OpenLog, *, lazy: bool = False) -> SessionLog:
        return SessionLog(
            folder, clock=self._clock, redactor=self._redactor, open_log=open_log, ops=self._ops, lazy=lazy
        )

    def _hold(
        self, folder: Path, opener: Callable[[Path, FileOps], OpenedLog], *, wait_s: float
    ) -> tuple[WriterLock, OpenedLog]:
        lock = WriterLock(folder / "lock", wait_s=wait_s)
        try:
            return lock, opener(folder, self._ops)
        except BaseException:
            lock.release()
            raise

    def fork(self, session_id: str, at_seq: int, new_id: str, changed: ForkChange | None = None) -> SessionId:
        """Create a session that continues from event `at_seq` of another session. That session can be in use.

        `changed`: the fork's changes to its parent's state. Raise `SessionNotFound` if there is no such session. Raise
        `StoreFull` if the disk is full or failing. Raise `StoreError` if the event is missing, if another version wrote
        the session, or if `new_id` exists.
        """
        parent, folder = self.folder(session_id), self.folder(new_id)
        self._require_session(parent)
        require_known_version(parent, read_log_version(parent))
        point = find_fork_point(parent, at_seq).model_copy(update={"changes": changed or ForkChange()})
        lock = self._new_folder(folder)
        try:
            if (folder / EVENTS_FILE).exists():
                raise StoreError(f"The session {new_id} already exists.", hint="Use another id.")
            blobs = BlobStore(folder / "blobs", redactor=self._redactor, ops=self._ops)
            write_fork(folder, point, self._clock.now(), Shrinker(blobs, self._redactor), self._ops)
            blobs.sync()
        except OSError as fault:
            raise _creation_error(folder, fault) from fault
        finally:
            lock.release()
        return SessionId(new_id)

    def _new_folder(self, folder: Path) -> WriterLock:
        try:
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            (folder / "blobs").mkdir(mode=FOLDER_MODE, exist_ok=True)
            return WriterLock(folder / "lock", wait_s=0.0)
        except OSError as fault:
            raise _creation_error(folder, fault) from fault

    def forks(self, session_id: str) -> list[SessionId]:
        """Return the direct forks of a session: those that share events of the session's own log."""
        name = self.folder(session_id).name
        return [SessionId(fork.name) for fork in group_by_parent(self.folders()).get(name, ())]

    @contextmanager
    def lock_session(self, session_id: str) -> Iterator[Path]:
        """Lock a session's folder against other writers.

        Raise `SessionNotFound` if there is no such session. Raise `SessionLocked` if another process has the lock.
        """
        folder = self.folder(session_id)
        self._require_session(folder)
        lock = WriterLock(folder / "lock", wait_s=0.0)
        try:
            yield folder
        finally:
            lock.release()

    def remove(self, session_id: str, detach: Detach | None = None) -> None:
        """Delete a session permanently. Its forks first get copies of everything they inherit.

        `detach`: function that copies the shared files to a fork, except the log. Raise `SessionNotFound`,
        `SessionLocked` (the session or a fork is in use) or `StoreError`. After such an error, nothing is removed.
        """
        with ExitStack() as locks:
            # All locks are acquired before anything is changed: if one session is in use, nothing happens.
            folder = locks.enter_context(self.lock_session(session_id))
            forks = self.forks(session_id)
            for fork_folder in [locks.enter_context(self.lock_session(fork)) for fork in forks]:
                self._detach_fork(folder, fork_folder, detach)
            with os_errors_as(
                StoreError,
                f"The session {session_id} could not be removed",
                hint="Check the disk and the folder's permissions.",
            ):
                # Renamed first, so that a deletion that is interrupted leaves no session without some of its files.
                trash = folder.with_name(f"{REMOVED_PREFIX}{folder.name}")
                self._ops.rename(folder, trash)
                sync_path(self._ops, self.root)
                shutil.rmtree(trash)

    def _detach_fork(self, parent: Path, fork: Path, detach: Detach | None) -> None:
        with os_errors_as(
            StoreError,
            f"{fork.name}, a fork of {parent.name}, could not be made independent",
            hint="Free some space; nothing was removed.",
        ):
            if detach is not None:
                detach(parent, fork)
            copy_inherited(fork, self._ops)

    def read(self, session_id: str) -> list[Record]:
        """Return every record of a session, even if it is in use."""
        folder = self.folder(session_id)
        self._require_session(folder)
        return read_records(folder)

    def list(self, workspace: str | None = None) -> list[SessionSummary]:
        """Return all sessions, or only the sessions of one workspace, last used first.

        A damaged session without a known workspace is always listed.
        """
        listed = [
            summary
            for summary in self.index.summaries(self.log_states())
            if workspace in (None, summary.workspace) or not summary.workspace
        ]
        return sorted(listed, key=lambda summary: (-summary.updated, summary.id))

    @property
    def index(self) -> SessionIndex:
        """Return the index of all sessions; its file need not exist yet."""
        return SessionIndex(self.root)

    def log_states(self) -> Sequence[LogState]:
        """Return the current state of each session's log."""
        try:
            with os.scandir(self.root) as entries:
                states = [LogState.read(entry.path) for entry in entries if is_session_id(entry.name)]
        except FileNotFoundError:
            return []  # nothing has been recorded yet
        except OSError as fault:
            raise storage_error(fault, f"The sessions in {self.root} cannot be read", _MOVE_HINT) from fault
        return [state for state in states if state is not None]

    def latest_session_id(self, workspace: str | None) -> SessionId | None:
        """Return the last used session of a workspace (None: of any workspace).

        Sessions without messages are chosen only if there are no others.
        """
        sessions = [summary for summary in self.list(workspace) if workspace in (None, summary.workspace)]
        with_messages = [session for session in sessions if session.title]
        return next((session.id for session in with_messages or sessions), None)

    def resolve(self, name: str) -> SessionId:
        """Return the full session id that starts with `name`. The name `latest` means the last used session.

        Raise `SessionNotFound` if no session matches. Raise `UsageError` if several sessions match.
        """
        if name == "latest":
            latest = self.latest_session_id(None)
            if latest is None:
                raise SessionNotFound("There are no sessions yet.", hint="Run `tui-agent` to start one.")
            return latest
        ids = sorted(folder.name for folder in self.folders() if folder.name.startswith(name))
        if name in ids:
            return SessionId(name)
        match ids:
            case [only] if name:
                return SessionId(only)
            case [] | [_]:
                raise SessionNotFound(
                    f"No session begins with {name!r}.",
                    hint="Run `tui-agent sessions list` to list all sessions.",
                )
            case _:
                raise UsageError(
                    f"{len(ids)} sessions begin with {name!r}: {', '.join(ids[:5])}.",
                    hint="Type more of the id.",
                )

    def find(self, name: str) -> Path:
        """Return a session's folder. `name` is a session's name, a run's id, or the path of a session or its log.

        The path can be outside the store, for example a copied log. Raise the errors of `resolve`.
        """
        path = Path(name).expanduser()
        folder = path.parent if path.name == EVENTS_FILE else path
        if name and (folder / EVENTS_FILE).is_file():
            return folder.resolve()
        if _RUN_ID.fullmatch(name):
            mark = b'"run_id":"%b"' % name.encode()
            matches = [folder for folder in self.folders() if any(find_lines(folder, mark))]
            if matches:
                return matches[0]
        return self.folder(self.resolve(name))

    def folders(self) -> Sequence[Path]:
        """Return the folders of all sessions."""
        try:
            return [
                folder
                for folder in self.root.iterdir()
                if is_session_id(folder.name) and _is_log(folder / EVENTS_FILE)
            ]
        except FileNotFoundError:
            return []  # nothing has been recorded yet
        except OSError as fault:
            raise storage_error(fault, f"The sessions in {self.root} cannot be read", _MOVE_HINT) from fault

    def _require_session(self, folder: Path) -> None:
        try:
            exists = stat.S_ISREG((folder / EVENTS_FILE).stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            exists = False
        except OSError as fault:
            raise storage_error(fault, f"The session in {folder} cannot be read", _MOVE_HINT) from fault
        if not exists:
            self.folders()  # raises a better error if the folder of all sessions cannot be read
            raise session_not_found(folder)


def _open_known(folder: Path, ops: FileOps) -> OpenedLog:
    return open_log(folder, ops, load_survey(folder))


def _creation_error(folder: Path, fault: OSError) -> StoreError:
    return storage_error(
        fault, f"The session {folder.name} could not be created in {folder.parent}", _MOVE_HINT
    )


def _is_log(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # another user's session
