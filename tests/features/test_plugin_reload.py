"""A plugin's file that is saved while a session runs is used in the next iteration, whatever is in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tui_agent.config.options import SessionOptions
from tui_agent.ports.log import Follower
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.wiring.session import open_session

PLUGIN = """
from pydantic import BaseModel
from tui_agent.plugin_api import BaseTool, InternalEffect, ToolSpec, text_result

class NoArgs(BaseModel):
    pass

class Greet(BaseTool):
    spec = ToolSpec("greet", "Greets.", NoArgs, "greet")
    def target(self, args): return ""
    def effects(self, args): return (InternalEffect(subject="greeting"),)
    async def run(self, args, ctx): return text_result("hello")

def register(api):
    api.tool(Greet())
"""


@asynccontextmanager
async def following(tmp_path: Path) -> AsyncIterator[tuple[Path, Follower]]:
    """A session with an empty folder of plugins that is watched."""
    (tmp_path / "work").mkdir()
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    options = SessionOptions(
        cwd=tmp_path / "work",
        client="app",
        data_dir=tmp_path / "data",
        plugin_dirs=(plugins,),
        model="demo:bugfix",
    )
    async with open_session(options) as opened:
        yield plugins, opened.follow()


async def _news(follower: Follower, plugin: str = "greeter") -> Payload:
    """The next event of a plugin that changed while the session ran."""
    with anyio.fail_after(20):
        while True:
            for record in await follower.next_batch():
                payload = record.payload if isinstance(record, Envelope) else None
                if (
                    isinstance(payload, PluginLoaded | PluginFailed | PluginUnloaded)
                    and payload.plugin == plugin
                ):
                    return payload


async def test_saving_a_plugin_loads_it_and_a_mistake_keeps_it(tmp_path: Path) -> None:
    async with following(tmp_path) as (plugins, follower):
        file = plugins / "greeter.py"
        await _until_watched(plugins, follower)
        file.write_text(PLUGIN, encoding="utf-8")
        loaded = await _news(follower)
        assert isinstance(loaded, PluginLoaded) and loaded.while_running
        assert loaded.contributions == ("tool:greet",)
        file.write_text(PLUGIN.replace("class NoArgs", "class class"), encoding="utf-8")
        failed = await _news(follower)
        assert isinstance(failed, PluginFailed) and failed.where == f"{file}:5"
        file.unlink()
        assert await _news(follower) == PluginUnloaded(plugin="greeter")


async def _until_watched(plugins: Path, follower: Follower) -> None:
    """Return once changes are seen: the watch begins soon after the session."""
    first = plugins / "first.py"
    seen = anyio.Event()

    async def save() -> None:
        count = 0
        while not seen.is_set():
            count += 1
            first.write_text(f"# {count}\ndef register(api):\n    pass\n", encoding="utf-8")
            with anyio.move_on_after(0.3):
                await seen.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(save)
        assert isinstance(await _news(follower, "first"), PluginLoaded)
        seen.set()
