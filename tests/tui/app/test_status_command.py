"""The user's `[status] command`: its output in the status line, and what goes wrong with it."""

import os
from pathlib import Path

import pytest

from tests.tui.app.driving import open_app
from tests.tui.app.test_header import in_folder
from tui_agent.config.project.trust_effects import refusal_of_settings
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.controller import status_command


def configured(home: Path, command: str) -> dict[str, str]:
    """An environment with this command in the user's config.toml."""
    (home / "tui-agent").mkdir(exist_ok=True)
    (home / "tui-agent" / "config.toml").write_text(f"[status]\ncommand = '''{command}'''\n")
    return {"XDG_CONFIG_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}


async def test_the_commands_first_line_is_in_the_status_line_and_follows_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_command, "PAUSE_S", 0.01)
    command = (
        r"""sed -n 's/.*"model": "\([^"]*\)".*"turn": \([0-9]*\).*/\x1b[31m\1\x1b[0m at \2/p'; echo second"""
    )
    session = in_folder(tmp_path)
    async with open_app(session=session, environ=configured(tmp_path, command)) as driven:
        model = driven.app.controller.state.settings.model.model  # type: ignore[union-attr]
        await driven.until(lambda: f"{model} at {driven.app.controller.state.turn}" in driven.text())  # type: ignore[union-attr]
        assert "second" not in driven.text()
        assert "[policy]" not in driven.text(), "it takes the pipeline's place"
        session.feed(TurnStarted(turn=7))
        await driven.settle()
        await driven.until(lambda: f"{model} at 7" in driven.text())


async def test_a_command_that_fails_or_does_not_end_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_command, "TIME_LIMIT_S", 0.2)
    environ = configured(tmp_path, "echo $$ > pid; sleep 600")
    async with open_app(session=in_folder(tmp_path), environ=environ) as driven:
        await driven.until(lambda: "[status] command: stopped after" in driven.text())
        assert "[policy]" in driven.text(), "the pipeline is there without an output"
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)
    assert await status_command.run_status_command("exit 3", "{}", tmp_path, os.environ) == (
        "",
        "exit status 3",
    )


def test_a_project_cannot_set_it() -> None:
    assert "cannot set [status]" in refusal_of_settings({"status": {"command": "id"}})
