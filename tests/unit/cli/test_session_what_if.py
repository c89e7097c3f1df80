"""`sessions what-if`: a fork with one thing different runs on by itself, and is held against its original."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_session_fork import Call, files, log, made, seq_of, tmp_path, two_turns, work

__all__ = ["tmp_path", "two_turns", "work"]


def what_if(call: Call, tmp_path: Path, at: int, *words: str) -> tuple[int, str, str]:
    return call("sessions", "what-if", "ses_a", "--at", str(at), *words)


def test_it_runs_on_in_a_folder_of_its_own_and_both_stand_side_by_side(
    call: Call, tmp_path: Path, work: Path
) -> None:
    before = files(work)
    at = seq_of(tmp_path, "tool.finished", name="read_file")
    other = ("--model", f"scripted:{tmp_path / 'other.yaml'}")
    status, out, err = what_if(call, tmp_path, at, *other, "--json")
    assert status == 0, "only some calls of the last answer were denied"
    assert "denied" in err and "no one is there to answer" in err
    compared = json.loads(out)
    assert compared["fork_point"]["seq"] == at
    left, right = compared["left"], compared["right"]
    assert (left["session"], left["answer"], right["answer"]) == ("ses_a", "Hello.", "Done otherwise.")
    assert {file["path"] for file in right["files"]} == {"other.txt"}
    assert files(work) == before
    own = tmp_path / "sessions" / right["session"] / "workspace"
    assert files(own) == {"a.txt": "as found\n", "new.txt": "one\n", "other.txt": "three\n"}
    assert call("sessions", "verify", right["session"])[0] == 0
    kinds = [event["payload"]["kind"] for event in log(tmp_path, right["session"])]
    assert kinds.count("user.message") == 1, "it went on without a message"


@pytest.mark.slow
def test_the_comparison_is_what_compare_prints(call: Call, tmp_path: Path) -> None:
    at = seq_of(tmp_path, "tool.finished", name="read_file")
    _, out, err = what_if(call, tmp_path, at, "--result", "nothing in it")
    fork = err.split()[0]
    assert "another tool result" in err
    assert call("compare", "ses_a", fork)[1] == out


@pytest.mark.slow
def test_a_folder_that_is_named_is_the_one_it_works_in(call: Call, tmp_path: Path) -> None:
    at = seq_of(tmp_path, "tool.finished", name="read_file")
    status, out, _ = what_if(call, tmp_path, at, "--result", "x", "--folder", "../try", "--json")
    assert status == 0
    assert files(tmp_path / "try")["more.txt"] == "two\n"
    fork = tmp_path / "sessions" / json.loads(out)["right"]["session"]
    assert not (fork / "workspace").exists()
    again = call("sessions", "what-if", "ses_a", "--at", str(at), "--result", "x", "--folder", "../try")
    assert (again[0], "is not empty" in again[2]) == (1, True)


@pytest.mark.parametrize(
    "words", [(), ("--result", "x", "--context-mode", "none"), ("--folder", "../try")], ids=str
)
def test_one_thing_is_different(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    at = seq_of(tmp_path, "tool.finished", name="read_file")
    status, _, err = what_if(call, tmp_path, at, *words)
    assert (status, "needs exactly one change" in err) == (2, True)
    assert len(list((tmp_path / "sessions").glob("ses_*"))) == 1


@pytest.mark.slow
def test_where_nothing_is_to_be_answered_nothing_is_made(call: Call, tmp_path: Path) -> None:
    ended = seq_of(tmp_path, "turn.finished")
    status, _, err = what_if(call, tmp_path, ended, "--context-mode", "none")
    assert (status, "there is nothing to continue" in err) == (2, True)
    assert len(list((tmp_path / "sessions").glob("ses_*"))) == 1
    status, out, _ = what_if(call, tmp_path, ended, "--message", "and now?", "--json")
    assert (status, json.loads(out)["right"]["answer"]) == (0, "Hello.")


@pytest.mark.slow
def test_a_fork_of_its_own_folder_goes_with_its_session(call: Call, tmp_path: Path) -> None:
    at = seq_of(tmp_path, "tool.finished", name="read_file")
    one = made(what_if(call, tmp_path, at, "--result", "x", "--json"))
    fork = one["right"]["session"]
    assert call("sessions", "rm", fork, "--yes")[0] == 0
    assert not (tmp_path / "sessions" / fork).exists()
