"""All MCP servers of a session, side by side, and what they offer to the engine.

Invariant: what `offers` returns belongs together; it changes only between two calls of `on_change`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from tui_agent.mcp.server_runner import ServerRunner
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.server_tool import ServerTool
from tui_agent.mcp.tool_names import tool_name
from tui_agent.ports.environment import ProcessOpener
from tui_agent.protocol.events.plugin import MCP_OWNER, PluginFailed, PluginLoaded

CLOSE_LIMIT_S = 3.0


@dataclass(frozen=True, slots=True)
class ServerOffers:
    """The tools of all servers, each with its owner, and an event for each server that changed since the last time."""

    tools: Sequence[tuple[str, ServerTool]] = ()
    events: Sequence[PluginLoaded | PluginFailed] = ()


class McpServers:
    """The servers of a session. They start when `run` does; nothing waits for them."""

    def __init__(self, settings: Sequence[ServerSettings], opener: ProcessOpener, root: str) -> None:
        self.on_change: Callable[[], object] = lambda: None
        """Called when a server is ready, changed, or failed."""
        self._runners = [ServerRunner(each, opener, root, self._tell) for each in settings]
        self._told: dict[str, PluginLoaded | PluginFailed] = {}
        self._ended = anyio.Event()
        self._is_running = False

    @property
    def is_any(self) -> bool:
        """True if there is a server."""
        return bool(self._runners)

    def _tell(self) -> None:
        self.on_change()

    async def run(self) -> None:
        """Run all servers until `aclose`."""
        self._is_running = True
        try:
            async with anyio.create_task_group() as group:
                for runner in self._runners:
                    group.start_soon(runner.run)
        finally:
            self._ended.set()

    async def wait_until_settled(self) -> None:
        """Wait until each server is ready or failed to start."""
        for runner in self._runners:
            await runner.settled.wait()

    async def aclose(self) -> None:
        """End all servers, side by side."""
        for runner in self._runners:
            runner.close()
        if self._is_running:
            with anyio.move_on_after(CLOSE_LIMIT_S):
                await self._ended.wait()

    def offers(self) -> ServerOffers:
        """Return what the servers offer now."""
        tools: list[tuple[str, ServerTool]] = []
        events = []
        for runner in self._runners:
            name = runner.settings.name
            owner, names = f"{MCP_OWNER}{name}", set[str]()
            for remote in runner.tools:
                shown = tool_name(name, remote.name, names)
                if shown not in names:
                    names.add(shown)
                    tools.append(
                        (owner, ServerTool(shown, name, remote, runner.call, runner.settings.timeout))
                    )
            event = _event(runner, owner, sorted(names))
            if event is not None and event != self._told.get(name):
                self._told[name] = event
                events.append(event)
        return ServerOffers(tools, events)


def _event(runner: ServerRunner, owner: str, names: Sequence[str]) -> PluginLoaded | PluginFailed | None:
    if runner.fault:
        return PluginFailed(plugin=owner, message=runner.fault, where=runner.settings.source)
    if not runner.settled.is_set():
        return None
    return PluginLoaded(
        plugin=owner,
        version=runner.version,
        source="mcp",
        contributions=tuple(f"tool:{name}" for name in names),
    )
