"""Following a remote session: history from the file and live records meet without a gap or a repetition."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.stubs.store import said, store
from tui_agent.protocol.envelope import Record
from tui_agent.session.remote_session import RemoteFollower


class Pipe:
    """What came through the pipe since `find_denied_secrets`."""

    def __init__(self, folder: Path, kept_from: int) -> None:
        self._folder = folder
        self.first_seq_in_memory = kept_from
        self.records: list[Record] = []
        self.is_closed = False

    async def folder(self) -> Path | None:
        return self._folder

    def records_after(self, seq: int, limit: int) -> Sequence[Record]:
        return self.records[max(0, seq + 1 - self.first_seq_in_memory) :][:limit]

    def remove_follower(self, follower: RemoteFollower) -> None:
        return


@pytest.mark.slow_variants
@pytest.mark.parametrize("stored", [0, 1, 999, 1000, 1001, 2500])
async def test_history_and_live_records_meet_at_any_length(tmp_path: Path, stored: int) -> None:
    log = store(tmp_path).create("ses_a")
    for number in range(stored):
        log.append(said(str(number)))
    pipe = Pipe(log.folder, stored)
    for number in range(5):
        pipe.records.append(log.append(said(f"live {number}")))
    follower = RemoteFollower(pipe, -1)
    seen: list[int] = []
    pipe.is_closed = True
    while batch := await follower.next_batch():
        seen += [record.seq for record in batch]
    assert seen == list(range(stored + 5))
    log.close()


async def test_a_late_follower_reads_from_the_file_what_memory_has_let_go_of(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    records = [log.append(said(str(number))) for number in range(50)]
    pipe = Pipe(log.folder, 40)
    pipe.records = list(records[40:])
    follower = RemoteFollower(pipe, 9)
    seen: list[int] = []
    with anyio.fail_after(30):
        while len(seen) < 40:
            seen += [record.seq for record in await follower.next_batch()]
    assert seen == list(range(10, 50))
    log.close()


async def test_a_closed_follower_stops_waiting(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    follower = RemoteFollower(Pipe(log.folder, 0), -1)
    async with anyio.create_task_group() as group:
        group.start_soon(follower.next_batch)
        await anyio.lowlevel.checkpoint()
        follower.close()
    log.close()


async def test_what_is_stored_while_the_history_is_read_is_not_skipped(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for number in range(5):
        log.append(said(str(number)))
    pipe = Pipe(log.folder, 5)
    follower = RemoteFollower(pipe, -1)
    seen = [record.seq for record in await follower.next_batch()]
    for number in range(5, 8):
        log.append(said(str(number)))  # by the engine, before it has opened the session
    pipe.first_seq_in_memory = 8
    pipe.records.append(log.append(said("8")))
    pipe.is_closed = True
    while batch := await follower.next_batch():
        seen += [record.seq for record in batch]
    assert seen == list(range(9))
    log.close()
