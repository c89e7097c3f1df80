"""A folder that is only worked in: nothing of it is imported by the program's own processes."""

from pathlib import Path

import anyio
import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.session.headless_turn import run_turn
from tui_agent.session.remote_session import RemoteSession
from tui_agent.tui.cli_client import CommandLine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with modules named like ones that the program imports; each leaves a mark when it is run."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("pydantic", "anyio", "fractions", "json"):
        (work / f"{name}.py").write_text(
            f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\nraise ImportError({name!r})\n"
        )
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    return work


@pytest.mark.timeout(60)
async def test_the_engines_process_imports_nothing_from_the_folder(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("answers: [{text: Hello.}]\n")
    options = SessionOptions(cwd=folder, data_dir=tmp_path / "data", model=f"scripted:{script}")
    remote = RemoteSession.spawn(options)
    async with anyio.create_task_group() as group:
        group.start_soon(remote.serve)
        await remote.wait_until_open()
        outcome = await run_turn(remote, "hi", lambda record: None)
    assert outcome.answer == "Hello."
    assert not (tmp_path / "mark").exists()


@pytest.mark.timeout(60)
async def test_what_the_app_asks_the_command_line_imports_nothing_from_the_folder(
    folder: Path, tmp_path: Path
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    status, said = await CommandLine(SessionOptions(cwd=folder), environ)("sessions", "list")
    assert status == 0 and "No sessions" in said
    assert not (tmp_path / "mark").exists()
