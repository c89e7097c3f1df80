"""tui_agent.api: a Python program asks, reads events, runs slash commands and answers requests."""

import json
from pathlib import Path

import pytest

from tui_agent.api import open_session
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.events.policy import PermissionRequested


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    (tmp_path / "work").mkdir()
    answers = [
        {"calls": [{"write_file": {"path": "a.txt", "content": "hello"}}]},
        {"text": "Written."},
        {"text": "x" * 20_000},
    ]
    (tmp_path / "script.yaml").write_text(json.dumps({"answers": answers}))
    return f"scripted:{tmp_path / 'script.yaml'}"


async def test_ask_returns_the_answer_and_the_session_can_be_continued(tmp_path: Path, model: str) -> None:
    options = {"model": model, "policy": "accept-edits", "data_dir": tmp_path / "data"}
    async with open_session(tmp_path / "work", **options) as session:  # type: ignore[arg-type]
        assert await session.ask("Write it.") == "Written."
    assert (tmp_path / "work" / "a.txt").read_text() == "hello"
    async with open_session(tmp_path / "work", session=session.id, **options) as again:  # type: ignore[arg-type]
        assert await again.ask("And a long one.") == "x" * 20_000


async def test_a_program_answers_requests_itself(tmp_path: Path, model: str) -> None:
    async with open_session(
        tmp_path / "work", model=model, policy="ask", data_dir=tmp_path / "data", answers_requests=True
    ) as session:
        kinds = []
        async for event in session.run("Write it."):
            kinds.append(event.payload.kind)
            if isinstance(event.payload, PermissionRequested):
                session.submit(DecidePermission(request_id=event.payload.request_id, decision="allow"))
    assert "user.message" in kinds and "file.changed" in kinds and kinds[-1] == "turn.finished"
    assert (tmp_path / "work" / "a.txt").exists()


async def test_what_would_be_asked_is_denied_without_answers(tmp_path: Path, model: str) -> None:
    async with open_session(
        tmp_path / "work", model=model, policy="ask", data_dir=tmp_path / "data"
    ) as session:
        assert "permission.requested" not in [event.payload.kind async for event in session.run("Write it.")]
    assert not (tmp_path / "work" / "a.txt").exists()


async def test_a_turn_that_does_not_finish_raises_its_reason(tmp_path: Path, model: str) -> None:
    async with open_session(
        tmp_path / "work", model=model, data_dir=tmp_path / "data", max_iterations=1
    ) as session:
        with pytest.raises(TuiAgentError, match="the limit of this session"):
            await session.ask("Write it.")
        with pytest.raises(UsageError):
            await session.ask("  ")


async def test_ask_returns_what_a_slash_command_prints(tmp_path: Path, model: str) -> None:
    plugin = tmp_path / "days.py"
    plugin.write_text(
        "from tui_agent.plugin_api import TextBlock, command\n\n\n"
        "@command('/day')\nasync def day(text, state):\n    return TextBlock(text=f'Monday {text}')\n"
    )
    options = {"model": model, "data_dir": tmp_path / "data", "plugin_dirs": (plugin,)}
    async with open_session(tmp_path / "work", **options) as session:  # type: ignore[arg-type]
        assert await session.ask("/day 3") == "Monday 3"
