"""A report is written on the user's word only, to the data folder, for the user alone, and holds no secret."""

import json
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.cli.main import main
from tui_agent.config.paths import screen_error_log
from tui_agent.protocol.events.session import ErrorRaised

ISSUED = "".join(("gh", "p_", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7J"))
VALUE = "canary-Zq8w+Xv/71Lk"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MY_LOGIN_TOKEN", VALUE)
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(work)
    return tmp_path


def test_it_tells_kinds_and_faults_and_no_secret_and_no_prompt(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(home / "data").create("ses_000000000001")
    log.append(said("a private prompt"))
    detail = f"Traceback\n  File x\nRuntimeError: {VALUE}" + "\n  more" * 3_000 + "\nthe end"
    log.append(ErrorRaised(where="turn", message=f"RuntimeError: {ISSUED}", detail=detail))
    log.close()
    assert main(["bug", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    path = Path(row["path"])
    text = path.read_text()
    assert path.parent == home / "data" / "reports" and path.stat().st_mode & 0o777 == 0o600
    assert list((home / "work").iterdir()) == []
    assert "- ok: version: tui-agent" in text and "error.raised: RuntimeError: [redacted: " in text
    assert "user.message" in text and "the end" in text
    assert [one for one in (ISSUED, VALUE, "private prompt", str(home)) if one in text] == []


def test_the_app_that_asks_says_itself_what_its_terminal_is(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bug", "--terminal", "ok: terminal: 80×24"]) == 0
    text = Path(capsys.readouterr().out.splitlines()[0]).read_text()
    assert "- ok: terminal: 80×24\n" in text and "This is not a terminal" not in text


@pytest.mark.slow
def test_without_a_session_it_still_tells_what_works(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bug"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "No session is recorded here." in Path(first).read_text()
    assert second == "Read the report before you share it. Nothing was sent."


def test_a_crash_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bug", "ses_nowhere"]) != 0
    assert not (home / "data" / "reports").exists()
    assert capsys.readouterr().err.startswith("tui-agent: No session begins with")


@pytest.mark.slow
def test_a_fault_of_any_length_leaves_a_report_that_can_be_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(home / "data").create("ses_000000000001")
    for number in range(8):
        detail = f"Traceback {number}\n" + f"  x = '{'y' * 4_000}'\n" * 500 + f"ValueError: {VALUE} the end"
        log.append(ErrorRaised(where="turn", message="ValueError: " + "z" * 20_000, detail=detail))
    log.close()
    assert main(["bug"]) == 0
    text = Path(capsys.readouterr().out.splitlines()[0]).read_text()
    assert len(text) < 200_000 and VALUE not in text
    assert text.count("the end") == 5 and "Traceback 7" in text and "characters left out" in text
    assert "error.raised: ValueError: " in text


@pytest.mark.slow
def test_what_a_fault_says_steers_no_terminal_and_hides_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(home / "data").create("ses_000000000001")
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2Jgone\u202etxt.exe\x9b31m"
    log.append(ErrorRaised(where="turn", message=f"E: {evil}", hint=evil, detail=f"Traceback\n{evil}"))
    log.close()
    assert main(["bug"]) == 0
    text = Path(capsys.readouterr().out.splitlines()[0]).read_text()
    assert "gone" in text
    assert [one for one in text if one != "\n" and not one.isprintable()] == []


@pytest.mark.slow
def test_what_broke_on_the_screen_of_that_session_is_told(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(home / "data").create("ses_000000000001")
    log.append(said("a prompt"))
    log.close()
    written = screen_error_log(home / "data")
    written.parent.mkdir()
    told = [
        f"2026-01-01T00:00:0{n}+0000 ses_000000000001 the chat\nKeyError: 'map' {n}\n\n" for n in range(7)
    ]
    other = "2026-01-01T00:00:09+0000 ses_000000000002 the chat\nKeyError: 'other'\n\n"
    written.write_text("".join([*told, other]))
    assert main(["bug"]) == 0
    text = Path(capsys.readouterr().out.splitlines()[0]).read_text()
    assert "## Newest errors of the app's screen" in text and "    KeyError: 'map' 6\n" in text
    assert text.count("KeyError") == 5 and "'other'" not in text
