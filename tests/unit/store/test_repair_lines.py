"""Opening a log, step by step: what is made durable, what is set aside, what is told, and what a failure leaves."""

import errno
import os
from pathlib import Path

import pytest

from tests.stubs.store import said, store, write_log
from tui_agent.errors import SessionNotFound, SessionVersionError
from tui_agent.protocol.envelope import SCHEMA_VERSION
from tui_agent.store.file_ops import FileOps
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_repair import (
    MAX_REPORTED,
    copy_to_new_file,
    create_log,
    open_log,
    read_log_version,
    rewrite_log,
)
from tui_agent.store.log_scan import survey_bytes


class Noting(FileOps):
    """The real files; notes every call with the name of its file, and fails the `failing` one."""

    def __init__(self, failing: tuple[str, str] | None = None) -> None:
        self.did: list[tuple[str, str]] = []
        self.failing = failing
        self._names: dict[int, str] = {}

    def _note(self, what: str, name: str) -> None:
        self.did.append((what, name))
        if (what, name) == self.failing:
            raise OSError(errno.EIO, "Input/output error")

    def open(self, path: Path, flags: int) -> int:
        self._note("open", path.name)
        fd = super().open(path, flags)
        self._names[fd] = path.name
        return fd

    def close(self, fd: int) -> None:
        self._note("close", self._names[fd])
        super().close(fd)

    def sync(self, fd: int) -> None:
        self._note("sync", self._names[fd])
        super().sync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._note("truncate", self._names[fd])
        super().truncate(fd, size)

    def unlink(self, path: Path) -> None:
        self._note("unlink", path.name)
        super().unlink(path)


def folder_of(tmp_path: Path, *texts: str) -> Path:
    return write_log(tmp_path, "s1", list(texts)).parent


def add(folder: Path, data: bytes) -> None:
    with (folder / "events.jsonl").open("ab") as log:
        log.write(data)


def test_a_new_log_is_empty_and_durable_with_its_name(tmp_path: Path) -> None:
    folder, ops = tmp_path / "sessions" / "s1", Noting()
    folder.mkdir(parents=True)
    made = create_log(folder, ops)
    os.close(made.fd)
    assert (made.end, made.last_seq, made.repair, made.lines) == (0, -1, None, 0)
    assert [name for what, name in ops.did if what == "sync"] == ["events.jsonl", "s1", "sessions"]


def test_a_new_log_that_cannot_be_made_durable_leaves_nothing(tmp_path: Path) -> None:
    ops = Noting(("sync", "events.jsonl"))
    with pytest.raises(OSError, match="Input/output"):
        create_log(tmp_path, ops)
    assert ops.did[-2:] == [("close", "events.jsonl"), ("unlink", "events.jsonl")]
    assert list(tmp_path.iterdir()) == []


def test_a_whole_log_opens_as_it_is(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a", "b"), Noting()
    found = open_log(folder, ops)
    os.close(found.fd)
    size = (folder / "events.jsonl").stat().st_size
    assert (found.end, found.last_seq, found.repair, found.lines) == (size, 1, None, 2)
    assert ops.did == [("open", "events.jsonl")]
    assert read_log_version(folder) == SCHEMA_VERSION


def test_a_torn_end_is_durable_beside_the_log_before_it_is_cut_off(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a"), Noting()
    size = (folder / "events.jsonl").stat().st_size
    add(folder, b"torn")
    found = open_log(folder, ops)
    os.close(found.fd)
    assert found.repair is not None
    assert (found.repair.moved_bytes, found.repair.side_file) == (4, "events.torn-1")
    assert found.repair.bad_lines == ()
    assert (folder / "events.torn-1").read_bytes() == b"torn"
    assert (folder / "events.jsonl").stat().st_size == found.end == size
    assert ops.did == [
        ("open", "events.torn-1"),
        ("sync", "events.torn-1"),
        ("close", "events.torn-1"),
        ("open", "s1"),
        ("sync", "s1"),
        ("close", "s1"),
        ("open", "events.jsonl"),
        ("truncate", "events.jsonl"),
        ("sync", "events.jsonl"),
    ]


def test_a_torn_end_that_cannot_be_kept_is_not_cut_off(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a"), Noting(("sync", "events.torn-1"))
    add(folder, b"torn")
    with pytest.raises(Exception, match="could not be opened for writing"):
        open_log(folder, ops)
    assert ops.did[-2:] == [("unlink", "events.torn-1"), ("close", "events.torn-1")]
    assert (folder / "events.jsonl").read_bytes().endswith(b"torn")
    assert not (folder / "events.torn-1").exists()


def test_side_files_are_numbered_told_until_they_are_recorded_and_then_no_more(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a")
    for number, torn in enumerate([b"one", b"three"], start=1):
        add(folder, torn)
        found = open_log(folder, FileOps())
        os.close(found.fd)
        assert found.repair is not None
        assert found.repair.side_file == ", ".join(f"events.torn-{each}" for each in range(1, number + 1))
        assert found.repair.moved_bytes == (3, 8)[number - 1]
    log = store(tmp_path).open("s1")
    assert log.repair is not None
    assert log.repair.moved_bytes == 8
    log.append(log.repair)
    log.append(said("more"))
    log.close()
    again = open_log(folder, FileOps())
    os.close(again.fd)
    assert again.repair is None
    add(folder, b"x")
    third = open_log(folder, FileOps())
    os.close(third.fd)
    assert third.repair is not None
    assert (third.repair.side_file, third.repair.moved_bytes) == ("events.torn-3", 1)


def test_bad_lines_are_named_once_and_no_more_than_the_limit(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", "b")
    path = folder / "events.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"junk\n" * (MAX_REPORTED + 1) + second)
    log = store(tmp_path).open("s1")
    assert log.repair is not None
    assert log.repair.bad_lines == tuple(range(2, MAX_REPORTED + 2))
    assert (log.repair.side_file, log.repair.moved_bytes) == ("", 0)
    log.append(log.repair)
    log.close()
    again = open_log(folder, FileOps())
    os.close(again.fd)
    assert again.repair is not None
    assert again.repair.bad_lines == (MAX_REPORTED + 2,)


def test_what_is_known_is_not_read_again_and_the_rest_is_counted_on(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", "b", "c")
    path = folder / "events.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    known = survey_bytes(first)
    path.write_bytes(b"x" * (len(first) - 1) + b"\n" + b"".join(rest))
    found = open_log(folder, FileOps(), known)
    os.close(found.fd)
    assert (found.end, found.last_seq, found.lines) == (path.stat().st_size, 2, 3)
    assert found.repair is None


def test_a_message_that_reads_like_a_report_is_none(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", "log.repaired")
    path = folder / "events.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    other = seal_line(b'{"v":2,"seq":2,"payload":{"kind":"log.repaired","bad_lines":[2]}')
    path.write_bytes(first + b"junk\n" + second + other)
    found = open_log(folder, FileOps())
    os.close(found.fd)
    assert found.repair is not None
    assert found.repair.bad_lines == (2,)


def test_a_log_of_a_newer_version_is_not_opened_and_stays_as_it_is(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a"), Noting()
    add(folder, seal_line(b'{"v":%d,"seq":1' % (SCHEMA_VERSION + 1)) + b"torn")
    before = (folder / "events.jsonl").read_bytes()
    with pytest.raises(SessionVersionError, match="written by a newer version"):
        open_log(folder, ops)
    assert ops.did == []
    assert (folder / "events.jsonl").read_bytes() == before
    assert read_log_version(folder) == SCHEMA_VERSION + 1


def test_a_session_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound, match="There is no session gone"):
        open_log(tmp_path / "gone", FileOps())


def test_a_rescued_log_is_written_anew_where_it_can_be_read_back_whole(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", "b")
    path = folder / "events.jsonl"
    data = path.read_bytes()
    before = path.stat().st_ino
    add(folder, b"more")
    os.close(copy_to_new_file(folder, len(data), FileOps()))
    assert path.read_bytes() == data
    assert path.stat().st_ino != before
    for end in (len(data) - 1, len(data) + 1):
        with pytest.raises(OSError, match="cannot be read back completely"):
            copy_to_new_file(folder, end, FileOps())


@pytest.mark.parametrize("replaced", [True, False])
def test_a_lost_log_is_written_anew_and_what_took_its_place_is_kept(tmp_path: Path, replaced: bool) -> None:
    folder = folder_of(tmp_path, "a" * 3_000, "b")
    path = folder / "events.jsonl"
    data = path.read_bytes()
    held = os.open(path, os.O_RDONLY)
    path.unlink()
    if replaced:
        path.write_bytes(b"another")
    ops = Noting()
    fd, side = rewrite_log(folder, held, len(data), ops)
    assert path.read_bytes() == data
    assert os.path.samestat(os.fstat(fd), path.stat())
    assert side == ("events.replaced-1" if replaced else "")
    assert [name for what, name in ops.did if what == "sync"] == [".events.jsonl.new", "s1"]
    if replaced:
        assert (folder / side).read_bytes() == b"another"
    with pytest.raises(OSError, match="cannot be read back completely"):
        rewrite_log(folder, held, len(data) + 1, FileOps())
    for each in (fd, held):
        os.close(each)


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 19) + 3])
def test_a_lost_log_of_any_length_is_written_anew_up_to_its_end(tmp_path: Path, size: int) -> None:
    path = folder_of(tmp_path) / "events.jsonl"
    data = bytes(number % 251 for number in range(size))
    path.write_bytes(data + b"behind its end" * 1_000)
    held = os.open(path, os.O_RDONLY)
    path.unlink()
    fd, side = rewrite_log(path.parent, held, size, FileOps())
    assert (path.read_bytes() == data, side) == (True, "")
    for each in (fd, held):
        os.close(each)


def test_an_end_that_was_kept_by_an_opening_that_failed_is_counted_once(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a"), Noting(("truncate", "events.jsonl"))
    add(folder, b"torn")
    with pytest.raises(Exception, match="could not be opened for writing"):
        open_log(folder, ops)
    found = open_log(folder, FileOps())
    os.close(found.fd)
    assert found.repair is not None
    assert (found.repair.moved_bytes, found.repair.side_file) == (4, "events.torn-1, events.torn-2")


def test_a_log_that_is_rescued_is_durable_before_it_takes_the_place(tmp_path: Path) -> None:
    folder, ops = folder_of(tmp_path, "a", "b"), Noting()
    os.close(copy_to_new_file(folder, (folder / "events.jsonl").stat().st_size, ops))
    assert "sync" in [what for what, _ in ops.did]


def test_a_first_line_alone_tells_the_version_of_its_log(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.jsonl").write_bytes(seal_line(b'{"v":7,"seq":0'))
    assert read_log_version(folder) == 7
