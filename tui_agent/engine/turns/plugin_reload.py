"""Reloads plugins whose files have changed."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio import to_thread

from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.tool_programs import ProgramKeeper
from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.plugin import MCP_OWNER, PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.unicode_text import list_first

MAX_NAMED = 8


class PluginReload:
    """Reloads the plugins of an engine. Ends the programs that a changed plugin keeps running."""

    def __init__(
        self,
        parts: EngineParts,
        programs: ProgramKeeper,
        is_turn_running: Callable[[], bool],
        wait_for_turn: Callable[[], Awaitable[None]],
    ) -> None:
        self._parts = parts
        self._is_turn_running = is_turn_running
        self._wait_for_turn = wait_for_turn
        self._programs = programs
        self._lock = anyio.Lock()

    async def run(self, command: ReloadPlugins) -> None:
        """Load changed plugins. A running turn uses them from its next iteration on."""
        # An automatic reload does not retry failed plugins, and its result is not recorded.
        events = await self.load_for_later(try_left_out=not command.automatic)
        is_used_later = self._is_turn_running()
        self._take_over_between_turns()
        if not command.automatic:
            ran = CommandRan(name="reload", display=(TextBlock(text=_describe(events, is_used_later)),))
            self._parts.recorder.append(ran, cause=command.id)
        if events and is_used_later:
            await self._wait_for_turn()
            self._take_over_between_turns()

    def _take_over_between_turns(self) -> None:
        if not self._is_turn_running():
            self._parts.extensions.take_over(self._parts.recorder)

    async def load_for_later(self, *, try_left_out: bool = False) -> Sequence[Payload]:
        """Load changed plugins for the next iteration, and return the events about the changes."""
        load = self._parts.load_changed
        async with self._lock:
            changed = None if load is None else await to_thread.run_sync(load, try_left_out)
            if changed is None:
                return ()
            self._parts.extensions.replace_later(changed)
            plugins = [event for event in changed.events if isinstance(event, PluginLoaded | PluginUnloaded)]
            await self._programs.end_all({event.plugin for event in plugins})
            return changed.events


def _describe(events: Sequence[Payload], is_used_later: bool) -> str:
    """Describe the result of a reload for the user, e.g. `Changed: greeter. Failed: notes.`"""
    changed = [event.plugin for event in events if isinstance(event, PluginLoaded | PluginUnloaded)]
    if not changed and any(isinstance(event, CommandsOffered) for event in events):
        changed = ["slash commands"]
    failed = [event.plugin for event in events if isinstance(event, PluginFailed)]
    sentences = [
        f"{label}: {list_first([name.removeprefix(MCP_OWNER) for name in dict.fromkeys(names)], MAX_NAMED)}."
        for label, names in (("Changed", changed), ("Failed", failed))
        if names
    ]
    if changed and is_used_later:
        sentences.append("In the running turn, the change takes effect at the next iteration.")
    return " ".join(sentences) or "No plugin has changed."
