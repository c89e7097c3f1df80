"""The folder of all sessions: making, opening, reading, listing and naming them.

Invariant: a session is its folder `sessions/<id>`; nothing else is needed to open or list it.
"""

import errno
import mmap
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tui_agent.errors import SessionNotFound, StoreError, UsageError
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.ids import SessionId
from tui_agent.store.blobs import BlobStore
from tui_agent.store.files import FOLDER_MODE, FileOps, SystemFiles, sync_path, unusable
from tui_agent.store.fold_cache import known_of
from tui_agent.store.forks import fork_point, forks_of, make_whole, write_fork
from tui_agent.store.index import SessionIndex
from tui_agent.store.index_rows import Stand
from tui_agent.store.index_search import Found
from tui_agent.store.lineage import lineage
from tui_agent.store.lock import WriterLock
from tui_agent.store.log import Hold, SessionLog, WallClock
from tui_agent.store.names import is_session_id
from tui_agent.store.payload import Shrinker
from tui_agent.store.reader import read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.repair import EVENTS, Opened, create_log, open_log, require_known, version_of_log
from tui_agent.store.summary import SessionSummary

REMOVED = ".removed-"
"""How the name of a folder begins that is being deleted; what an interrupted deletion left is pruned."""
Detach = Callable[[Path, Path], None]
"""Gives the fork in the second folder what it borrows, beside its log, from the session in the first. Raises OSError."""
_RUN = re.compile(r"run_[0-9a-f]{12}")
_MOVE = ", or move the data folder with --data-dir"


class SessionStore:
    """All sessions below one folder `root` (the data folder's `sessions`)."""

    def __init__(
        self, root: Path, clock: WallClock, redactor: Redactor, *, ops: FileOps | None = None
    ) -> None:
        self.root = root
        self._clock = clock
        self._redactor = redactor
        self._ops: FileOps = ops or SystemFiles()

    def folder(self, session_id: str) -> Path:
        """Where a session lies, whether it exists or not. Raises `SessionNotFound` for what can be no id."""
        if not is_session_id(session_id):
            raise SessionNotFound(
                f"{session_id!r} is not a session's id.", hint="`sessions list` shows them."
            )
        return self.root / session_id

    def create(self, session_id: str, *, lazily: bool = False) -> SessionLog:
        """Make a new session and hold it; `lazily`, once something happens in it (see `SessionLog`).

        Raises `StoreError` where there is one already, `StoreFull` and `StoreUnusable`: lazily, only for a folder that
        takes no session at all, and the rest from the log's `append`.
        """
        folder = self.folder(session_id)
        if lazily:
            self._require_place()
        return self._log(folder, partial(self._make, folder), lazily=lazily)

    def _require_place(self) -> None:
        """Raises where no session can be made: better now than with the first message."""
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            if not os.access(self.root, os.W_OK | os.X_OK):
                read_only = os.statvfs(self.root).f_flag & os.ST_RDONLY
                reason = errno.EROFS if read_only else errno.EACCES
                raise OSError(reason, os.strerror(reason))
        except OSError as fault:
            raise unusable(fault, f"No session can be made in {self.root}", _MOVE) from fault

    def _make(self, folder: Path) -> tuple[WriterLock, Opened]:
        session_id = folder.name
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            (folder / "blobs").mkdir(mode=FOLDER_MODE, exist_ok=True)
            sync_path(self._ops, self.root.parent)
            return self._hold(folder, create_log, wait_s=0.0)
        except FileExistsError as fault:
            raise StoreError(
                f"There is a session {session_id} already.", hint="Open it, or take another id."
            ) from fault
        except OSError as fault:
            raise _not_made(folder, fault) from fault

    def open(self, session_id: str, wait_s: float = 2.0) -> SessionLog:
        """Hold an existing session, waiting for a process that is just letting go of it.

        Raises `SessionNotFound`, `SessionLocked`, `StoreError`. Blocks up to `wait_s` seconds.
        """
        folder = self.folder(session_id)
        self._require(folder)
        fault = lineage(folder).fault
        if fault is not None:
            raise fault
        return self._log(folder, partial(self._take, folder, wait_s=wait_s))

    def _take(self, folder: Path, *, wait_s: float) -> tuple[WriterLock, Opened]:
        try:
            return self._hold(folder, _opened, wait_s=wait_s)
        except OSError as fault:
            raise unusable(fault, f"The session {folder.name} cannot be held in {folder}", _MOVE) from fault

    def _log(self, folder: Path, hold: Hold, *, lazily: bool = False) -> SessionLog:
        return SessionLog(
            folder, clock=self._clock, redactor=self._redactor, hold=hold, ops=self._ops, lazily=lazily
        )

    def _hold(
        self, folder: Path, opener: Callable[[Path, FileOps], Opened], *, wait_s: float
    ) -> tuple[WriterLock, Opened]:
        lock = WriterLock(folder / "lock", wait_s=wait_s)
        try:
            return lock, opener(folder, self._ops)
        except BaseException:
            lock.release()
            raise

    def fork(self, session_id: str, at_seq: int, new_id: str, changed: ForkChange | None = None) -> SessionId:
        """Make a session that goes on from an event of another one, held by someone or not; it refers to its log.

        `changed` says what is different. Raises `SessionNotFound`, `StoreError`
        where there is no such event, a newer version wrote the session, or `new_id` is taken; `StoreFull`.
        """
        parent, folder = self.folder(session_id), self.folder(new_id)
        self._require(parent)
        require_known(parent, version_of_log(parent))
        point = fork_point(parent, at_seq).model_copy(update={"changed": changed or ForkChange()})
        lock = self._new_folder(folder)
        try:
            if (folder / EVENTS).exists():
                raise StoreError(f"There is a session {new_id} already.", hint="Take another id.")
            blobs = BlobStore(folder / "blobs", redactor=self._redactor, ops=self._ops)
            write_fork(folder, point, self._clock.now(), Shrinker(blobs, self._redactor), self._ops)
            blobs.sync()
        except OSError as fault:
            raise _not_made(folder, fault) from fault
        finally:
            lock.release()
        return SessionId(new_id)

    def _new_folder(self, folder: Path) -> WriterLock:
        try:
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            (folder / "blobs").mkdir(mode=FOLDER_MODE, exist_ok=True)
            return WriterLock(folder / "lock", wait_s=0.0)
        except OSError as fault:
            raise _not_made(folder, fault) from fault

    def forks(self, session_id: str) -> list[SessionId]:
        """The sessions whose history begins in this one's log."""
        return [SessionId(fork.name) for fork in forks_of(self.folder(session_id), self.folders())]

    @contextmanager
    def held(self, session_id: str) -> Iterator[Path]:
        """A session's folder, in which nobody else writes meanwhile. Raises `SessionNotFound`, `SessionLocked`."""
        folder = self.folder(session_id)
        self._require(folder)
        lock = WriterLock(folder / "lock", wait_s=0.0)
        try:
            yield folder
        finally:
            lock.release()

    def remove(self, session_id: str, detach: Detach | None = None) -> None:
        """Delete a session for good. Its forks get a copy of what they take from it first.

        `detach` makes whole what lies beside the log of each of them. Raises
        `SessionNotFound`, `SessionLocked` where a process holds it or a fork of it, `StoreError`: nothing is gone then.
        """
        with ExitStack() as held:
            folder = held.enter_context(self.held(session_id))
            forks = self.forks(session_id)
            for place in [held.enter_context(self.held(fork)) for fork in forks]:
                self._part(folder, place, detach)
            try:
                gone = folder.with_name(f"{REMOVED}{folder.name}")
                self._ops.rename(folder, gone)
                sync_path(self._ops, self.root)
                shutil.rmtree(gone)
            except OSError as fault:
                raise StoreError(
                    f"The session {session_id} could not be removed: {fault.strerror or fault}.",
                    hint="Check the disk and the folder's permissions.",
                ) from fault

    def _part(self, parent: Path, fork: Path, detach: Detach | None) -> None:
        try:
            if detach is not None:
                detach(parent, fork)
            make_whole(fork, self._ops)
        except OSError as fault:
            raise StoreError(
                f"{fork.name}, a fork of {parent.name}, could not be made whole: {fault.strerror or fault}.",
                hint="Free some space; nothing was removed.",
            ) from fault

    def read(self, session_id: str) -> list[Record]:
        """Every record of a session, held by someone or not."""
        folder = self.folder(session_id)
        self._require(folder)
        return read_records(folder)

    def list(self, workspace: str | None = None) -> list[SessionSummary]:
        """All sessions (of one workspace), the last used first: from the index, else from the ends of each log.

        One whose damage leaves its workspace unknown is among those of each.
        """
        found = [
            summary
            for summary in self.index.summaries(self.stands())
            if workspace in (None, summary.workspace) or not summary.workspace
        ]
        return sorted(found, key=lambda summary: (-summary.updated, summary.id))

    @property
    def index(self) -> SessionIndex:
        """The index of all sessions, which may be there or not."""
        return SessionIndex(self.root)

    def stands(self) -> Sequence[Stand]:
        """How each session's log stands now."""
        try:
            with os.scandir(self.root) as entries:
                found = [Stand.of(entry.path) for entry in entries if is_session_id(entry.name)]
        except FileNotFoundError:
            return []  # nothing was recorded yet
        except OSError as fault:
            raise unusable(fault, f"The sessions in {self.root} cannot be read", _MOVE) from fault
        return [stand for stand in found if stand is not None]

    def search(self, text: str, workspace: str | None = None, limit: int = 50) -> Sequence[Found]:
        """The events (of one workspace) in which all words of a text stand, the newest session first."""
        return self.index.search(self.stands(), text, workspace, limit)

    def latest(self, workspace: str | None) -> SessionId | None:
        """The session of this workspace that was used last; one in which nothing was said only where all are so."""
        sessions = [each for each in self.list(workspace) if workspace in (None, each.workspace)]
        talked = [session for session in sessions if session.title]
        return next((session.id for session in talked or sessions), None)

    def resolve(self, name: str) -> SessionId:
        """The id that a prefix or the word `latest` means. Raises `SessionNotFound`, `UsageError` if it is not one."""
        if name == "latest":
            latest = self.latest(None)
            if latest is None:
                raise SessionNotFound("There are no sessions yet.", hint="tui-agent starts one.")
            return latest
        ids = sorted(folder.name for folder in self.folders() if folder.name.startswith(name))
        if name in ids:
            return SessionId(name)
        match ids:
            case [only] if name:
                return SessionId(only)
            case [] | [_]:
                raise SessionNotFound(f"No session begins with {name!r}.", hint="`sessions list` shows them.")
            case _:
                raise UsageError(
                    f"{len(ids)} sessions begin with {name!r}: {', '.join(ids[:5])}.", hint="Give more."
                )

    def find(self, name: str) -> Path:
        """The folder that a session's name, a run's id, or the path of a session or its log means.

        A path may lead anywhere: to a copied log, too. Raises as `resolve` does.
        """
        path = Path(name).expanduser()
        folder = path.parent if path.name == EVENTS else path
        if name and (folder / EVENTS).is_file():
            return folder.resolve()
        if _RUN.fullmatch(name):
            mark = b'"run_id":"%b"' % name.encode()
            found = [folder for folder in self.folders() if _contains(folder / EVENTS, mark)]
            if found:
                return found[0]
        return self.folder(self.resolve(name))

    def folders(self) -> Sequence[Path]:
        """The folder of every session."""
        try:
            return [
                folder
                for folder in self.root.iterdir()
                if is_session_id(folder.name) and _is_log(folder / EVENTS)
            ]
        except FileNotFoundError:
            return []  # nothing was recorded yet
        except OSError as fault:
            raise unusable(fault, f"The sessions in {self.root} cannot be read", _MOVE) from fault

    def _require(self, folder: Path) -> None:
        try:
            there = stat.S_ISREG((folder / EVENTS).stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            there = False
        except OSError as fault:
            raise unusable(fault, f"The session in {folder} cannot be read", _MOVE) from fault
        if not there:
            self.folders()
            raise SessionNotFound(
                f"There is no session {folder.name} in {folder.parent}.", hint="`sessions list` shows them."
            )


def _opened(folder: Path, ops: FileOps) -> Opened:
    return open_log(folder, ops, known_of(folder))


def _not_made(folder: Path, fault: OSError) -> StoreError:
    return unusable(fault, f"The session {folder.name} could not be made in {folder.parent}", _MOVE)


def _is_log(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # the session of somebody else


def _contains(path: Path, mark: bytes) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as log, mmap.mmap(log.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(mark) >= 0
