"""What is asked of a recorded session from the command line: stretches, actions, states, traces by any name."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tui_agent.cli.main import main
from tui_agent.errors import TuiAgentError

Call = Callable[..., str]
GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the program in a home of its own; its standard output."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def run(*words: str) -> str:
        status = main([*words, "--data-dir", str(tmp_path / "data")])
        out, err = capsys.readouterr()
        if status:
            raise TuiAgentError(err)
        return out

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A recorded session's folder."""
    folder = tmp_path / "data" / "sessions" / "ses_night"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / "night_shift.jsonl", folder / "events.jsonl")
    return folder


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def seqs(found: Sequence[dict[str, Any]]) -> list[int]:
    return [each["seq"] for each in found]


def test_events_of_a_stretch(call: Call, log: Path) -> None:
    found = lines(call("sessions", "show", "latest", "--from", "5", "--to", "8", "--json"))
    assert seqs(found) == [5, 6, 7, 8]


def test_actions_and_observations_of_a_stretch(call: Call, log: Path) -> None:
    whole = lines(call("sessions", "show", "latest", "--actions", "--json"))
    first, last = whole[3]["seq"], whole[9]["seq"]
    part = lines(
        call("sessions", "show", "latest", "--actions", "--json", "--from", str(first), "--to", str(last))
    )
    assert seqs(part) == [seq for seq in seqs(whole) if first <= seq <= last]
    assert all("action" in each or each["answers"] is not None for each in whole)
    assert "Reading" in call("sessions", "show", "latest", "--actions")


def test_the_state_at_any_event(call: Call, log: Path) -> None:
    early = json.loads(call("sessions", "show", "latest", "--state", "--to", "2"))
    late = json.loads(call("sessions", "show", "latest", "--state"))
    assert (early["seq"], early["turn"], early["todo"]) == (2, 0, [])
    assert late["turn"] >= 1 and late["root_task"]


def test_a_trace_by_session_run_or_path(call: Call, log: Path, tmp_path: Path) -> None:
    run_id = next(
        event["payload"]["run_id"]
        for event in lines((log / "events.jsonl").read_text())
        if event["payload"]["kind"] == "run.started"
    )
    copied = tmp_path / "elsewhere"
    shutil.copytree(log, copied)
    told = [
        json.loads(call("trace", name, "--json"))["events"]
        for name in ("latest", "ses_ni", run_id, str(log), str(copied / "events.jsonl"))
    ]
    assert len(set(told)) == 1
    with pytest.raises(TuiAgentError, match="run_000000000000"):
        call("trace", "run_000000000000")


def test_a_dotenv_counts_once_its_folder_is_trusted_and_no_longer_once_it_changes(
    call: Call, tmp_path: Path
) -> None:
    dotenv = tmp_path / "work" / ".env"
    dotenv.write_text("TUI_AGENT_MODEL=demo\n")
    assert "is not used" in call("config", "show")
    assert ".env" in call("trust", "--yes")
    assert f"{dotenv} (TUI_AGENT_MODEL)" in call("config", "show")
    dotenv.write_text("TUI_AGENT_MODEL=demo:bugfix\n")
    assert "is not used" in call("config", "show")
    call("trust", "--yes")
    call("trust", "--forget")
    assert "is not used" in call("config", "show")


def test_the_dotenv_of_the_starting_folder_counts_beside_that_of_another_working_folder(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "work" / ".env").write_text("TUI_AGENT_MODEL=demo\nTUI_AGENT_THEME=day\n")
    (tmp_path / "other" / ".env").write_text("TUI_AGENT_THEME=contrast\n")
    for folder in ("work", "other"):
        call("trust", "--yes", str(tmp_path / folder))
    found = {
        each["key"]: each["value"]
        for each in lines(call("config", "show", "--json", "-C", str(tmp_path / "other")))
    }
    assert (found["model"], found["theme"]) == ("demo", "contrast")
