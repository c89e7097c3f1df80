"""The trajectory's file follows the log: in pieces or at once, after a kill, a cut, an undo and on a full disk."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.stubs.golden import golden_session
from tests.stubs.small_disk import small_disk
from tests.stubs.store import said, store
from tests.stubs.story import called, finished, requested, responded, tool_call
from tui_agent.errors import StoreError, StoreFull, UsageError
from tui_agent.export.trajectory.parquet import TEMPORARY_PREFIX, DamagedParquet, read_rows, read_trace
from tui_agent.export.trajectory.records import AgentTrace
from tui_agent.export.trajectory.trajectory_file import (
    TraceWriter,
    TrajectoryFile,
    read_session_trace,
    update_trajectory,
)
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.session import SessionEnded, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserSteered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.store.log_reader import read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog

LOGS = ("night_shift", "every_kind")
PARQUET = "trace.parquet"


def pytest_run(command: str, passed: int, failed: int, call: str | None = None) -> TestFinished:
    return TestFinished(
        framework="pytest",
        command=command,
        passed=passed,
        failed=failed,
        skipped=0,
        exit_code=int(failed > 0),
        call_id=CallId(call) if call else None,
    )


def session(root: Path, *payloads: Payload) -> SessionLog:
    log = store(root).create("ses_a")
    for payload in payloads:
        log.append(payload)
    return log


def trace_of(root: Path, *payloads: Payload) -> AgentTrace:
    log = session(root, *payloads)
    log.close()
    return read_session_trace(log.folder, Redactor())


def head_move(to_seq: int, from_seq: int) -> SessionHeadMoved:
    return SessionHeadMoved(to_seq=to_seq, from_seq=from_seq, reason="undo", parts=1)


def a_call(number: int) -> tuple[Payload, ...]:
    call, part = f"c{number}", 2 * number
    return (
        responded(f"r{number}", tool_call(call), first_part=part),
        called(call),
        finished(call, part=part + 1),
    )


@pytest.mark.parametrize("name", LOGS)
def test_a_file_written_in_pieces_is_that_of_the_whole_log(name: str, tmp_path: Path) -> None:
    folder = golden_session(tmp_path, name)
    records = read_records(folder)
    file = TrajectoryFile(folder, tmp_path / "t", Redactor(), unsettled=3)
    for start in range(0, len(records), len(records) // 4 + 1):
        file.apply(records[start : start + len(records) // 4 + 1])
        file.write()
    assert read_trace(tmp_path / "t" / PARQUET) == read_session_trace(folder, Redactor())
    assert [path.name for path in (tmp_path / "t").iterdir()] == [PARQUET]


def test_parts_of_a_left_branch_are_marked_also_in_rows_that_were_written_before(tmp_path: Path) -> None:
    log = session(tmp_path, TurnStarted(turn=1), *a_call(0), *a_call(1))
    file = TrajectoryFile(log.folder, tmp_path / "t", Redactor(), unsettled=0)
    file.apply(log.read())
    file.write()
    last = log.last_seq
    log.append(head_move(3, last))
    log.append(responded("r9", "again", first_part=4))
    file.apply(log.read(last))
    file.write()
    rows = read_rows(tmp_path / "t" / PARQUET)
    assert [(row["part"], row["abandoned"]) for row in rows] == [
        (0, False),
        (1, False),
        (2, True),
        (3, True),
        (4, False),
    ]


def test_a_late_result_for_a_row_that_was_written_reads_the_log_again(tmp_path: Path) -> None:
    log = session(tmp_path, TurnStarted(turn=1), *a_call(0), *a_call(1))
    file = TrajectoryFile(log.folder, tmp_path / "t", Redactor(), unsettled=0)
    file.apply(log.read())
    file.write()
    last = log.last_seq
    log.append(CheckpointTaken(part=1, commit="one", paths=("a.txt",)))
    log.append(pytest_run("make check", 2, 0, "c0"))
    file.apply(log.read(last))
    file.write()
    row = read_rows(tmp_path / "t" / PARQUET)[1]
    assert (row["git_commit"], row["files"]) == ("one", '["a.txt"]')
    assert '"solved_paths":1,"total_paths":1' in row["testing_state"]


def test_tests_give_calls_and_progress_by_their_newest_run(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        TurnStarted(turn=1),
        responded("r0", tool_call("c0")),
        called("c0"),
        pytest_run("pytest a", 1, 1, "c0"),
        finished("c0", part=1),
        responded("r1", "words", first_part=2),
        pytest_run("pytest b", 3, 0),
        pytest_run("pytest a", 2, 0),
        VerifierFinished(verifier="shell", reward=0.5, output="too slow"),
    )
    states = [part.testing_state for part in trace.parts]
    assert [(state.solved_paths, state.total_paths) if state else None for state in states] == [
        None,
        (0, 1),
        (2, 3),
    ]
    assert [(call.path, call.status_code, call.error) for call in trace.parts[2].envoi_calls] == [
        ("pytest b", 0, None),
        ("pytest a", 0, None),
        ("verifier:shell", 1, "too slow"),
    ]
    assert trace.parts[1].envoi_calls[0].duration_ms == 5


def test_a_steering_message_is_on_the_first_answer_that_contains_it(tmp_path: Path) -> None:
    log = session(
        tmp_path,
        said("do it"),
        TurnStarted(turn=1),
        requested("r0"),
        UserSteered(text="only a.txt"),
        responded("r0", "thinking", tool_call("c0")),
        called("c0"),
        UserSteered(text="and hurry"),
        finished("c0", part=2),
        requested("r1"),
    )
    log.append(UserSteered(text="for the delegate"), agent=AgentId("ag_1"))
    log.append(responded("r9", "of a delegate", first_part=3), agent=AgentId("ag_1"))
    log.append(responded("r1", "a", "b", first_part=4))
    log.close()
    trace = read_session_trace(log.folder, Redactor())
    assert [part.turn_user_message for part in trace.parts] == [
        "do it",
        None,
        None,
        None,
        "only a.txt\n\nand hurry",
        None,
    ]


def test_a_steering_message_waits_for_the_next_turn_unless_it_was_undone(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        said("do it"),
        TurnStarted(turn=1),
        responded("r0", "done"),
        UserSteered(text="undone"),
        head_move(2, 3),
        UserSteered(text="and b.txt"),
        TurnFinished(turn=1, reason="interrupted"),
        said("go on"),
        TurnStarted(turn=2),
        responded("r1", "done", first_part=1),
    )
    assert [part.turn_user_message for part in trace.parts] == ["do it", "and b.txt\n\ngo on"]


def test_the_end_is_null_until_it_is_recorded_and_counts_the_current_branch(tmp_path: Path) -> None:
    events: tuple[Payload, ...] = (TurnStarted(turn=1), *a_call(0), TurnFinished(turn=1, reason="finished"))
    log = session(tmp_path, *events)
    assert read_session_trace(log.folder, Redactor()).run.session_end is None
    log.append(TurnStarted(turn=2))
    log.append(responded("r5", "left", first_part=2))
    log.append(head_move(4, log.last_seq))
    log.append(SessionEnded(reason="part_limit"))
    end = read_session_trace(log.folder, Redactor()).run.session_end
    assert end is not None
    assert (end.reason, end.total_parts, end.total_turns) == ("part_limit", 2, 1)


def test_a_limit_leaves_out_later_parts_and_tells_their_number(tmp_path: Path) -> None:
    log = session(tmp_path, TurnStarted(turn=1), *a_call(0), *a_call(1))
    file = TrajectoryFile(log.folder, tmp_path / "t", Redactor(), last_part=1)
    file.apply(log.read())
    file.write()
    trace = read_trace(tmp_path / "t" / PARQUET)
    assert ([part.part for part in trace.parts], trace.run.run_metadata["left_out_parts"]) == ([0, 1], 2)


def test_a_file_cut_short_is_named_and_made_again_from_the_log(tmp_path: Path) -> None:
    folder, dest = golden_session(tmp_path, "night_shift"), tmp_path / "t"
    assert update_trajectory(folder, dest, Redactor()) == ""
    whole = (dest / PARQUET).read_bytes()
    (dest / PARQUET).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedParquet, match=r"trace\.parquet is not a complete parquet file: [^']*$"):
        read_trace(dest / PARQUET)
    note = update_trajectory(folder, dest, Redactor())
    assert f"{dest / PARQUET} is not a complete parquet file" in note
    assert note.endswith("The file was rebuilt from the session's log.")
    assert read_trace(dest / PARQUET) == read_session_trace(folder, Redactor())


def test_an_update_keeps_the_fields_of_the_run_that_only_the_file_has(tmp_path: Path) -> None:
    log = session(tmp_path, TurnStarted(turn=1), *a_call(0))
    update_trajectory(log.folder, tmp_path / "t", Redactor(), trajectory_id="cell-7", suites={"a": 1})
    log.append(responded("r1", "more", first_part=2))
    update_trajectory(log.folder, tmp_path / "t", Redactor())
    trace = read_trace(tmp_path / "t" / PARQUET)
    assert (trace.run.trajectory_id, trace.run.suites, len(trace.parts)) == ("cell-7", {"a": 1}, 3)


def test_a_session_without_parts_has_no_file(tmp_path: Path) -> None:
    log = session(tmp_path, said("go"), TurnStarted(turn=1))
    with pytest.raises(UsageError, match="The session ses_a has no parts yet"):
        update_trajectory(log.folder, tmp_path / "t", Redactor())
    assert not list(tmp_path.glob("t/*"))


def test_a_full_disk_is_reported_once_and_the_file_is_complete_when_there_is_room(tmp_path: Path) -> None:
    faults: list[StoreError] = []
    log = session(tmp_path, said("go"), TurnStarted(turn=1), *a_call(0))
    with small_disk(tmp_path / "disk", "64k") as disk:
        filler = disk / "filler"
        filler.write_bytes(b"x" * 60_000)

        async def run() -> None:
            is_reported = anyio.Event()

            def report(fault: StoreError) -> None:
                faults.append(fault)
                is_reported.set()

            writer = TraceWriter(log.folder, disk / "t", Redactor(), report=report)
            async with anyio.create_task_group() as group:
                group.start_soon(writer.follow, log.follow())
                for turn in (1, 2):
                    log.append(TurnFinished(turn=turn, reason="finished"))
                    await is_reported.wait()
                filler.unlink()
                log.close()

        anyio.run(run)
        assert [type(fault) for fault in faults] == [StoreFull]
        assert "No space left on device" in faults[0].message
        assert read_trace(disk / "t" / PARQUET).parts == read_session_trace(log.folder, Redactor()).parts
        assert [path.name for path in (disk / "t").iterdir()] == [PARQUET]


KILLED = """
import sys
from functools import partial
from pathlib import Path
import anyio
from tests.unit.export.trajectory.test_trajectory_file import a_call, session
from tui_agent.export.trajectory import trajectory_file as writer
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.store.redaction.redactor import Redactor

async def main(root):
    log = session(root, TurnStarted(turn=1))
    follower = writer.TraceWriter(log.folder, root / "t", Redactor(), report=print)
    async with anyio.create_task_group() as group:
        group.start_soon(follower.follow, log.follow())
        for number in range(100_000):
            for payload in a_call(number):
                log.append(payload)
            if number % 5 == 4:
                log.append(TurnFinished(turn=1, reason="finished"))
            await log.commit()
            print(number, flush=True)
            await anyio.sleep(0)

anyio.run(main, Path(sys.argv[1]))
"""


def test_after_a_kill_while_it_writes_no_part_is_missing(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert child.stdout is not None
    folder, dest = tmp_path / "sessions" / "ses_a", tmp_path / "t"
    try:
        number = 0
        while not (dest / PARQUET).exists() or not list(dest.glob(f"{TEMPORARY_PREFIX}*")):
            number = int(child.stdout.readline())
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    written = read_trace(dest / PARQUET).parts
    assert [part.part for part in written] == list(range(len(written)))
    assert update_trajectory(folder, dest, Redactor()) == ""
    caught_up = [part.part for part in read_trace(dest / PARQUET).parts]
    assert caught_up == list(range(len(caught_up)))
    assert len(caught_up) >= 2 * (number + 1)
    assert len(caught_up) >= len(written)


class Batches:
    """A follower that gives these batches and then ends."""

    def __init__(self, batches: Sequence[Sequence[Record]]) -> None:
        self._batches = [*batches, ()]

    async def next_batch(self) -> Sequence[Record]:
        await anyio.lowlevel.checkpoint()
        return self._batches.pop(0)

    def close(self) -> None:
        pass


def test_a_writer_writes_at_turn_ends_and_when_the_session_closes(tmp_path: Path) -> None:
    log = session(tmp_path, TurnStarted(turn=1), *a_call(0), TurnFinished(turn=1, reason="finished"))
    log.append(responded("r7", "bye", first_part=2))
    log.close()
    records, seen = read_records(log.folder), []

    class Watched(Batches):
        async def next_batch(self) -> Sequence[Record]:
            path = tmp_path / "t" / PARQUET
            seen.append(len(read_rows(path)) if path.exists() else None)
            return await super().next_batch()

    writer = TraceWriter(log.folder, tmp_path / "t", Redactor(), report=lambda fault: pytest.fail(str(fault)))
    anyio.run(writer.follow, Watched([records[:5], records[5:]]))
    assert seen == [None, 2, 2]
    assert len(read_rows(tmp_path / "t" / PARQUET)) == 3
