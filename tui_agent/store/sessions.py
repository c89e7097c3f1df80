"""L1: the folder of all sessions: making, opening, reading, listing and naming them.

Invariant: a session is its folder `sessions/<id>`; nothing else is needed to open or list it.
"""

import errno
import mmap
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tui_agent.errors import SessionNotFound, StoreError, UsageError
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.ids import SessionId
from tui_agent.store.files import FOLDER_MODE, FileOps, SystemFiles, sync_path, unusable
from tui_agent.store.line import decode
from tui_agent.store.lock import WriterLock, is_locked
from tui_agent.store.log import Hold, SessionLog, WallClock
from tui_agent.store.reader import blobs_of, read_records, tail_bytes
from tui_agent.store.redact import Redactor
from tui_agent.store.repair import EVENTS, Opened, create_log, open_log
from tui_agent.store.scan import lines, records, seq_of

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_RUN = re.compile(r"run_[0-9a-f]{12}")
_HEAD_BYTES, _TAIL_BYTES, _LONG_TAIL_BYTES = 16 * 1024, 4 * 1024, 128 * 1024
_TITLED = b'"payload":{"kind":"session.titled"'
_PLACED = (b'"payload":{"kind":"session.started"', b'"payload":{"kind":"env.started"')
_MOVE = ", or move the data folder with --data-dir"


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a list shows it. `updated` is the time of its last event, `events` how many it has.

    `damaged`: its beginning cannot be read; then `workspace` is what another event says, empty where none does.
    """

    id: SessionId
    path: Path
    workspace: str
    started: float
    updated: float
    title: str
    events: int
    locked: bool
    size_bytes: int
    damaged: bool = False


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
        if not _ID.fullmatch(session_id):
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
            what = f"The session {session_id} could not be made in {self.root}"
            raise unusable(fault, what, _MOVE) from fault

    def open(self, session_id: str, wait_s: float = 2.0) -> SessionLog:
        """Hold an existing session, waiting for a process that is just letting go of it.

        Raises `SessionNotFound`, `SessionLocked`, `StoreError`. Blocks up to `wait_s` seconds.
        """
        folder = self.folder(session_id)
        self._require(folder)
        return self._log(folder, partial(self._take, folder, wait_s=wait_s))

    def _take(self, folder: Path, *, wait_s: float) -> tuple[WriterLock, Opened]:
        try:
            return self._hold(folder, open_log, wait_s=wait_s)
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

    def read(self, session_id: str) -> list[Record]:
        """Every record of a session, held by someone or not."""
        folder = self.folder(session_id)
        self._require(folder)
        return read_records(folder)

    def list(self, workspace: str | None = None) -> list[SessionSummary]:
        """All sessions (of one workspace), the last used first. Reads the ends of each log only.

        One whose damage leaves its workspace unknown is among those of each.
        """
        found = []
        for folder in self._folders():
            summary = summarise(folder)
            if summary is not None and (workspace in (None, summary.workspace) or not summary.workspace):
                found.append(summary)
        return sorted(found, key=lambda summary: (-summary.updated, summary.id))

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
        ids = sorted(folder.name for folder in self._folders() if folder.name.startswith(name))
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
            found = [folder for folder in self._folders() if _contains(folder / EVENTS, mark)]
            if found:
                return found[0]
        return self.folder(self.resolve(name))

    def _folders(self) -> Sequence[Path]:
        try:
            return [folder for folder in self.root.iterdir() if _is_log(folder / EVENTS)]
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
            self._folders()
            raise SessionNotFound(
                f"There is no session {folder.name} in {folder.parent}.", hint="`sessions list` shows them."
            )


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


def summarise(folder: Path) -> SessionSummary | None:
    """A session's summary from its log's ends; None where nothing readable stands at either."""
    path = folder / EVENTS
    try:
        with path.open("rb") as log:
            head = log.read(_HEAD_BYTES)
        size = path.stat().st_size
        last = _last(folder, head, size)
    except OSError:
        return None
    start = next(iter(_known(head, folder)), None)
    if start is None and last is None:
        return None
    started = start.payload if start is not None and isinstance(start.payload, SessionStarted) else None
    damaged = started is None
    if damaged:
        start = last if isinstance(last, Envelope) else None
    return SessionSummary(
        id=SessionId(folder.name),
        path=folder,
        workspace=started.workspace if started else _place_of(path, size),
        started=start.at if start else 0.0,
        updated=last.at if last else (start.at if start else 0.0),
        title=_title(path, size) or (started.title if started else ""),
        events=last.seq + 1 if last else 0,
        locked=is_locked(folder / "lock"),
        size_bytes=size,
        damaged=damaged,
    )


def _known(data: bytes, folder: Path) -> Sequence[Envelope]:
    first = data[: data.find(b"\n") + 1]
    return [record for record in records(first, blobs_of(folder)) if isinstance(record, Envelope)]


def _last(folder: Path, head: bytes, size: int) -> Record | None:
    """The last whole record: from the last line, or from further back where that is a long or a torn one."""
    for reach in (_TAIL_BYTES, _LONG_TAIL_BYTES):
        data = head if size <= len(head) else tail_bytes(folder / EVENTS, reach)
        for _, line in reversed(list(lines(data))):
            if seq_of(line) is None:
                continue
            found = list(records(line + b"\n", blobs_of(folder)))
            if found:
                return found[-1]
    return None


def _title(path: Path, size: int) -> str:
    """The newest title."""
    for event in _newest_of(path, size, _TITLED):
        if isinstance(event.payload, SessionTitled):
            return event.payload.title
    return ""


def _place_of(path: Path, size: int) -> str:
    """The workspace, from any event that tells it."""
    for mark in _PLACED:
        for event in _newest_of(path, size, mark):
            match event.payload:
                case SessionStarted(workspace=workspace):
                    return workspace
                case EnvStarted(environment="local", root=root):
                    return root
                case _:
                    pass
    return ""


def _newest_of(path: Path, size: int, mark: bytes) -> Iterator[Envelope]:
    """The events whose payload begins so, by a search of the bytes from the end: a log is never parsed for them."""
    if size == 0:
        return
    with path.open("rb") as log, mmap.mmap(log.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = size
        while (found := data.rfind(mark, 0, end)) >= 0:
            start = data.rfind(b"\n", 0, found) + 1
            stop = data.find(b"\n", found)
            record = decode(data[start : stop if stop >= 0 else size])
            if isinstance(record, Envelope):
                yield record
            end = found
