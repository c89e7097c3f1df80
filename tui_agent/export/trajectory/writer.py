"""The writer that keeps the trajectory of a running session up to date.

Invariant: the session never waits for the file, and a failed write is only reported and tried again.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from tui_agent.config.settings.extras import load_package
from tui_agent.errors import StoreError
from tui_agent.export.trajectory.trajectory_file import (
    BUNDLE,
    TrajectoryFile,
    remove_left_behind,
    update_bundle,
)
from tui_agent.ports.log import Follower
from tui_agent.protocol.envelope import Record, find_payload
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.store.redaction.redactor import Redactor

MIN_PAUSE_S: Final = 0.5
"""Minimum seconds between two writes during a turn."""
PAUSE_FACTOR: Final = 19
"""After a write, the writer pauses for this multiple of the write's processor time. With 19, writing takes at most 5 %
of the time."""
Report = Callable[[StoreError], None]


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
