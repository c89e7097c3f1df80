"""A session with MCP servers: who waits for them, and what the agent and the user get of them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import DecidePermission, RunCommand, SubmitPrompt
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.session.local_session import LocalSession
from tui_agent.wiring.session import open_session

STUB = Path(__file__).parents[1] / "stubs" / "mcp_server.py"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "tui-agent").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    script = tmp_path / "script.yaml"
    script.write_text(
        "answers:\n  - text: First.\n"
        "  - calls:\n      - mcp_s0_greet: {name: Ada}\n  - text: Second.\n  - text: Third.\n"
    )
    return SessionOptions(tmp_path / "work", model=f"scripted:{script}", data_dir=tmp_path / "data")


def configure(tmp_path: Path, **modes: str) -> None:
    tables = [
        f"[mcp.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(STUB), mode])}\n"
        for name, mode in modes.items()
    ]
    (tmp_path / "config" / "tui-agent" / "config.toml").write_text("".join(tables))


async def follow(opened: LocalSession, is_done: Callable[[list[Payload]], object]) -> list[Payload]:
    """Return all events so far as soon as `is_done` of them is true."""
    follower, events = opened.follow(), list[Payload]()
    with anyio.fail_after(100):
        while not is_done(events):
            events += [record.payload for record in await follower.next_batch()]
    follower.close()
    return events


def of(events: list[Payload], *kinds: type[Payload]) -> list[Payload]:
    return [event for event in events if isinstance(event, kinds)]


@pytest.mark.slow
async def test_of_twenty_servers_with_five_dead_ones_nobody_is_waited_for(
    tmp_path: Path, options: SessionOptions
) -> None:
    dead = {f"s{number}": "silent" for number in range(15, 20)}
    configure(tmp_path, **{f"s{number}": "good" for number in range(15)}, **dead)
    async with open_session(options) as opened:
        opened.submit(SubmitPrompt(text="go"))
        events = await follow(opened, lambda events: of(events, TurnFinished))
        first = events.index(of(events, ModelRequested)[0])
        assert not [event for event in of(events[:first], PluginLoaded) if event.plugin.startswith("mcp:")]  # type: ignore[attr-defined]

        def ready(events: list[Payload]) -> bool:
            return len([each for each in of(events, PluginLoaded) if each.plugin.startswith("mcp:")]) == 15  # type: ignore[attr-defined]

        events = await follow(opened, ready)
        assert not of(events, PluginFailed)
        opened.submit(SubmitPrompt(text="again"))
        events = await follow(opened, lambda events: of(events, PermissionRequested))
        (asked,) = of(events, PermissionRequested)
        assert isinstance(asked, PermissionRequested)
        opened.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        events = await follow(opened, lambda events: len(of(events, TurnFinished)) == 2)
        (end,) = of(events, ToolFinished)
        assert isinstance(end, ToolFinished) and end.status == "ok"
        opened.submit(RunCommand(name="s3:stand-up", arguments="monday"))
        events = await follow(opened, lambda events: len(of(events, TurnFinished)) == 3)
        message = of(events, UserMessageReceived)[-1]
        assert isinstance(message, UserMessageReceived) and message.text == 'Report on {"day": "monday"}.'
