"""The folder of a trajectory (`trace.parquet` and `repo.bundle`), and the writer that keeps it up to date in a session.

Invariant: the log is the only source, so a missing, damaged or outdated file can be made again. The session never
waits for the files: a failed write is only reported and tried again.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import CheckpointError, StoreError, UsageError
from tui_agent.export.archive.checkpoint_export import export_bundle
from tui_agent.export.export_content import Texts
from tui_agent.export.trajectory.builder import TraceBuilder
from tui_agent.export.trajectory.parquet import (
    TEMPORARY_PREFIX,
    DamagedParquet,
    merge_parts,
    read_last_seq,
    read_rows,
    temporary_folder,
    translate_write_errors,
)
from tui_agent.export.trajectory.parquet_rows import part_to_row, row_to_run, to_json_lines
from tui_agent.export.trajectory.records import AgentTrace
from tui_agent.ports.log import Follower
from tui_agent.protocol.envelope import Record, find_payload, known_events
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records, read_tail
from tui_agent.store.redaction.redactor import Redactor

TRACE: Final = "trace.parquet"
BUNDLE: Final = "repo.bundle"
UNSETTLED_PARTS: Final = 256
"""Number of newest parts that stay in memory, because a checkpoint or a test can still change them."""
LEFT_BEHIND_S: Final = 3600.0
"""Age in seconds at which a temporary folder counts as left behind by a killed program."""
MIN_PAUSE_S: Final = 0.5
"""Minimum seconds between two writes during a turn."""
PAUSE_FACTOR: Final = 19
"""After a write, the writer pauses for this multiple of the write's processor time. With 19, writing takes at most 5 %
of the time."""
Report = Callable[[StoreError], None]


class TrajectoryFile:
    """Builds `trace.parquet` in `dest` from the records of the session in `session`. All methods block.

    - `run_fields`: fields of the run that the log does not have.
    - `last_part`: the last part to write.
    """

    def __init__(
        self,
        session: Path,
        dest: Path,
        redactor: Redactor,
        *,
        last_part: int | None = None,
        unsettled: int = UNSETTLED_PARTS,
        **run_fields: Any,
    ) -> None:
        self.path = dest / TRACE
        self._session = session
        self._redactor = redactor
        self._last_part = last_part
        self._unsettled = unsettled
        self._run_fields = run_fields
        self._start()

    def _start(self) -> None:
        self._builder = TraceBuilder(self._session.name, Texts(open_blobs(self._session), self._redactor))
        self._written = 0
        """Number of rows at the start of the file that are probably final."""
        self._moves = 0

    @property
    def has_parts(self) -> bool:
        """True if the session has parts; without parts, no file is written."""
        return len(self._builder) > 0

    def project_to(self, part: int) -> None:
        """Leave out all parts after `part`, even those that were written already."""
        self._last_part = part
        self._read_again()

    def apply(self, records: Iterable[Record]) -> None:
        """Apply the next records of the log."""
        for record in known_events(records):
            self._builder.apply(record)

    def write(self, **run_fields: Any) -> None:
        """Write all parts so far, if there are any. Raise `StoreFull` if the file cannot be written.

        `run_fields`: fields for this and all later writes.
        """
        self._run_fields |= run_fields
        if not self.has_parts:
            return
        # The dropped records are only in the file, so without it everything must be built again.
        if self._builder.is_stale or (self._written and not self.path.is_file()):
            self._read_again()
        try:
            self._merge()
        except DamagedParquet:
            self._read_again()
            self._merge()

    def _read_again(self) -> None:
        self._start()
        self.apply(iterate_records(self._session))

    def _merge(self) -> None:
        builder = self._builder
        start = min(self._written, builder.first_changed)
        run = builder.build_run(**self._run_fields)
        if self._last_part is not None:
            left_out = sum(row.part > self._last_part for row in builder.parts.rows)
            metadata = {**run.run_metadata, "left_out_parts": left_out}
            end = builder.build_end(self._last_part)
            run = run.model_copy(update={"run_metadata": metadata, "session_end": end})
        has_moved = builder.moves != self._moves
        with temporary_folder(self.path.parent) as folder:
            lines = folder / "parts.jsonl"
            with translate_write_errors(self.path):
                lines.write_bytes(to_json_lines(map(part_to_row, builder.records(start))))
            merge_parts(
                self.path,
                run,
                lines,
                folder=folder,
                kept_rows=start,
                last_seq=builder.last_seq,
                # After an undo or redo, `abandoned` can change in any row; otherwise the old rows stay as they are.
                branch=builder.branch() if has_moved else None,
                last_part=self._last_part,
            )
        self._moves = builder.moves
        self._written = max(0, len(builder) - self._unsettled)
        builder.first_changed = len(builder)
        builder.drop(self._written)


def read_session_trace(session: Path, redactor: Redactor, **run_fields: Any) -> AgentTrace:
    """Return the trajectory of a session, read from its log. Raise `SessionNotFound` if there is no log."""
    builder = TraceBuilder(session.name, Texts(open_blobs(session), redactor))
    for record in known_events(iterate_records(session)):
        builder.apply(record)
    return builder.build_trace(**run_fields)


def update_trajectory(session: Path, dest: Path, redactor: Redactor, **run_fields: Any) -> str:
    """Bring `trace.parquet` in `dest` up to the end of the session's log.

    Return a sentence if the file was damaged, else an empty string.

    `run_fields`: fields of the run that the log does not have. Other fields keep their values in the file.

    Raise `SessionNotFound` without a log, `UsageError` if there are no parts, and `StoreFull` if the file cannot be
    written.
    """
    path, note = dest / TRACE, ""
    remove_left_behind(dest)
    if path.exists():
        try:
            newest = read_tail(session, 1)
            if not run_fields and newest and read_last_seq(path) == newest[-1].seq:
                return ""
            run_fields = {**_read_run_fields(path), **run_fields}
        except DamagedParquet as fault:
            note = f"{fault.message}. The file was rebuilt from the session's log."
    file = TrajectoryFile(session, dest, redactor, **run_fields)
    file.apply(iterate_records(session))
    if not file.has_parts:
        raise UsageError(
            f"The session {session.name} has no parts yet.", hint="Wait until the agent has answered."
        )
    file.write()
    return note


def _read_run_fields(path: Path) -> dict[str, Any]:
    rows = read_rows(path, limit=1)
    run = row_to_run(rows[0]) if rows else None
    return run.model_dump(exclude={"started_at", "session_end"}) if run else {}


async def update_bundle(session: Path, dest: Path, last_commit: str = "") -> bool:
    """Write `repo.bundle` with the checkpoints of a session. Return False if there are no checkpoints.

    `last_commit`: newest checkpoint to include (empty: all). Raise `StoreFull` if the file cannot be written.
    """
    # The files are not redacted, so that commits have the same ids as in the trajectory.
    with temporary_folder(dest) as folder:
        try:
            await export_bundle(session, folder / BUNDLE, last_commit=last_commit)
        except CheckpointError:
            return False
        with translate_write_errors(dest / BUNDLE):
            (folder / BUNDLE).replace(dest / BUNDLE)
    return True


def remove_left_behind(dest: Path) -> None:
    """Remove temporary folders that a killed program left in `dest`."""
    for folder in dest.glob(f"{TEMPORARY_PREFIX}*"):
        if time.time() - folder.stat().st_mtime > LEFT_BEHIND_S:
            rmtree(folder, ignore_errors=True)


class TraceWriter:
    """Keeps `trace.parquet` and `repo.bundle` in `dest` up to date while a session runs.

    Start the writer in a task group around the session, with a follower from the session's first event:

        writer = TraceWriter(folder, dest, redactor, report=print)
        async with anyio.create_task_group() as group, open_session(options) as session:
            group.start_soon(writer.follow, session.follow())

    The writer ends after a last write when the session is closed.

    `run_fields`: fields of `RunRecord` that the log does not have.
    """

    def __init__(
        self, session: Path, dest: Path, redactor: Redactor, *, report: Report, **run_fields: Any
    ) -> None:
        self._file = TrajectoryFile(session, dest, redactor, **run_fields)
        self._session = session
        self._report = report
        self._pending: list[Record] = []
        self._is_behind = False
        """True if some records are not in the file yet."""
        self._next_write = 0.0
        self._write_time = 0.0
        self._is_reported = False
        self._projection: tuple[int, str] | None = None

    def project_to(self, part: int, commit: str) -> None:
        """End the trajectory at `part`: the last write leaves out all later parts and checkpoints.

        `commit`: the checkpoint of `part`.
        """
        self._projection = (part, commit)

    async def follow(self, follower: Follower) -> None:
        """Write at the end of each turn, and at intervals during a turn."""
        await run_sync(self._prepare)
        while True:
            wait = max(0.0, self._next_write - anyio.current_time()) if self._is_behind else None
            batch: Sequence[Record] | None = None
            with anyio.move_on_after(wait):
                batch = await follower.next_batch()
            if batch is not None and not batch:
                break
            self._pending += batch or ()
            self._is_behind = True
            if _ends_turn(batch or ()) or anyio.current_time() >= self._next_write:
                await self._write()
        await self._finish()

    async def _write(self, **run_fields: Any) -> None:
        records, self._pending = self._pending, []
        try:
            await run_sync(partial(self._apply_and_write, records, **run_fields))
            self._is_behind = self._is_reported = False
        except StoreError as fault:
            self._tell(fault)
        self._next_write = anyio.current_time() + max(MIN_PAUSE_S, PAUSE_FACTOR * self._write_time)

    def _prepare(self) -> None:
        load_package("duckdb")  # before the first write, because the import takes much longer than a write
        remove_left_behind(self._file.path.parent)

    def _apply_and_write(self, records: list[Record], **run_fields: Any) -> None:
        start = time.thread_time()
        try:
            self._file.apply(records)
            self._file.write(**run_fields)
        finally:
            self._write_time = time.thread_time() - start

    async def _finish(self) -> None:
        has_bundle = False
        part, commit = self._projection or (None, "")
        try:
            if part is not None:
                await run_sync(self._file.project_to, part)
                self._pending = []
            has_bundle = await update_bundle(self._session, self._file.path.parent, commit)
        except StoreError as fault:
            self._tell(fault)
        await self._write(bundle_uri=BUNDLE if has_bundle else None)

    def _tell(self, fault: StoreError) -> None:
        """Report a failed write, unless the previous write failed too."""
        if not self._is_reported:
            self._report(fault)
        self._is_reported = True


def _ends_turn(records: Sequence[Record]) -> bool:
    return find_payload(records, TurnFinished) is not None
