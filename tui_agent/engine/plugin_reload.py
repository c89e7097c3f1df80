"""Reloads plugins whose files have changed."""

import anyio
from anyio import to_thread

from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.programs import ProgramKeeper
from tui_agent.engine.turns import Turns
from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.protocol.events.plugin import PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import CommandRejected


class PluginReload:
    """Reloads the plugins of an engine, one reload at a time. It ends the programs that changed plugins keep open."""

    def __init__(self, parts: EngineParts, turns: Turns, programs: ProgramKeeper) -> None:
        self._parts = parts
        self._turns = turns
        self._programs = programs
        self._lock = anyio.Lock()

    async def run(self, command: ReloadPlugins) -> None:
        """Load changed plugins. They replace the old ones at once, or after the running iteration if a turn runs."""
        recorder, load = self._parts.recorder, self._parts.load_changed
        async with self._lock:
            changed = None if load is None else await to_thread.run_sync(load)
            if changed is not None:
                self._parts.extensions.replace_later(changed)
                if not self._turns.is_running:
                    self._parts.extensions.take_over(recorder)
                plugins = [each for each in changed.events if isinstance(each, PluginLoaded | PluginUnloaded)]
                await self._programs.end_all({event.plugin for event in plugins})
            elif not command.automatic:
                refused = CommandRejected(command=command.kind, reason="No plugin has changed.")
                recorder.append(refused, cause=command.id)
