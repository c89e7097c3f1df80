"""Composition of an engine's extensions from plugins, hooks and command files. Changed files are loaded again."""

from collections.abc import Mapping, Sequence

from tui_agent.config.extensions.command_files import FOLDER, CommandFiles, load_command_files
from tui_agent.config.project.neighbour_layouts import user_folders
from tui_agent.engine.components import ChangedExtensions, Extensions
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import ConfigError
from tui_agent.mcp.servers import McpServers, ServerOffers
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.ports.command import SlashCommand
from tui_agent.ports.environment import Environment
from tui_agent.protocol.base import Payload
from tui_agent.protocol.events.command import CommandsOffered, OfferedCommand
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.wiring.context import ContextComposition
from tui_agent.wiring.hooks import build_hooks, build_listeners
from tui_agent.wiring.plugins import agent_factories, build_tool_registry, configure_host
from tui_agent.wiring.project_commands import ProjectCommand
from tui_agent.wiring.startup_context import StartupContext


class ExtensionBuilder:
    """Builds the extensions of one session from the plugins that `host` loads and from command files."""

    def __init__(
        self,
        base: StartupContext,
        host: PluginHost,
        recorder: Recorder,
        env: Environment,
        context: ContextComposition,
        servers: McpServers,
    ) -> None:
        self._base = base
        self._host = host
        self._recorder = recorder
        self._env = env
        self._context = context
        self._servers = servers
        self._files: tuple[CommandFiles, ...] = ()
        self._hook_faults: tuple[str, ...] = ()
        self._config_fault: ErrorRaised | None = None

    def build(self, loaded: LoadedPlugins) -> tuple[Extensions, Sequence[Payload]]:
        """Return the extensions, and the events that report refused tools, faulty hooks and changed slash commands."""
        served = self._servers.offers()
        tools, failed = build_tool_registry(loaded, served.tools, self._context.ablation)
        commands, events = self._load_commands(loaded, served)
        hooks, faults = build_hooks(self._base, loaded, self._env)
        new_faults = [fault for fault in faults if fault not in self._hook_faults]
        self._hook_faults = faults
        unusable = {name: fault for files in self._files for name, fault in files.faults}
        extensions = Extensions(
            tools,
            self._context.middlewares(tools, loaded),
            agent_factories(loaded),
            hooks,
            build_listeners(loaded, self._recorder.append),
            commands,
            unusable,
        )
        refused = (ErrorRaised(where="hooks", message=fault) for fault in new_faults)
        return extensions, (*served.events, *failed, *events, *refused)

    def load_changed(self) -> ChangedExtensions | None:
        """Load the plugins and command files that have changed, and use what MCP servers offer now.

        Return None if nothing has changed. Blocks during the import.
        """
        faults = self._read_configuration()
        loaded = self._host.load()
        extensions, events = self.build(loaded)
        if not loaded.events and not events and not faults:
            return None
        return ChangedExtensions(extensions, (*faults, *loaded.events, *events))

    def _read_configuration(self) -> list[Payload]:
        """Let the host load the plugins that are on now. Return an event if the configuration has a new mistake."""
        try:
            config, fault = self._base.load_config(), None
            configure_host(self._host, self._base, config)
        except ConfigError as error:
            hint = f"{error.hint} Until then, the loaded plugins do not change.".strip()
            fault = ErrorRaised(where="configuration", message=error.message, hint=hint)
        before, self._config_fault = self._config_fault, fault
        return [] if fault is None or fault == before else [fault]

    def _load_commands(
        self, loaded: LoadedPlugins, served: ServerOffers
    ) -> tuple[Mapping[str, SlashCommand], list[Payload]]:
        """Return a `dict` that maps a name to a slash command, and events for changed commands.

        A file replaces a plugin's command.
        """
        config = self._base.config
        before, self._files = (
            self._files,
            load_command_files(
                config.paths.config_dir / FOLDER, config.project, user_folders(config.paths, "commands")
            ),
        )
        owners: dict[str, str] = {}
        commands: dict[str, SlashCommand] = {}
        for offered in loaded.commands:
            owners[offered.offer.name], commands[offered.offer.name] = offered.owner, offered
        for owner, prompt in served.commands:
            owners[prompt.offer.name], commands[prompt.offer.name] = owner, prompt
        for files in self._files:
            project = config.project if files.owner == "project" else None
            for command in files.commands:
                owners[command.offer.name] = files.owner
                commands[command.offer.name] = (
                    command if project is None else ProjectCommand(command, project)
                )
        items: dict[str, tuple[OfferedCommand, ...]] = {}
        for name, owner in owners.items():
            items[owner] = (*items.get(owner, ()), commands[name].offer)
        known = self._recorder.state.commands
        edited = {files.owner for files in self._files if before and files not in before}
        changed = [
            owner
            for owner in dict.fromkeys((*items, *known))
            if owner in edited or items.get(owner, ()) != known.get(owner, ())
        ]
        reported = {fault for files in before for fault in files.faults}
        faults = [fault for files in self._files for fault in files.faults if fault not in reported]
        return commands, [
            *(CommandsOffered(owner=owner, items=items.get(owner, ())) for owner in changed),
            *(ErrorRaised(where="commands", message=fault) for _, fault in faults),
        ]
