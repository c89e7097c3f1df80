"""`tui-agent compare`: two sessions, or branches, side by side on standard output."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tests.stubs.two_ways import FORK, MAIN, two_ways
from tui_agent.cli.compare import compare_named, show, table
from tui_agent.cli.main import main
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.wiring.startup_context import load_startup_context

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["compare", *words, "--data-dir", str(tmp_path)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_two_columns_tell_what_each_came_to(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    status, out, err = call(MAIN, FORK)
    assert (status, err) == (0, "")
    rows = {line[:17].strip(): line[17:] for line in out.splitlines()}
    assert out.startswith('What if: both start at event 8, after "Cause: Entry.duration ignores the date')
    assert rows["Outcome"].split("  ")[0] == "done, 32 tests pass"
    assert rows["Outcome"].endswith("2 tests fail, turn finished")
    assert rows["Time"].split() == ["24", "s", "1", "min", "14", "s,", "3.1", "times"]
    assert rows["Cost"].split() == ["$0.031", "$0.000,", "local", "model"]
    assert rows["Iterations"].split() == ["3", "9,", "6", "more"]
    assert rows["Tokens in / out"].split() == ["121k", "/", "1.4k", "254k", "/", "2.9k,", "2.1", "times"]
    assert rows["Asked you"].split() == ["2", "times", "3", "times,", "1", "denied"]
    assert rows["Files"].split() == ["3", "+20", "-2", "2", "+9", "-3"]
    assert "+            end += timedelta(days=1)" in out
    assert "not changed" in out
    assert "Durations are now always positive." in out


def test_json_is_one_object_with_everything(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    status, out, _ = call(MAIN, FORK, "--json")
    (line,) = out.splitlines()
    found = json.loads(line)
    assert status == 0
    assert found["fork_point"]["seq"] == 8
    assert found["right"]["outcome"] == {"state": "failed", "label": "2 tests fail, turn finished"}
    assert found["right"]["changed"] == {"model": "qwen3-coder:30b"}
    assert found["differences"][0]["path"] == "src/timesheet/entry.py"
    assert {"at_ms", "kind", "seq"} <= found["left"]["timeline"][0].keys()


def test_alone_a_fork_stands_right_of_its_parent(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    _, out, _ = call(FORK, "--json")
    found = json.loads(out)
    assert (found["left"]["session"], found["right"]["session"]) == (MAIN, FORK)


def test_alone_a_session_is_compared_with_its_newest_fork(call: Call, tmp_path: Path) -> None:
    sessions, at = two_ways(tmp_path)
    sessions.fork(MAIN, at, "ses_aaaanewest")
    _, out, _ = call(MAIN, "--json")
    assert json.loads(out)["right"]["session"] == "ses_aaaanewest"


def test_alone_a_session_without_forks_says_what_to_do(call: Call, tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_alone")
    log.append(said("hello"))
    log.close()
    status, _, err = call("ses_alone")
    assert status == 2
    assert "ses_alone is not a fork and has no forks" in err


def test_branches_of_one_session_are_named_by_their_last_event(call: Call, tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_tree")
    for text in ("one", "two", "three"):
        log.append(said(text))
    log.append(SessionHeadMoved(to_seq=1, from_seq=2, reason="branch"))
    log.append(said("other"))
    log.close()
    _, out, _ = call("ses_tree@2", "ses_tree", "--json")
    found = json.loads(out)
    assert found["fork_point"] == {"seq": 1, "after": "two"}
    assert (found["left"]["last_seq"], found["right"]["last_seq"]) == (2, 4)


def test_an_event_that_is_not_there_is_refused(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    status, _, err = call(f"{MAIN}@9999", FORK)
    assert status == 2
    assert "has no event 9999" in err


def test_markdown_goes_to_a_new_file_in_the_documents(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    (tmp_path / "home" / "Documents").mkdir(parents=True)
    _, out, _ = call(MAIN, FORK, "--markdown", "--json")
    first = Path(json.loads(out)["path"])
    assert first.parent == tmp_path / "home" / "Documents"
    assert first.read_text("utf-8").startswith("# night-shift-hours: comparison\n")
    _, out, _ = call(MAIN, FORK, "--markdown")
    assert Path(out.strip()) != first


def test_markdown_holds_what_others_said_as_text(call: Call, tmp_path: Path) -> None:
    two_ways(tmp_path)
    _, out, _ = call(MAIN, FORK, "--markdown", "-o", "-")
    assert "| Outcome | done, 32 tests pass | 2 tests fail, turn finished |" in out
    assert "```diff\n" in out
    assert "> week 13 shows +32.5 h" in out


def test_a_file_without_markdown_is_refused(call: Call) -> None:
    status, _, err = call(MAIN, FORK, "-o", "x.md")
    assert status == 2
    assert "--markdown" in err


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_longer_than_the_terminal_and_nothing_is_cut(tmp_path: Path, width: int) -> None:
    sessions, _ = two_ways(tmp_path)
    compared = compare_named(sessions, MAIN, FORK)
    lines = list(table(compared, width))
    assert max(map(len, lines)) <= width
    flat = " ".join(" ".join(lines).split())
    for word in ("timedelta(days=1)", "claude-sonnet-4-5", "run_tests", "+32.5"):
        assert word in flat


def test_what_if_prints_the_comparison_of_two_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_ways(tmp_path)
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path)
    show(compare_named(load_startup_context(options).store, MAIN, FORK), as_json=True)
    assert json.loads(capsys.readouterr().out)["left"]["session"] == MAIN
