"""A session whose workspace was moved or is gone goes on in the folder that is named."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_session_fork import Call, files, log, made, seq_of, tmp_path, two_turns, work

__all__ = ["tmp_path", "two_turns", "work"]


def moves(tmp_path: Path, session: str = "ses_a") -> list[tuple[str, str]]:
    return [
        (one["payload"]["previous"], one["payload"]["workspace"])
        for one in log(tmp_path, session)
        if one["payload"]["kind"] == "session.workspace_moved"
    ]


@pytest.mark.slow
def test_files_go_back_in_the_new_folder_and_the_session_is_listed_there(
    call: Call, tmp_path: Path, work: Path
) -> None:
    moved = work.rename(tmp_path / "moved")
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    before = log(tmp_path)
    for words in (("run", "hi", "--session", "ses_a"), ("sessions", "revert", "ses_a", "--to", at)):
        status, _, err = call(*words)
        assert (status, f"{work} was not found" in err, "-C DIR" in err) == (2, True, True)
    assert log(tmp_path) == before
    one = made(call("sessions", "revert", "ses_a", "--to", at, "-C", str(moved), "--json"))
    assert (one["restored"], one["kept"]) == (["more.txt"], [])
    assert files(moved) == {"a.txt": "as found\n", "new.txt": "one\n"}
    assert moves(tmp_path) == [(str(work), str(moved)), (str(work), str(moved))], (
        "going back keeps the folder"
    )
    assert call("run", "--go-on", "--session", "ses_a", "--max-iterations", "1")[0] in (0, 3)
    assert len(moves(tmp_path)) == 2, "told once"
    (row,) = [
        json.loads(line) for line in call("sessions", "list", "-C", str(moved), "--json")[1].splitlines()
    ]
    assert (row["id"], row["workspace"]) == ("ses_a", str(moved))
    end = str(log(tmp_path)[-1]["seq"])
    fork = made(call("sessions", "fork", "ses_a", "--at", end, "--here", "--json", "-C", str(moved)))
    rows = [json.loads(line) for line in call("sessions", "list", "-C", str(moved), "--json")[1].splitlines()]
    assert {one["id"]: one["workspace"] for one in rows} == {"ses_a": str(moved), fork["id"]: str(moved)}


@pytest.mark.slow
def test_a_folder_that_is_there_is_kept_whatever_is_named(call: Call, tmp_path: Path, work: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    made(call("sessions", "revert", "ses_a", "--to", at, "-C", str(other), "--json"))
    assert moves(tmp_path) == []
    assert files(work) == {"a.txt": "as found\n", "new.txt": "one\n"}
    assert files(other) == {}


@pytest.mark.slow
def test_a_fork_that_goes_back_before_its_beginning_stays_in_its_folder(
    call: Call, tmp_path: Path, work: Path
) -> None:
    at = seq_of(tmp_path, "turn.finished")
    fork = made(call("sessions", "fork", "ses_a", "--at", str(at), "--folder", "../try", "--json"))["id"]
    first = str(seq_of(tmp_path, "checkpoint.taken"))
    before = files(work)
    one = made(call("sessions", "revert", fork, "--to", first, "--json"))
    assert one["restored"] == ["more.txt", "new.txt"]
    assert files(tmp_path / "try") == {"a.txt": "as found\n"}
    call("run", "again", "--session", fork)
    assert files(work) == before, "both never write into one folder"
    assert moves(tmp_path, fork) == [(str(work), str(tmp_path / "try"))]


@pytest.mark.slow
def test_an_archive_says_that_its_folder_is_not_there_and_how_to_open_it(
    call: Call, tmp_path: Path, work: Path
) -> None:
    archive = tmp_path / "a.tar.gz"
    assert call("sessions", "export", "ses_a", "--format", "archive", "-o", str(archive))[0] == 0
    _, out, _ = call("sessions", "import", str(archive))
    assert f"The session's workspace is {work}. To open the session" in out
    moved = work.rename(tmp_path / "moved")
    _, out, _ = call("sessions", "import", str(archive))
    assert f"The session's workspace {work} was not found" in out
    assert "-C DIR" in out
    one = made(call("sessions", "import", str(archive), "--json"))
    assert (one["workspace"], one["workspace_there"]) == (str(work), False)
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    back = made(call("sessions", "revert", one["session"], "--to", at, "-C", str(moved), "--json"))
    assert back["restored"] == ["more.txt"]
    assert files(moved) == {"a.txt": "as found\n", "new.txt": "one\n"}
