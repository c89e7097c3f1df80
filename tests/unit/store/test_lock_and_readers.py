"""One writer; any number of readers, none of which ever sees half an event."""

import os
import re
import signal
from pathlib import Path

import anyio
import pytest

from tests.stubs.faulty_files import FaultyFiles
from tests.stubs.processes import open_and_hold, processes, write_many
from tests.stubs.store import said, store, write_log
from tui_agent.errors import SessionLocked, SessionNotFound
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.session import RunFinished
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.ids import CallId, RequestId, RunId
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.store.log_reader import LogTail, read_content_tail, read_records, read_tail


def test_of_twenty_processes_one_writes_and_nineteen_are_told_clearly(tmp_path: Path) -> None:
    write_log(tmp_path, "s1", ["one"])
    context, children = processes(), []
    for _ in range(20):
        go, go_there = context.Pipe()
        back, back_there = context.Pipe()
        child = context.Process(target=open_and_hold, args=(tmp_path, go_there, back_there))
        child.start()
        children.append((child, go, back))
    for _, go, _ in children:
        go.send("now")
    answers = [back.recv() for _, _, back in children]
    writers = [child for (child, _, _), answer in zip(children, answers, strict=True) if answer == "writer"]
    assert len(writers) == 1
    refusals = [answer for answer in answers if answer != "writer"]
    assert len(refusals) == 19
    assert all(str(writers[0].pid) in answer and "--resume" in answer for answer in refusals)
    assert store(tmp_path).list()[0].is_locked
    os.kill(writers[0].pid or 0, signal.SIGKILL)
    for child, _, _ in children:
        child.join()
    assert not store(tmp_path).list()[0].is_locked
    store(tmp_path).open("s1", wait_s=0.0).close()


def test_the_lock_is_free_after_a_refused_opening(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    with pytest.raises(SessionNotFound):
        sessions.open("s1")
    log = sessions.create("s1")
    with pytest.raises(SessionLocked):
        sessions.open("s1", wait_s=0.0)
    log.close()
    sessions.open("s1", wait_s=0.0).close()


@pytest.mark.slow
def test_a_reader_that_tails_a_writer_gets_every_event_once_and_whole(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["one"])
    writer = processes().Process(target=write_many, args=(tmp_path, 10_000))
    tail, found = LogTail(path.parent), list[Record]()
    writer.start()
    while writer.is_alive():
        found += tail.poll()
    writer.join()
    found += tail.poll()
    assert [record.seq for record in found] == list(range(10_001))
    assert all(isinstance(record, Envelope) for record in found)
    assert tail.poll() == []


def test_a_half_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["one", "two"])
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    tail = LogTail(path.parent)
    assert [record.seq for record in tail.poll()] == [0]
    path.write_bytes(data)
    assert [record.seq for record in tail.poll()] == [1]


def test_a_tail_goes_on_when_the_log_has_moved_to_a_new_file(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["one", "two"])
    tail = LogTail(path.parent, after=0)
    assert [record.seq for record in tail.poll()] == [1]
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    assert tail.poll() == []


def test_reading_a_range_and_the_tail(tmp_path: Path) -> None:
    folder = write_log(tmp_path, "s1", [f"message {number}" for number in range(300)]).parent
    assert [record.seq for record in read_records(folder, after=9, limit=3)] == [10, 11, 12]
    assert read_records(folder, limit=0) == []
    assert [record.seq for record in read_tail(folder, 4)] == [296, 297, 298, 299]
    assert [record.seq for record in read_tail(folder, 400, max_bytes=1_000)][-1] == 299


def test_the_end_of_a_log_holds_what_was_said_however_often_it_was_opened_since(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    for text in ("one", "two", "three"):
        log.append(said(text))
    for _ in range(500):
        log.append(RunFinished(run_id=RunId("run_0123456789ab"), reason="quit"))
    log.close()
    assert [record.seq for record in read_content_tail(log.folder, 2)] == list(range(1, 503))
    assert len(read_content_tail(log.folder, 9)) == 503


def delta(request: str, text: str) -> ModelDelta:
    return ModelDelta(request_id=RequestId(request), part_kind="text", part_index=0, text=text)


def test_deltas_of_ended_requests_can_be_left_out(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.append(delta("r1", "a"))
    answer = ModelResponded(
        request_id=RequestId("r1"),
        first_part=0,
        parts=(TextPart(text="ab"),),
        finish="stop",
        usage=Usage(),
        cost_usd=None,
        duration_ms=1.0,
    )
    kept = [log.append(answer), log.append(delta("r2", "c"))]
    decoy = {
        "payload": {"kind": "model.delta", "request_id": "r1"},
        "x": '"payload":{"kind":"model.responded",',
    }
    kept.append(
        log.append(
            ToolCalled(
                call_id=CallId("c"),
                name="n",
                arguments=decoy,
                iteration=1,
                verb="v",
                target="t",  # type: ignore[arg-type]
            )
        )
    )
    assert read_records(log.folder, skip_deltas=True) == kept


async def test_a_follower_gets_history_then_what_comes(tmp_path: Path) -> None:
    write_log(tmp_path, "s1", ["one", "two"])
    log = store(tmp_path).open("s1")
    follower, late = log.follow(), log.follow(after=1)
    assert [record.seq for record in await follower.next_batch()] == [0, 1]
    got: list[list[int]] = []

    async def listen() -> None:
        while batch := await follower.next_batch():
            got.append([record.seq for record in batch])

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        log.append(said("three"))
        log.append(said("four"))
        await anyio.wait_all_tasks_blocked()
        log.append(said("five"))
        await anyio.wait_all_tasks_blocked()
        log.close()
    assert got == [[2, 3], [4]]
    assert [record.seq for record in await late.next_batch()] == [2, 3, 4]
    assert await late.next_batch() == ()


async def test_a_follower_that_is_closed_or_cancelled_ends_alone(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    closing, cancelled = log.follow(), log.follow()
    ended: list[object] = []

    async def listen() -> None:
        ended.append(await closing.next_batch())

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        closing.close()
    assert ended == [()]
    with anyio.move_on_after(0):
        await cancelled.next_batch()
    log.append(said("one"))
    assert [record.seq for record in await cancelled.next_batch()] == [0]


@pytest.mark.slow
async def test_long_history_comes_in_batches(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    for number in range(4_500):
        log.append(said(str(number)))
    follower, seqs = log.follow(), list[int]()
    while len(seqs) < 4_500:
        batch = await follower.next_batch()
        assert len(batch) <= 2_000
        seqs += [record.seq for record in batch]
    assert seqs == list(range(4_500))


async def test_commits_that_come_together_share_a_sync(tmp_path: Path) -> None:
    class Counting(FaultyFiles):
        syncs = 0

        def sync(self, fd: int) -> None:
            self.syncs += 1
            super().sync(fd)

    ops = Counting(0, "fail")
    log = store(tmp_path, ops).create("s1")
    before = ops.syncs
    log.append(said("one"))
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(log.commit)
    assert ops.syncs - before <= 2
    await log.commit()
    assert ops.syncs - before <= 2


def test_who_holds_a_session_and_since_when_is_told_with_what_can_be_done(tmp_path: Path) -> None:
    held = store(tmp_path).create("s1")
    with pytest.raises(SessionLocked) as refused:
        store(tmp_path).open("s1", wait_s=0.0)
    held.close()
    assert re.fullmatch(
        rf"The session s1 is in use by process {os.getpid()} since \d\d:\d\d\.", refused.value.message
    )
    assert "tui-agent --resume s1" in refused.value.hint and "fork" not in refused.value.hint
