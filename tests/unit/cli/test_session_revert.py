"""`sessions revert`: the plan, what was done, and what is left alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_session_fork import Call, files, log, made, seq_of, tmp_path, two_turns, work
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

__all__ = ["tmp_path", "two_turns", "work"]
FIRST = {"a.txt": "as found\n", "new.txt": "one\n"}
BOTH = {**FIRST, "more.txt": "two\n"}


def revert(call: Call, *words: str) -> tuple[int, str, str]:
    return call("sessions", "revert", "ses_a", *words)


def standing(tmp_path: Path) -> list[str]:
    """The messages on the present branch."""
    moved = [one for one in log(tmp_path) if one["payload"]["kind"] == "session.head_moved"]
    return [one["payload"]["reason"] for one in moved]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_preview_says_what_would_happen_to_which_file_and_changes_nothing(
    call: Call, tmp_path: Path, work: Path
) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    status, out, _ = revert(call, "--to", at, "--preview")
    assert (status, [line.split() for line in out.splitlines()][1]) == (
        0,
        ["more.txt", "deleted", "-1"],
    )
    assert files(work) == BOTH
    status, out, _ = revert(call, "--to", str(seq_of(tmp_path, "turn.finished")), "--preview")
    assert (status, out) == (0, "No file would change.\n")


@pytest.mark.slow
def test_a_preview_writes_nothing_and_needs_nobody_to_let_go_of_the_session(
    call: Call, tmp_path: Path, work: Path
) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    (work / "a.txt").write_text("by hand\n")
    sessions = tmp_path / "sessions"
    held = SessionStore(sessions, SystemClock(), Redactor()).open("ses_a")
    before = contents(sessions / "ses_a")
    try:
        plan = made(revert(call, "--to", at, "--preview", "--json"))
    finally:
        after = contents(sessions / "ses_a")
        held.close()
    assert [one["path"] for one in plan["acts"]] == ["more.txt"]
    assert after == before
    assert files(work) == {**BOTH, "a.txt": "by hand\n"}


def test_both_go_back_and_come_forward_again(call: Call, tmp_path: Path, work: Path) -> None:
    at, end = seq_of(tmp_path, "checkpoint.taken", 2), log(tmp_path)[-1]["seq"]
    status, out, _ = revert(call, "--to", str(at))
    assert status == 0
    assert f"The conversation is now at event {at};" in out
    assert "1 file removed.\n  more.txt" in out
    assert files(work) == FIRST
    one = made(revert(call, "--to", str(end), "--json"))
    assert (one["reason"], one["restored"], one["kept"]) == ("branch", ["more.txt"], [])
    assert files(work) == BOTH
    settings = [one for one in log(tmp_path)[end:] if one["payload"]["kind"] == "settings.changed"]
    assert settings == [], "none of the session's limits changed"


def test_no_model_is_needed_and_the_session_keeps_its_own(call: Call, tmp_path: Path, work: Path) -> None:
    config = tmp_path / "home" / ".config" / "tui-agent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'model = "mock"\ninvestigator_profile = "mock"\n'
        '[models.mock]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MOCK_KEY"\n'
    )
    at, end = seq_of(tmp_path, "checkpoint.taken", 2), log(tmp_path)[-1]["seq"]
    status, _, err = revert(call, "--to", str(at))
    assert (status, err) == (0, "")
    assert files(work) == FIRST
    assert [one for one in log(tmp_path)[end:] if one["payload"]["kind"] == "settings.changed"] == []


@pytest.mark.slow
def test_one_of_them_alone(call: Call, tmp_path: Path, work: Path) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    revert(call, "--to", at, "--conversation")
    assert (files(work), standing(tmp_path)) == (BOTH, ["revert"])
    end = str(seq_of(tmp_path, "turn.finished", 2))
    revert(call, "--to", end, "--conversation")
    revert(call, "--to", at, "--files")
    assert (files(work), standing(tmp_path)) == (FIRST, ["revert", "branch", "files"])


@pytest.mark.slow
def test_what_someone_else_changed_asks_first_and_is_put_back_where_it_is_named(
    call: Call, tmp_path: Path, work: Path
) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    (work / "more.txt").write_text("mine\n")
    before = len(log(tmp_path))
    status, out, err = revert(call, "--to", at, "--files")
    assert (status, out) == (4, "")
    assert "also changed these files: more.txt" in err
    assert files(work)["more.txt"] == "mine\n"
    kinds = [one["payload"]["kind"] for one in log(tmp_path)[before:]]
    assert "checkpoint.restore_started" not in kinds
    one = made(revert(call, "--to", at, "--files", "--overwrite", "more.txt", "--json"))
    assert one["restored"] == ["more.txt"]
    assert files(work) == FIRST


@pytest.mark.slow_variants
@pytest.mark.parametrize("spelt", ["./more.txt", "sub/../more.txt", "{work}/more.txt"])
def test_a_file_may_be_named_in_any_way(call: Call, tmp_path: Path, work: Path, spelt: str) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    (work / "more.txt").write_text("mine\n")
    one = made(
        revert(call, "--to", at, "--files", "--overwrite", spelt.replace("{work}", str(work)), "--json")
    )
    assert (one["restored"], one["kept"]) == (["more.txt"], [])
    assert files(work) == FIRST


def test_a_name_at_which_nothing_is_to_be_put_back_is_told(call: Call, tmp_path: Path, work: Path) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken", 2))
    status, out, err = revert(call, "--to", at, "--files", "--overwrite", "mroe.txt")
    assert (status, files(work)) == (0, FIRST)
    assert "1 file removed" in out
    assert "There is no change to restore in mroe.txt." in err


@pytest.mark.slow
def test_with_the_conversation_they_are_left_alone_and_named(call: Call, tmp_path: Path, work: Path) -> None:
    at = str(seq_of(tmp_path, "checkpoint.taken"))
    (work / "more.txt").write_text("mine\n")
    status, out, _ = revert(call, "--to", at)
    assert status == 0
    left: dict[str, Any] = files(work)
    assert left == {"a.txt": "as found\n", "more.txt": "mine\n"}
    assert "Kept, because you or another session also changed them" in out
    assert out.endswith("  more.txt\n")


def test_an_event_that_is_not_there_opens_nothing(call: Call, tmp_path: Path) -> None:
    before = log(tmp_path)
    status, out, err = revert(call, "--to", "9999")
    assert (status, out, "Event 9999 not found in ses_a" in err) == (2, "", True)
    assert log(tmp_path) == before
    for both in (("--files", "--conversation"), ()):
        assert call("sessions", "revert", "ses_a", *both)[0] == 2


def test_where_no_checkpoint_was_taken_the_conversation_goes_back_alone(
    call: Call, tmp_path: Path, work: Path
) -> None:
    talk = tmp_path / "talk.yaml"
    talk.write_text("answers:\n  - text: Hello.\n")
    away = tmp_path / "home" / "away"
    away.mkdir(parents=True)
    words = ("-m", f"scripted:{talk}", "--session", "ses_home", "-C", str(tmp_path / "home"))
    assert call("run", "hi", *words)[0] == 0
    status, out, _ = call("sessions", "revert", "ses_home", "--to", "5")
    assert (status, "The files were not changed" in out) == (0, True)
    status, _, err = call("sessions", "revert", "ses_home", "--to", "5", "--files")
    assert (status, "home folder" in err) == (1, True), json.dumps(err)
