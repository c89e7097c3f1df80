"""Cuts, changed bytes, NUL runs and foreign lines: nothing whole is lost, nothing damaged is delivered."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stubs.golden import GOLDEN
from tests.stubs.store import said, store, write_log
from tui_agent.errors import SessionVersionError
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.blobs import BlobStore
from tui_agent.store.damage_report import describe_damage
from tui_agent.store.event_search import find_decisions
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_reader import read_marks, read_stored_lines
from tui_agent.store.log_scan import read_records_from, survey_bytes

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
NO_BLOBS = BlobStore(Path("/nonexistent"))
TEXT = 'A message with ünïcödé, "quotes", \\ and {"v":2,"seq":0} inside. '


def long_log(tmp_path: Path) -> bytes:
    """A log of at least 64 KiB whose messages hold what a parser could stumble over."""
    path = write_log(tmp_path, "long", [f"{number} {TEXT * 23}" for number in range(36)])
    data = path.read_bytes()
    assert len(data) >= 64 * 1024
    return data


def every_cut_keeps_the_events_before_it(data: bytes) -> None:
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    whole = 0
    for cut in range(len(data) + 1):
        if whole < len(ends) and ends[whole] == cut:
            whole += 1
        found = survey_bytes(data[:cut])
        assert found.good_end == (ends[whole - 1] if whole else 0), cut
        assert found.last_seq == whole - 1, cut
        assert found.bad_lines == (), cut


@pytest.mark.slow
def test_any_cut_leaves_exactly_the_whole_events_before_it(tmp_path: Path) -> None:
    every_cut_keeps_the_events_before_it(long_log(tmp_path))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["night_shift", "streaming"])
def test_any_cut_of_a_real_log_leaves_exactly_the_whole_events_before_it(name: str) -> None:
    every_cut_keeps_the_events_before_it((GOLDEN / f"{name}.jsonl").read_bytes())


def test_a_cut_log_opens_goes_on_and_keeps_the_torn_bytes(tmp_path: Path) -> None:
    data = (GOLDEN / "streaming.jsonl").read_bytes()
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A][-3:]
    for number, cut in enumerate([end + shift for end in ends for shift in (-2, -1, 0, 1, 40)]):
        sessions = store(tmp_path)
        sessions.create(f"s{number}").close()
        path = sessions.folder(f"s{number}") / "events.jsonl"
        path.write_bytes(data[:cut])
        good = data.rfind(b"\n", 0, min(cut, len(data))) + 1
        log = sessions.open(f"s{number}")
        torn = data[good:cut]
        if torn:
            assert log.repair is not None
            assert log.repair.moved_bytes == len(torn)
            assert (log.folder / log.repair.side_file).read_bytes() == torn
        else:
            assert log.repair is None
        event = log.append(said("next"))
        log.close()
        assert list(read_records_from(data[:good], NO_BLOBS)) == sessions.read(f"s{number}")[:-1]
        assert sessions.read(f"s{number}")[-1] == event


def changes(byte: int) -> tuple[int, int, int]:
    """Three other values of a byte: one bit, the case bit, and NUL or its opposite."""
    return byte ^ 0x01, byte ^ 0x20, 0x00 if byte else 0xFF


def windows(tmp_path: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Every line of a long log between two of another one, which are short: those are read with each change."""
    lines = long_log(tmp_path).splitlines(keepends=True)
    short = write_log(tmp_path, "short", ["a"] * len(lines)).read_bytes().splitlines(keepends=True)
    yield from ((short[at - 1], lines[at], short[at + 1]) for at in range(1, len(lines) - 1))


@pytest.mark.slow
def test_no_changed_byte_is_missed_and_reading_goes_on_behind_it(tmp_path: Path) -> None:
    for before, line, after in windows(tmp_path):
        first, own, last = read_records_from(before + line + after, NO_BLOBS)
        content = bytearray(line)
        for at, byte in enumerate(line):
            for value in changes(byte):
                content[at] = value
                read = list(read_records_from(before + bytes(content) + after, NO_BLOBS))
                # an overwritten newline damages no event: both are found in the joined line
                wanted = [first, own, last] if byte == 0x0A else [first, last]
                assert read == wanted, (at, value)
            content[at] = byte


def flip(path: Path, line: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b"message", b"massage", 1)
    path.write_bytes(b"".join(lines))


def seqs(found: list[Record]) -> list[int]:
    return [record.seq for record in found]


def test_a_bad_line_in_the_middle_is_stepped_over_and_reported_once(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", [f"message {number}" for number in range(6)])
    flip(path, 3)
    sessions = store(tmp_path)
    assert seqs(sessions.read("s1")) == [0, 1, 3, 4, 5]
    log = sessions.open("s1")
    assert log.repair is not None
    assert log.repair.bad_lines == (3,)
    assert log.repair.moved_bytes == 0
    assert log.append(log.repair).seq == 6
    log.close()
    assert sessions.open("s1").repair is None


def test_a_run_of_nul_bytes_costs_only_what_it_covers(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", [f"message {number}" for number in range(6)])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\x00" * 4_096
    path.write_bytes(b"".join(lines))
    assert seqs(store(tmp_path).read("s1")) == [0, 1, 3, 4, 5]
    path.write_bytes(b"".join(lines[:2]) + b"\x00" * 4_096)
    log = store(tmp_path).open("s1")
    assert log.last_seq == 1
    assert log.repair is not None
    assert log.repair.moved_bytes == 4_096


def foreign(body: bytes) -> bytes:
    return seal_line(body[:-1])


def test_a_log_from_the_future_still_loads(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["message 0"])
    head = b'{"v":%d,"seq":%d,"time":1.0,"session":"s1","agent":"main","parent":0,"cause":null,"payload":%b}'
    path.write_bytes(
        path.read_bytes()
        + foreign(head % (2, 1, b'{"kind":"dream.dreamt","depth":3}'))
        + foreign(head % (3, 2, b'{"kind":"user.message","text":"hi"}'))
        + foreign(head % (2, 3, b'{"kind":"user.message","text":"hi","mood":"new field"}'))
        + foreign(head % (2, 4, b'{"kind":"user.message"}'))
        + foreign(b'{"v":4,"new":true,"seq":5,"parent":4,"payload":{"kind":"x"}}')
    )
    found = store(tmp_path).read("s1")
    assert seqs(found) == [0, 1, 2, 3, 4, 5]
    assert [type(record) for record in found] == [
        Envelope,
        UnknownEvent,
        UnknownEvent,
        Envelope,
        UnknownEvent,
        UnknownEvent,
    ]
    assert isinstance(found[1], UnknownEvent)
    assert found[1].kind == "dream.dreamt"


def test_events_of_unknown_kinds_keep_nothing_from_being_written_behind_them(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["message 0"])
    head = b'{"v":2,"seq":%d,"time":1.0,"session":"s1","agent":"main","parent":0,"cause":null,"payload":%b}'
    new = [foreign(head % (seq, b'{"kind":"dream.dreamt","depth":3}')) for seq in (1, 2, 3)]
    path.write_bytes(path.read_bytes() + b"".join(new))
    assert describe_damage(path.parent, store(tmp_path).read("s1")) == [
        "The log contains 3 events of a kind that this version of tui-agent does not know."
    ]
    assert store(tmp_path).open("s1").append(said("on")).seq == 4


def rewrite_version(path: Path, version: int) -> bytes:
    """Write a log again as another version of the product would have: each line with the right checksum."""
    lines = path.read_bytes().splitlines()
    data = b"".join(
        seal_line(line[: -len(b',"crc":"00000000"}')].replace(b'{"v":2', b'{"v":%d' % version))
        for line in lines
    )
    path.write_bytes(data)
    return data


@pytest.mark.parametrize("version", [1, 99], ids=["earlier", "later"])
def test_a_log_of_another_version_is_listed_and_never_written(tmp_path: Path, version: int) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1")
    log.append(SessionStarted(workspace="/work/x", product="p", settings=SETTINGS, title="later"))
    log.append(said("hello"))
    log.close()
    path = log.folder / "events.jsonl"
    before = rewrite_version(path, version)
    torn = before + b'{"v":%d,' % version
    path.write_bytes(torn)
    (found,) = sessions.list("/work/x")
    assert (found.is_other_version, found.is_damaged, found.title, found.events) == (True, False, "later", 2)
    for use in (
        lambda: sessions.read("s1"),
        lambda: sessions.open("s1"),
        lambda: sessions.fork("s1", 1, "s2"),
        lambda: read_marks(log.folder),
        lambda: list(read_stored_lines(log.folder)),
        lambda: list(find_decisions(log.folder)),
    ):
        with pytest.raises(SessionVersionError, match=rf"log version {version}, this one reads 2\)\."):
            use()
    assert path.read_bytes() == torn
    assert sorted(each.name for each in log.folder.iterdir()) == ["blobs", "events.jsonl", "lock"]


@pytest.mark.parametrize("line", [b'{"v":3,"order":7,"payload":{}}', b'{"order":7,"v":3}'])
def test_a_newer_line_of_any_layout_is_no_torn_end(tmp_path: Path, line: bytes) -> None:
    path = write_log(tmp_path, "s1", ["message 0"])
    path.write_bytes(path.read_bytes() + foreign(line))
    before = path.read_bytes()
    with pytest.raises(SessionVersionError):
        store(tmp_path).open("s1")
    assert path.read_bytes() == before


def test_what_was_stepped_over_is_counted_and_placed(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", [f"message {number}" for number in range(20)])
    flip(path, 3)
    sessions = store(tmp_path)
    assert describe_damage(path.parent, sessions.read("s1")) == [
        "1 damaged line was skipped in the log: line 3."
    ]
    sessions.fork("s1", 18, "s2")
    for number in range(5, 17):
        flip(path, number)
    assert describe_damage(sessions.folder("s2"), sessions.read("s2")) == [
        "13 damaged lines were skipped in the log of s1: lines 3, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 3 more."
    ]


def test_a_torn_end_that_nobody_could_report_is_reported_by_the_next_opening(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["message 0"])
    path.write_bytes(path.read_bytes() + b'{"v":2,"se')
    store(tmp_path).open("s1").close()  # which failed before it could say so
    log = store(tmp_path).open("s1")
    assert log.repair is not None
    assert (log.repair.moved_bytes, log.repair.side_file) == (10, "events.torn-1")
    log.append(log.repair)
    log.close()
    assert store(tmp_path).open("s1").repair is None


def test_an_end_that_was_copied_and_not_yet_cut_off_is_reported_once(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["message 0"])
    path.write_bytes(path.read_bytes() + b'{"v":2,"se')
    path.with_name("events.torn-1").write_bytes(b'{"v":2')
    log = store(tmp_path).open("s1")
    assert log.repair is not None
    assert (log.repair.moved_bytes, log.repair.side_file) == (10, "events.torn-1, events.torn-2")
    log.append(log.repair)
    log.close()
    assert store(tmp_path).open("s1").repair is None


@pytest.mark.parametrize(
    "junk", [b"null", b"[]", b"{}", b'{"v":2}', b"\xff\xfe", b'"', b'{"v":2,"seq":"x"}', b"9" * 5_000, b""]
)
def test_junk_with_a_right_checksum_is_no_event_and_no_end(tmp_path: Path, junk: bytes) -> None:
    path = write_log(tmp_path, "s1", ["message 0", "message 1"])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + seal_line(junk) + junk + b"\n" + second)
    assert seqs(store(tmp_path).read("s1")) == [0, 1]


def test_a_line_that_repeats_an_order_number_is_stepped_over(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["message 0", "message 1", "message 2"])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + lines[0] + lines[2])
    assert seqs(store(tmp_path).read("s1")) == [0, 1, 2]
