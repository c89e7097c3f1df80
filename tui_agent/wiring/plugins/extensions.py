"""Composition of an engine's extensions from plugins, hooks and command files.

Invariant: a trusted project's command uses the text that the user trusted, whatever its file contains now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from anyio import to_thread

from tui_agent.config.extensions.command_files import FOLDER, CommandFile, CommandFiles, load_command_files
from tui_agent.config.project.neighbour_layouts import user_folders
from tui_agent.config.project.project_files import ProjectFiles, read_project_files
from tui_agent.engine.components import ChangedExtensions, Extensions
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.mcp.servers import McpServers, ServerOffers
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.ports.command import CommandAnswer, SlashCommand
from tui_agent.ports.environment import Environment
from tui_agent.protocol.base import Payload
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.events.command import CommandsOffered, OfferedCommand
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.wiring.context import ContextComposition
from tui_agent.wiring.plugins.hooks import build_hooks, build_listeners
from tui_agent.wiring.plugins.plugins import agent_factories, build_tool_registry, configure_host
from tui_agent.wiring.startup_context import StartupContext

PROJECT_FILES_CHANGED: Final = (
    "The project's files changed since you trusted them. This command used the text that you trusted. "
    "/trust shows the changes."
)


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    """A command of the project. Its answer says if the project's files have changed since they were trusted."""

    command: CommandFile
    project: ProjectFiles

    @property
    def offer(self) -> OfferedCommand:
        return self.command.offer

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the command's answer, with a notice if the project's files have changed."""
        answer = await self.command.answer(arguments, state)
        present = await to_thread.run_sync(read_project_files, self.project.folder)
        is_current = present.key == self.project.key
        return answer if is_current else replace(answer, display=(TextBlock(text=PROJECT_FILES_CHANGED),))


class ExtensionBuilder:
    """Builds the extensions of one session from the plugins of `host` and from command files."""

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
        """Return the extensions, and events about refused tools, faulty hooks and changed slash commands."""
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

    def load_changed(self, try_left_out: bool) -> ChangedExtensions | None:
        """Load the changed plugins and command files, and the current offers of MCP servers.

        Return None if nothing has changed. This method blocks.

        `try_left_out`: True to also try plugins that failed to load earlier.
        """
        faults = self._read_configuration()
        if try_left_out:
            self._host.try_left_out()
        loaded = self._host.load()
        extensions, events = self.build(loaded)
        if not loaded.events and not events and not faults:
            return None
        return ChangedExtensions(extensions, (*faults, *loaded.events, *events))

    def _read_configuration(self) -> list[Payload]:
        """Apply the current configuration to the plugin host; return an event for a new mistake in it."""
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
        """Return the slash commands by name, and events for changed commands."""
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
