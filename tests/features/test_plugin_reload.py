"""A plugin's file that is saved while a session runs is used in the next iteration, whatever is in it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tui_agent.config.session_options import SessionOptions
from tui_agent.ports.log import Follower
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.frozen_model import Payload
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

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
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    async with open_session(options, load_startup_context(options, environ)) as opened:
        yield plugins, opened.follow()


async def _news(follower: Follower, plugin: str = "greeter") -> Payload:
    """The next event of a plugin that changed while the session ran."""
    kinds = (PluginLoaded, PluginFailed, PluginUnloaded)
    return await _next(follower, lambda payload: isinstance(payload, kinds) and payload.plugin == plugin)


async def _next(follower: Follower, is_wanted: Callable[[Payload], bool]) -> Payload:
    with anyio.fail_after(20):
        while True:
            for record in await follower.next_batch():
                if isinstance(record, Envelope) and is_wanted(record.payload):
                    return record.payload


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


async def test_a_plugin_that_is_turned_on_or_off_elsewhere_is_used_or_dropped(tmp_path: Path) -> None:
    async with following(tmp_path) as (_, follower):
        settings = tmp_path / "config/tui-agent/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('plugins_enabled = ["git"]', encoding="utf-8")
        loaded = await _news(follower, "git")
        assert isinstance(loaded, PluginLoaded) and loaded.while_running
        settings.write_text('plugins_enabled = ["git', encoding="utf-8")
        mistake = await _next(follower, lambda payload: isinstance(payload, ErrorRaised))
        assert isinstance(mistake, ErrorRaised) and str(settings) in mistake.message
        assert "the loaded plugins do not change" in mistake.hint
        settings.write_text("", encoding="utf-8")
        assert await _news(follower, "git") == PluginUnloaded(plugin="git")


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
