"""Composition of what plugins and hooks give to an engine, at the start and after a change of the plugins' files."""

from collections.abc import Sequence

from tui_agent.engine.extensions import ChangedExtensions, Extensions
from tui_agent.engine.recorder import Recorder
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.ports.environment import Environment
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.wiring.context import ContextComposition
from tui_agent.wiring.hooks import build_hooks, build_listeners
from tui_agent.wiring.plugins import agent_factories, build_tool_registry
from tui_agent.wiring.startup_context import StartupContext


class ExtensionBuilder:
    """Builds the extensions of one session from the plugins that `host` loads."""

    def __init__(
        self,
        base: StartupContext,
        host: PluginHost,
        recorder: Recorder,
        env: Environment,
        context: ContextComposition,
    ) -> None:
        self._base = base
        self._host = host
        self._recorder = recorder
        self._env = env
        self._context = context

    def build(self, loaded: LoadedPlugins) -> tuple[Extensions, Sequence[PluginFailed]]:
        """Return the extensions, and an event for each tool that was refused."""
        tools, failed = build_tool_registry(loaded)
        extensions = Extensions(
            tools,
            self._context.middlewares(tools, loaded),
            agent_factories(loaded),
            build_hooks(self._base, loaded, self._env),
            build_listeners(loaded, self._recorder.append),
        )
        return extensions, failed

    def load_changed(self) -> ChangedExtensions | None:
        """Load the plugins whose files have changed. Return None if there are none. Blocks while they are imported."""
        loaded = self._host.load()
        if not loaded.events:
            return None
        extensions, failed = self.build(loaded)
        return ChangedExtensions(extensions, (*loaded.events, *failed))
