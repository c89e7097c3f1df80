"""What a reader gives, part by part: ranges, ends, marks and branches, of a log, of a fork, and while it grows."""

from itertools import accumulate
from pathlib import Path

import pytest

from tests.stubs.store import said, store, write_log
from tests.unit.store.test_forks import family, seqs
from tui_agent.errors import SessionNotFound
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.model import ModelDelta, ModelFailed
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.session import RunFinished, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import RequestId, RunId
from tui_agent.store.log_chunks import find_offset_before
from tui_agent.store.log_reader import (
    TAIL_BYTES,
    LogTail,
    iterate_history,
    iterate_records,
    read_content_tail,
    read_marks,
    read_records,
    read_stored_lines,
    read_tail,
    read_tail_bytes,
)

QUIT = RunFinished(run_id=RunId("run_0123456789ab"), reason="quit")


def folder_of(root: Path, *texts: str) -> Path:
    return write_log(root, "s1", list(texts)).parent


def delta(request: str) -> ModelDelta:
    return ModelDelta(request_id=RequestId(request), part_kind="text", part_index=0, text="x")


def test_no_more_than_the_limit_is_read_and_nothing_without_one(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *"abcdef")
    for limit in (-1, 0):
        assert read_records(folder, limit=limit) == []
    for limit in range(1, 8):
        assert seqs(read_records(folder, limit=limit)) == list(range(min(6, limit)))
        assert seqs(read_records(folder, 3, limit)) == list(range(4, min(6, 4 + limit)))
    assert seqs(read_records(folder)) == list(range(6))
    assert read_records(folder, 99) == []


def test_only_so_many_bytes_of_a_log_are_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *"abc")
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    for size, count in [
        (0, 0),
        (len(lines[0]) - 1, 0),
        (len(lines[0]), 1),
        (len(lines[0]) + 9, 1),
        (10**9, 3),
    ]:
        assert len(read_records(folder, size=size)) == count


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: read_records(folder),
        lambda folder: list(iterate_records(folder)),
        lambda folder: read_marks(folder),
        lambda folder: list(read_stored_lines(folder)),
        lambda folder: list(iterate_history(folder)),
    ],
)
def test_a_session_that_is_not_there_is_told_by_its_name(tmp_path: Path, read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SessionNotFound, match="There is no session gone"):
        read(tmp_path / "gone")


def test_a_tail_of_a_log_that_is_not_there_waits_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s1"
    tail = LogTail(folder)
    assert tail.poll() == []
    made = folder_of(tmp_path, "a", "b")
    assert made == folder
    assert seqs(tail.poll()) == [0, 1]


def test_deltas_of_requests_that_ended_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    failed = ModelFailed(request_id=RequestId("r1"), fault="transport", message="m")
    for payload in (delta("r1"), failed, delta("r2"), said("a")):
        log.append(payload)
    log.close()
    folder = log.folder
    assert seqs(read_records(folder)) == [0, 1, 2, 3]
    assert seqs(read_records(folder, skip_deltas=True)) == [1, 2, 3]
    assert seqs(list(iterate_records(folder))) == [1, 2, 3]
    assert seqs(list(iterate_records(folder, 1))) == [2, 3]


def test_a_branch_is_what_the_moves_leave_and_another_one_can_be_named(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    for name in ("a", "b", "c"):
        folder, all_of_it = sessions.folder(name), sessions.read(name)
        assert read_records(folder, current_branch_only=True) == current_branch(all_of_it)
        assert list(iterate_records(folder, current_branch_only=True)) == current_branch(all_of_it)
        assert list(iterate_records(folder)) == all_of_it
        for after in (-1, 1, 4, 8):
            left = [one for one in current_branch(all_of_it) if one.seq > after]
            assert read_records(folder, after, current_branch_only=True) == left
            assert list(iterate_records(folder, after, current_branch_only=True)) == left
    on = (Stretch(0, 1), Stretch(4, 4), Stretch(8, 9))
    assert seqs(list(iterate_records(sessions.folder("b"), stretches=on))) == [0, 1, 4, 8, 9]
    assert seqs(list(iterate_records(sessions.folder("a"), stretches=(Stretch(2, 3),)))) == [2, 3]
    assert seqs(list(iterate_records(sessions.folder("a"), 2, stretches=(Stretch(2, 3),)))) == [3]


def test_marks_are_found_in_order_on_and_off_the_branch_and_in_forks(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("a")
    for payload in (
        said("one"),
        QUIT,
        CheckpointTaken(part=0, commit="c1", author="agent"),
        SessionHeadMoved(to_seq=1, from_seq=2, reason="undo"),
        CheckpointRestored(source="c0", commit="c2", paths=()),
        said('"payload":{"kind":"checkpoint.taken" "is_continuation":true'),
        TurnStarted(turn=1),
        TurnStarted(turn=1, is_continuation=True),
        PluginEvent(plugin="p", name="n", version=1, data={"is_continuation": True}),
        QUIT,
    ):
        log.append(payload)
    log.close()
    assert seqs(read_marks(log.folder)) == [0, 2, 3, 4, 5, 6, 7]
    sessions.fork("a", 7, "b")
    own = sessions.open("b")
    own.append(said("of b"))
    own.append(QUIT)
    own.close()
    assert seqs(read_marks(own.folder)) == [0, 3, 4, 5, 6, 7, 9], "without what the fork did not take over"


def test_lines_are_given_as_they_stand_with_their_records(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    folder = sessions.folder("b")
    found = list(iterate_history(folder))
    assert [record for _, record in found] == sessions.read("b")
    whole = [
        *(sessions.folder("a") / "events.jsonl").read_bytes().split(b"\n"),
        *(folder / "events.jsonl").read_bytes().split(b"\n"),
    ]
    assert all(line in whole for line, _ in found)
    assert [record.seq for _, record in iterate_history(folder, 4)] == [5, 6, 7, 8, 9]
    assert [(seq, line.encode()) for seq, line in read_stored_lines(folder, 7)] == [
        (record.seq, line) for line, record in found if record.seq > 7
    ]


def test_the_last_records_are_as_many_as_are_asked_for(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *"abcdef")
    for count in (-1, 0):
        assert read_tail(folder, count) == []
    for count in range(1, 9):
        assert seqs(read_tail(folder, count)) == list(range(6))[-count:]
    size = (folder / "events.jsonl").stat().st_size
    assert len(read_tail(folder, 9, max_bytes=size)) == 6
    assert len(read_tail(folder, 9, max_bytes=size - 1)) == 5
    assert read_tail(folder, 9, max_bytes=10) == []


def test_the_last_records_of_a_fork_reach_into_its_parents_as_far_as_needed(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    for name in ("b", "c"):
        folder, all_of_it = sessions.folder(name), sessions.read(name)
        for count in range(1, len(all_of_it) + 2):
            assert read_tail(folder, count) == all_of_it[-count:]
    own = len((sessions.folder("b") / "events.jsonl").read_bytes())
    assert seqs(read_tail(sessions.folder("b"), 9, max_bytes=own - 1)) == [7, 8, 9], "no gap in what is given"


@pytest.mark.parametrize("count", range(-1, 6))
def test_the_end_holds_so_many_of_more_than_openings(tmp_path: Path, count: int) -> None:
    log = store(tmp_path).create("s1")
    for payload in (QUIT, said("a"), QUIT, said("b"), QUIT, said("c"), QUIT, QUIT):
        log.append(payload)
    log.close()
    begins = {1: 5, 2: 3, 3: 1}.get(count, 0)
    assert seqs(read_content_tail(log.folder, count)) == list(range(begins, 8))


def test_the_end_is_looked_for_in_the_last_mebibyte_and_a_tail_in_a_quarter_of_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *("x" * 500 for _ in range(1_800)))
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    for found, most in (
        (read_content_tail(folder, 1_700), 4 * 256 * 1024),
        (read_tail(folder, 9_999), 256 * 1024),
    ):
        assert most - len(lines[-1]) <= sum(map(len, lines[-len(found) :])) <= most


def test_a_tail_gives_what_comes_once_and_nothing_twice(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", "b")
    tail, later = LogTail(folder), LogTail(folder, 0)
    assert (seqs(tail.poll()), seqs(later.poll())) == ([0, 1], [1])
    assert (tail.poll(), later.poll()) == ([], [])
    log = store(tmp_path).open("s1")
    log.append(said("c"))
    assert (seqs(tail.poll()), seqs(later.poll())) == ([2], [2])
    log.append(said("d"))
    log.append(said("e"))
    log.close()
    assert (seqs(tail.poll()), seqs(later.poll())) == ([3, 4], [3, 4])
    path = folder / "events.jsonl"
    path.write_bytes(path.read_bytes() + b'{"half')
    assert tail.poll() == []


def test_a_tail_of_a_log_that_was_cut_or_replaced_goes_on_behind_what_it_gave(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *"abcd")
    path = folder / "events.jsonl"
    data = path.read_bytes()
    two = b"".join(data.splitlines(keepends=True)[:2])
    path.write_bytes(two)
    tail = LogTail(folder)
    assert seqs(tail.poll()) == [0, 1]
    path.write_bytes(two[:-1])
    assert tail.poll() == []
    path.write_bytes(data)
    assert seqs(tail.poll()) == [2, 3]
    path.unlink()
    assert tail.poll() == []
    path.write_bytes(data)
    assert tail.poll() == []


@pytest.mark.parametrize("new_file", [True, False])
@pytest.mark.parametrize("count", [1, 9])
def test_a_tail_misses_nothing_of_a_log_that_was_written_anew(
    tmp_path: Path, count: int, new_file: bool
) -> None:
    folder = folder_of(tmp_path, "a", "b", "c" * 900, *("d" * 100 for _ in range(9)))
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    tail = LogTail(folder)
    assert seqs(tail.poll()) == [0, 1, 2]
    if new_file:
        path.rename(folder / "before")
    path.write_bytes(b"".join([*lines[:2], *lines[3 : 3 + count]]))
    shorter = path.stat().st_size < len(b"".join(lines[:3]))
    assert shorter == (count == 1)
    if new_file or shorter:
        assert seqs(tail.poll()) == list(range(3, 3 + count))


def test_the_last_bytes_begin_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthree\n")
    assert read_tail_bytes(path, 99) == read_tail_bytes(path, 14) == b"one\ntwo\nthree\n"
    assert read_tail_bytes(path, 13) == read_tail_bytes(path, 11) == b"two\nthree\n"
    assert read_tail_bytes(path, 9) == b"three\n"
    assert read_tail_bytes(path, 6) == b""
    assert read_tail_bytes(path, 0) == b""


def test_a_fork_of_a_long_log_is_read_whole_and_its_end_alone(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("a")
    count = 400
    for number in range(count):
        log.append(said(f"{number} " + "x" * 7_000))
    log.close()
    assert (log.folder / "events.jsonl").stat().st_size > 8 * TAIL_BYTES
    sessions.fork("a", 300, "b")
    folder = sessions.folder("b")
    assert seqs(read_records(folder)) == list(range(302))
    assert seqs(read_records(folder, 299)) == [300, 301]
    assert seqs(read_records(folder, 300)) == [301]
    assert seqs(list(iterate_records(folder, 250, current_branch_only=True))) == list(range(251, 302))
    assert [record.seq for _, record in iterate_history(folder, 290)] == list(range(291, 302))
    assert seqs(read_tail(folder, 5)) == [297, 298, 299, 300, 301]
    few = seqs(read_tail(folder, 1_000))
    assert few == list(range(few[0], 302)) and 20 < len(few) < 200
    assert seqs(LogTail(folder, 298).poll()) == [299, 300, 301]


def test_a_tail_is_of_two_hundred_records_where_nothing_is_said(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *(str(number) for number in range(205)))
    assert seqs(read_tail(folder)) == list(range(5, 205))


def test_the_tail_of_a_fork_has_every_whole_line_of_its_parents_last_bytes(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("a")
    for _ in range(400):
        log.append(said("x" * 1_000))
    log.close()
    sessions.fork("a", 389, "b")
    path = sessions.folder("a") / "events.jsonl"
    begins = list(accumulate(map(len, path.read_bytes().splitlines(keepends=True)), initial=0))
    with path.open("rb") as parent:
        end = find_offset_before(parent, begins[-1], 389)
    for size in (5_000, end - begins[150] - 1, end - begins[150], end - begins[150] + 1):
        whole = [seq for seq in range(390) if begins[seq] > end - size]
        found = seqs(read_tail(sessions.folder("b"), 1_000, max_bytes=size))
        assert [seq for seq in found if seq < 390] == whole
