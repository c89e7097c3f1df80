"""What `verify_session` says of logs that another version wrote."""

import json
from pathlib import Path

import pytest

from tests.stubs.processes import processes, write_many
from tests.stubs.store import store, write_log
from tui_agent.errors import SessionVersionError
from tui_agent.protocol.envelope import SCHEMA_VERSION
from tui_agent.store.damage_report import verify_session
from tui_agent.store.log_line import seal_line


def of_a_newer_version(path: Path, line: int) -> None:
    """Let one line of a log be one that a newer version wrote."""
    lines = path.read_bytes().splitlines(keepends=True)
    event = json.loads(lines[line])
    del event["crc"]
    lines[line] = seal_line(
        json.dumps({**event, "v": SCHEMA_VERSION + 1}, separators=(",", ":")).encode()[:-1]
    )
    path.write_bytes(b"".join(lines))


def test_events_of_a_newer_version_are_told(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["one", "two", "three"])
    assert verify_session(path.parent) == []
    of_a_newer_version(path, 1)
    (told,) = verify_session(path.parent)
    assert "1 event was written by another version" in told and f"version {SCHEMA_VERSION + 1}" in told


@pytest.mark.parametrize(("line", "count"), [(0, 1), (2, 0)])
def test_a_fork_tells_of_those_that_it_took_over_and_of_no_others(
    tmp_path: Path, line: int, count: int
) -> None:
    path = write_log(tmp_path, "s1", ["one", "two", "three"])
    sessions = store(tmp_path)
    sessions.fork("s1", 1, "child")
    of_a_newer_version(path, line)
    told = verify_session(sessions.folder("child"))
    assert len([each for each in told if "another version" in each]) == count, told
    with pytest.raises(SessionVersionError):
        sessions.fork("s1", 1, "another")


@pytest.mark.slow
def test_a_log_that_is_written_meanwhile_is_whole(tmp_path: Path) -> None:
    path = write_log(tmp_path, "s1", ["one"])
    writer = processes().Process(target=write_many, args=(tmp_path, 3_000))
    writer.start()
    looked = 0
    while writer.is_alive():
        assert verify_session(path.parent) == []
        looked += 1
    writer.join()
    assert looked and verify_session(path.parent) == []
