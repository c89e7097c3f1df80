"""A report is written on the user's word only, to the data folder, for the user alone, and holds no secret."""

import json
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.cli.main import main
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


def test_without_a_session_it_still_tells_what_works(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bug"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "No session is recorded here." in Path(first).read_text()
    assert second == "Read it before you pass it on. Nothing was sent."


def test_a_crash_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bug", "ses_nowhere"]) != 0
    assert not (home / "data" / "reports").exists()
    assert capsys.readouterr().err.startswith("tui-agent: No session begins with")
