"""Reloads plugins whose files have changed."""

from collections.abc import Awaitable, Callable

import anyio
from anyio import to_thread

from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.programs import ProgramKeeper
from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.protocol.events.plugin import PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import CommandRejected


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
        """Load changed plugins. They replace the old plugins at once.

        During a turn, they replace the old plugins after the running iteration. If that iteration is the last one, they
        replace the old plugins after the turn.
        """
        if await self.load_for_later():
            await self._wait_for_turn()
            if not self._is_turn_running():
                self._parts.extensions.take_over(self._parts.recorder)
        elif not command.automatic:
            refused = CommandRejected(command=command.kind, reason="No plugin has changed.")
            self._parts.recorder.append(refused, cause=command.id)

    async def load_for_later(self) -> bool:
        """Load changed plugins. The next iteration uses them. Return True if a plugin changed."""
        load = self._parts.load_changed
        async with self._lock:
            changed = None if load is None else await to_thread.run_sync(load)
            if changed is None:
                return False
            self._parts.extensions.replace_later(changed)
            plugins = [each for each in changed.events if isinstance(each, PluginLoaded | PluginUnloaded)]
            await self._programs.end_all({event.plugin for event in plugins})
            return True
