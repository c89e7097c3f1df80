"""The MCP servers of a session, with their tools and commands.

Invariant: the tools, commands and events in one result of `offers` belong together, and `on_change` is called whenever
the result changes.
"""

import hashlib
import math
import os
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from tui_agent.errors import ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.mcp.content.prompts import PromptCommand
from tui_agent.mcp.content.resources import MAX_OFFERED
from tui_agent.mcp.offered_tools import (
    SEARCH_TOOL,
    RemoteTool,
    ServerTool,
    is_too_large,
    name_tools,
    tool_name,
)
from tui_agent.mcp.server_runner import ServerRunner
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.tool_search import ToolSearch
from tui_agent.ports.environment import ProcessOpener
from tui_agent.ports.tool import ResourceContent, Tool
from tui_agent.protocol.events.plugin import MCP_OWNER, RESOURCES, PluginFailed, PluginLoaded

CLOSE_LIMIT_S = 3.0
STARTS_PER_CORE = 2
"""Number of servers that start at the same time, for each processor core."""
START_PAUSE_S = 1.0
"""Maximum seconds that a server's start delays the next servers."""
COMPLETION_LIMIT_S = 1.0
"""Time limit for all servers to complete a mention, in seconds."""
ALONE_S = 5.0
"""Minimum seconds that a run waits for a server while no other server is ready."""
LOOK_S = 0.2
"""Seconds between checks for other ready servers, while a run waits for a server."""
READ_RESOURCE = "read_resource"
TOOL_WAIT_S = 30.0
"""Maximum seconds that a resumed session waits for the servers of calls that an earlier run left open."""
PATIENCE_S = 2.0
"""Seconds that a run waits for a server whose last start was not measured. For any other server, the minimum."""
MAX_PATIENCE_S = 10.0
START_TIME_FACTOR = 3.0
"""A run waits at most this many times as long as the server's last start took."""


class StartTimes:
    """Durations of the servers' last starts, saved as files in a folder.

    A server with other arguments or another address counts as a new server.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def patience(self, settings: ServerSettings, prompt: str) -> float:
        """Return how many seconds a session without a user waits for the server before its turn. This method blocks.

        If the prompt names the server, the result is `MAX_PATIENCE_S`. Otherwise:

        - 0 if the last start took longer than `MAX_PATIENCE_S`
        - `PATIENCE_S` if the last start was not measured
        - `START_TIME_FACTOR` times the last start's duration in all other cases, but at least `PATIENCE_S` and at most
          `MAX_PATIENCE_S`
        """
        if re.search(rf"\b{re.escape(settings.name)}\b", prompt, re.IGNORECASE):
            return MAX_PATIENCE_S
        try:
            last = float(self._path(settings).read_text())
        except (OSError, ValueError):
            return PATIENCE_S
        return (
            max(PATIENCE_S, min(MAX_PATIENCE_S, START_TIME_FACTOR * last)) if last <= MAX_PATIENCE_S else 0.0
        )

    def save(self, settings: ServerSettings, seconds: float) -> None:
        """Save the seconds that a start took. Infinity means that the server did not answer. This method blocks."""
        with suppress(OSError):  # without the file, the next run waits as for an unknown server
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path(settings).write_text(f"{seconds:.1f}")

    def _path(self, settings: ServerSettings) -> Path:
        words = (settings.name, settings.command, *settings.args, settings.url)
        return self._folder / hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ServerOffers:
    """Tools and commands of all servers, as pairs (owner, item).

    `events`: an event for each server that changed since the previous call of `McpServers.offers`.
    """

    tools: Sequence[tuple[str, Tool[Any]]] = ()
    commands: Sequence[tuple[str, PromptCommand]] = ()
    events: Sequence[PluginLoaded | PluginFailed] = ()


class McpServers:
    """The servers of a session, started by `run`; the session does not wait until they are ready."""

    def __init__(
        self, settings: Sequence[ServerSettings], opener: ProcessOpener, root: str, times: StartTimes
    ) -> None:
        self.on_change: Callable[[], object] = lambda: None
        """Called when a server is ready, changed, or failed."""
        self._runners = [ServerRunner(server, opener, root, lambda: self.on_change()) for server in settings]
        self._times = times
        self._reported: dict[str, tuple[PluginLoaded | PluginFailed, tuple[RemoteTool, ...]]] = {}
        """Maps a server's name to (newest event about the server, its tools at that time)."""
        self._ended = anyio.Event()
        self._is_running = False
        self._progress_at = 0.0
        """Time at which a server last began to start, became ready or failed, on the event loop's clock."""

    @property
    def is_any(self) -> bool:
        """True if the session has at least one server."""
        return bool(self._runners)

    async def run(self) -> None:
        """Run all servers until `aclose` is called."""
        self._is_running = True
        try:
            async with anyio.create_task_group() as group:
                places = anyio.Semaphore(STARTS_PER_CORE * (os.cpu_count() or 1))
                for runner in self._runners:
                    await places.acquire()
                    self._progress_at = anyio.current_time()
                    group.start_soon(runner.run)
                    group.start_soon(_hold_place, places, runner)
                    group.start_soon(self._save_start_time, runner)
        finally:
            self._ended.set()

    async def _save_start_time(self, runner: ServerRunner) -> None:
        await runner.wait_until_ready()
        if runner.start_seconds is not None:
            await to_thread.run_sync(self._times.save, runner.settings, runner.start_seconds)

    async def wait_until_settled(self, prompt: str) -> None:
        """Wait until each server is ready, has failed to start, or has used up its waiting time.

        The waiting time is `StartTimes.patience`, but at least `ALONE_S` while no server is ready.
        """
        # The waiting time begins again when another server starts or is ready, because all servers share the processor.
        with anyio.move_on_after(MAX_PATIENCE_S):
            async with anyio.create_task_group() as group:
                for runner in self._runners:
                    group.start_soon(self._wait_for_start, runner, prompt)
        for runner in self._runners:
            if not runner.settled.is_set():
                runner.record_no_answer()
                if runner.start_began is not None:
                    await to_thread.run_sync(self._times.save, runner.settings, math.inf)

    async def _wait_for_start(self, runner: ServerRunner, prompt: str) -> None:
        patience = await to_thread.run_sync(self._times.patience, runner.settings, prompt)
        while not runner.settled.is_set():
            is_any_ready = any(other.start_seconds is not None for other in self._runners)
            began = max(runner.start_began or anyio.current_time(), self._progress_at)
            limit_s = patience if is_any_ready else max(patience, ALONE_S)
            left = began + limit_s - anyio.current_time()
            if not patience or left <= 0:
                return
            with anyio.move_on_after(min(left, LOOK_S)):
                await runner.settled.wait()
        self._progress_at = anyio.current_time()

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait up to `TOOL_WAIT_S` seconds until the servers of these tools run or are given up."""
        with anyio.move_on_after(TOOL_WAIT_S):
            for runner in filter(None, map(self._runner_of, tools)):
                await runner.wait_until_ready()

    def explain_absence(self, tool: str) -> str:
        """Return the reason why the server of a tool cannot be used now, or an empty string."""
        runner = self._runner_of(tool)
        return "" if runner is None else runner.explain_absence()

    @property
    def names(self) -> Collection[str]:
        """The names of all servers."""
        return frozenset(runner.settings.name for runner in self._runners)

    def resource_tool(self, server: str) -> str:
        """Return the tool name in permission rules about reading a server's resources."""
        return tool_name(server, READ_RESOURCE)

    async def read_resource(self, server: str, uri: str) -> ResourceContent:
        """Read a resource of a server. Raise `ToolError` if the request fails."""
        runner = next(runner for runner in self._runners if runner.settings.name == server)
        return await runner.read_resource(uri)

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return the matching mentions of resources, from servers that answer in time."""
        mentions: list[str] = []

        async def ask(runner: ServerRunner) -> None:
            with suppress(ToolError):
                mentions.extend(await runner.complete_mention(query))

        with anyio.move_on_after(COMPLETION_LIMIT_S):
            async with anyio.create_task_group() as group:
                for runner in self._runners:
                    group.start_soon(ask, runner)
        return mentions[:MAX_OFFERED]

    def _runner_of(self, tool: str) -> ServerRunner | None:
        # No name of a server is the beginning of another's here, because `tool_name` ends it with a `_`.
        owned = (runner for runner in self._runners if tool.startswith(tool_name(runner.settings.name, "")))
        return next(owned, None)

    async def aclose(self) -> None:
        """End all servers at the same time."""
        for runner in self._runners:
            runner.close()
        if self._is_running:
            with anyio.move_on_after(CLOSE_LIMIT_S):
                await self._ended.wait()

    def offers(self) -> ServerOffers:
        """Return the current tools and commands of all servers."""
        tools: list[tuple[str, Tool[Any]]] = []
        commands: list[tuple[str, PromptCommand]] = []
        events = []
        for runner in self._runners:
            name = runner.settings.name
            owner = f"{MCP_OWNER}{name}"
            offered = _tools_of(runner)
            tools += [(owner, tool) for tool in offered]
            prompts = [PromptCommand(name, prompt, runner.get_prompt) for prompt in runner.prompts]
            commands += [(owner, prompt) for prompt in prompts]
            contributions = [f"tool:{tool.spec.name}" for tool in offered if tool.spec.listed]
            contributions += [f"command:{prompt.offer.name}" for prompt in prompts]
            contributions += [f"{RESOURCES}{name}"] if runner.has_resources else []
            event = _event(runner, owner, contributions)
            # The event only names the tools. A new description of a tool counts as well: it ends rules about the old one.
            if event is not None and (event, runner.tools) != self._reported.get(name):
                self._reported[name] = event, runner.tools
                events.append(event)
        return ServerOffers(tools, commands, events)


async def _hold_place(places: anyio.Semaphore, runner: ServerRunner) -> None:
    """Wait until the server has started or failed, at most `START_PAUSE_S` seconds. Then release the semaphore."""
    with anyio.move_on_after(START_PAUSE_S):
        await runner.settled.wait()
    places.release()


def _tools_of(runner: ServerRunner) -> list[Tool[Any]]:
    """Return a server's tools, with a search tool if there are too many tools to list all of them."""
    server = runner.settings.name
    names = name_tools(server, runner.tools)
    is_large = is_too_large(runner.tools)
    tools: list[Tool[Any]] = []
    if is_large:
        tools.append(ToolSearch(tool_name(server, SEARCH_TOOL, names), server, names, runner.reveal))
    for name, remote in names.items():
        listed = not is_large or name in runner.revealed
        tools.append(ServerTool(name, server, remote, runner.call, listed=listed))
    return tools


def _event(
    runner: ServerRunner, owner: str, contributions: Sequence[str]
) -> PluginLoaded | PluginFailed | None:
    if runner.fault:
        message = runner.fault[:1].upper() + runner.fault[1:]
        return PluginFailed(plugin=owner, message=message, where=runner.settings.source)
    if not runner.settled.is_set():
        return None
    return PluginLoaded(
        plugin=owner,
        version=runner.version,
        source="mcp",
        contributions=tuple(sorted(contributions)),
        left_out=runner.left_out,
    )
