"""A fold that is kept beside its log: used where it fits to the byte, else not there at all."""

from pathlib import Path

import pytest

from tests.stubs.faulty_files import FaultyFiles
from tests.stubs.store import said, store
from tui_agent.errors import SessionVersionError, StoreError
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.store.file_ops import FileOps
from tui_agent.store.fold_cache import CACHE_FILE, load_fold, load_survey, read_records_after, save_fold
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_reader import read_records
from tui_agent.store.log_scan import EMPTY_SURVEY
from tui_agent.store.session_log import SessionLog

FORMAT = 7


def _kept_log(tmp_path: Path, before: int = 20, behind: int = 5) -> SessionLog:
    """A log with a fold behind its first events, still open."""
    log = store(tmp_path).create("ses_kept")
    for number in range(before):
        log.append(said(f"message {number}"))
    place = log.place
    assert place is not None
    save_fold(log.folder, place, FORMAT, b'{"kept": "data"}', log.ops)
    for number in range(before, before + behind):
        log.append(said(f"message {number}"))
    return log


def test_what_was_kept_is_found_with_the_records_behind_it(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    found = load_fold(log.folder, FORMAT)
    assert found is not None and found[1] == b'{"kept": "data"}' and found[0].seq == 19
    behind = read_records_after(log.folder, found[0], (log.folder / "events.jsonl").stat().st_size)
    assert behind is not None and list(behind) == read_records(log.folder)[20:]
    assert (log.folder / CACHE_FILE).stat().st_mode & 0o777 == 0o600


def test_the_next_opening_reads_on_from_there_and_counts_lines_as_before(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    log.close()
    path = log.folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[22] = b"X" + lines[22][1:]  # behind what is kept
    path.write_bytes(b"".join(lines) + b'{"v":2,"seq":25,"torn')
    again = store(tmp_path).open("ses_kept")
    assert again.repair is not None
    assert again.repair.bad_lines == (23,) and again.repair.moved_bytes == 21
    event = again.append(said("next"))
    assert event.seq == 25 and again.place is not None and again.place.lines == 26
    assert len(path.read_bytes().splitlines()) == 26
    again.close()


def test_damage_before_it_is_stepped_over_by_whoever_reads_it(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    log.close()
    path = log.folder / "events.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"message 3", b"message 8", 1))
    again = store(tmp_path).open("ses_kept")
    assert again.repair is None and again.last_seq == 24
    again.close()
    assert [record.seq for record in read_records(log.folder)] == [n for n in range(25) if n != 3]


@pytest.mark.parametrize("at", range(0, 360, 7))
def test_no_byte_of_it_may_be_another(tmp_path: Path, at: int) -> None:
    log = _kept_log(tmp_path)
    path = log.folder / CACHE_FILE
    data = bytearray(path.read_bytes())
    if at >= len(data):
        return
    data[at] ^= 0x15
    path.write_bytes(data)
    found = load_fold(log.folder, FORMAT)
    assert found is None or found[1] == b'{"kept": "data"}'
    log.close()
    assert store(tmp_path).open("ses_kept").last_seq == 24


@pytest.mark.parametrize("left", [0, 1, 40, 120])
def test_half_of_it_is_none(tmp_path: Path, left: int) -> None:
    log = _kept_log(tmp_path)
    path = log.folder / CACHE_FILE
    path.write_bytes(path.read_bytes()[:left])
    assert load_fold(log.folder, FORMAT) is None
    log.close()
    assert store(tmp_path).open("ses_kept").last_seq == 24


def test_it_is_none_for_another_log_another_format_and_a_shorter_log(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    log.close()
    assert load_fold(log.folder, FORMAT + 1) is None
    path = log.folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for data in (b"".join(lines[:19]), b"", b"".join([*lines[:19], lines[0], *lines[20:]])):
        path.write_bytes(data)
        assert load_fold(log.folder, FORMAT) is None and load_survey(log.folder) == EMPTY_SURVEY
    path.write_bytes(b"".join(lines))
    other = log.folder.with_name("ses_other")
    log.folder.rename(other)
    assert load_fold(other, FORMAT) is None and load_survey(other) == EMPTY_SURVEY


def test_it_is_none_where_the_head_was_moved_since(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    found = load_fold(log.folder, FORMAT)
    log.append(SessionHeadMoved(to_seq=3, from_seq=24, reason="revert"))
    assert (
        found is not None
        and read_records_after(log.folder, found[0], (log.folder / "events.jsonl").stat().st_size) is None
    )


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_full_disk_leaves_the_one_before_or_none_and_no_draft(tmp_path: Path, at: int) -> None:
    log = _kept_log(tmp_path)
    place = log.place
    assert place is not None
    before = (log.folder / CACHE_FILE).read_bytes()
    with pytest.raises(OSError, match="No space"):
        save_fold(log.folder, place, FORMAT, b"newer", FaultyFiles(at, "fail"))
    assert (log.folder / CACHE_FILE).read_bytes() == before
    save_fold(log.folder, place, FORMAT, b"newer", FileOps())
    found = load_fold(log.folder, FORMAT)
    assert found is not None and found[1] == b"newer" and found[0] == place


def test_a_newer_version_behind_it_is_still_refused(tmp_path: Path) -> None:
    log = _kept_log(tmp_path)
    log.close()
    from_now = (log.folder / "events.jsonl").read_bytes().splitlines()[-1]
    body = from_now[: -len(b',"crc":"00000000"}')].replace(b'{"v":2,"seq":24', b'{"v":9,"seq":25')
    with (log.folder / "events.jsonl").open("ab") as file:
        file.write(seal_line(body))
    with pytest.raises((SessionVersionError, StoreError)):
        store(tmp_path).open("ses_kept")
