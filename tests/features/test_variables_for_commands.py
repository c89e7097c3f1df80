"""Variables with secrets that commands are shown: none, but what the user's own configuration names."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.sse_server import Reply, running
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session

VALUE = "Vq7hunterXk29"
LOOK = "import os; print('sum', sum(map(ord, os.environ.get('PGPASSWORD', ''))))"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", VALUE)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "look.py").write_text(LOOK)
    return SessionOptions(
        cwd=tmp_path / "work",
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        policy="bypass",
        model="openai-chat/test",
        typed_keys=(("OPENAI_API_KEY", "x"),),
    )


def configure(home: Path, text: str) -> None:
    folder = home / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


async def seen(options: SessionOptions) -> tuple[str, list[EnvStarted]]:
    """What a command printed of the variable, as the model was told, and how the environment began."""
    call = Reply(calls=(("c1", "run_command", f'{{"command": "{shlex.quote(sys.executable)} look.py"}}'),))
    began: list[EnvStarted] = []
    async with running() as server:
        server.replies += (call, Reply(text="done"))
        async with open_session(replace(options, base_url=f"{server.url}/v1")) as opened:
            began += [one.payload for one in opened.log.read() if isinstance(one.payload, EnvStarted)]
            await run_turn(opened, "look", lambda record: None)
    return str(server.requests[-1].body["messages"]), began


async def test_a_variable_with_a_secret_is_kept_from_commands(options: SessionOptions) -> None:
    said, [began] = await seen(options)
    assert "sum 0" in said
    assert began.exposed_variables == ()


async def test_the_users_configuration_passes_one_on_and_that_is_recorded(
    options: SessionOptions, tmp_path: Path
) -> None:
    configure(tmp_path, '[sandbox]\nvariables = ["PGPASSWORD", "NOT_THERE"]\n')
    said, [began] = await seen(options)
    assert f"sum {sum(map(ord, VALUE))}" in said
    assert VALUE not in said
    assert began.exposed_variables == ("PGPASSWORD",)


async def test_a_name_is_whole_and_no_pattern(options: SessionOptions, tmp_path: Path) -> None:
    configure(tmp_path, '[sandbox]\nvariables = ["PG*"]\n')
    with pytest.raises(ConfigError):
        await seen(options)
