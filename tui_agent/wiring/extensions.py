"""Composition of an engine's extensions from plugins, hooks and command files.

Invariant: a trusted project's command uses the text that the user trusted, whatever its file contains now. A project's
hook runs only while the project's files are unchanged since they were trusted.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Final

import anyio
from anyio import to_thread
from pydantic_core import PydanticSerializationError, to_json

from tui_agent.config.extensions.claude_hooks import (
    describe_event,
    load_claude_hooks,
    matcher_subject,
    read_answer,
)
from tui_agent.config.extensions.command_files import FOLDER, CommandFile, CommandFiles, load_command_files
from tui_agent.config.project.other_agents_files import user_folders
from tui_agent.config.project.project_files import ProjectFiles, read_project_files
from tui_agent.config.settings.api_keys import load_keys
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.config.settings.settings import HookSettings
from tui_agent.engine.components import ChangedExtensions, Extensions
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.engine.plugins.forced_stop import stop_though_shielded
from tui_agent.engine.recorder import EventListener as Listener
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import ConfigError, PluginError, TuiAgentError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.mcp.servers import McpServers, ServerOffers
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.registered_objects import OfferedHook
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import Hook, HookAnswer, HookFunction, HookReply
from tui_agent.ports.slash_command import CommandAnswer, SlashCommand
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.hook import HookSource
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.slash_command import CommandsOffered, OfferedCommand
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_time_limit
from tui_agent.wiring.context import ContextComposition
from tui_agent.wiring.plugins import agent_factories, build_tool_registry, configure_host
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.hook_command import HookCommand, parse_answer

PROJECT_FILES_CHANGED: Final = (
    "The project's files changed since you trusted them. This command used the text that you trusted. "
    "/trust shows the changes."
)
PROJECT_CHANGED = "The project's files changed since you trusted them. Run `tui-agent trust` to review them."


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

        Return None if nothing has changed. Blocks: call it in a thread.

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
        # Each attempt reads the file again, but the same error is recorded only once.
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


def build_hooks(
    base: StartupContext, loaded: LoadedPlugins, env: Environment
) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return all hooks in order of execution: the user's, the project's, then the plugins'.

    The second value has a sentence for each unusable hook in Claude Code's settings.
    """
    variables, config = _hook_only_variables(base), base.config
    claude = load_claude_hooks(config.paths, config.project)
    candidates: list[tuple[HookSettings, HookSource, HookCommand, Callable[[str], str]]] = []
    for settings, source in config.hooks:
        candidates.append((settings, source, HookCommand(env, settings.command, variables), str))
    claude_variables = {**variables, "CLAUDE_PROJECT_DIR": env.root}
    for settings, source in claude.hooks:
        command = HookCommand(
            env, settings.command, claude_variables, describe=describe_event, read=read_answer
        )
        candidates.append((settings, source, command, matcher_subject))
    commands = []
    # The sort is stable: within the user's and the project's hooks, the order of the files stays.
    in_order = sorted(candidates, key=lambda candidate: candidate[1] != "user")
    for settings, source, command, subject_name in in_order:
        ask: HookFunction = command.ask
        if source == "project":
            if config.project is None:
                continue
            ask = partial(_ask_trusted, config.project, ask)
        label = " ".join(settings.command.split())
        commands.append(
            Hook(settings.event, label, source, ask, settings.pattern, settings.timeout, subject_name)
        )
    functions = (
        Hook(offered.event, f"plugin {offered.owner}", "plugin", partial(ask_plugin_function, offered))
        for offered in loaded.hooks
    )
    return (*commands, *functions), claude.faults


def _hook_only_variables(base: StartupContext) -> dict[str, str]:
    """Return the secret variables that hooks get and commands do not: all except the keys of model providers."""
    profile_keys = {profile.api_key_env for profile in base.config.models.values()}
    stored = load_keys(base.config.paths.secrets)
    model_keys = (
        profile_keys
        | stored.keys()
        | {name for vendor in PROVIDERS.values() for name in vendor.key_variables}
    )
    secrets = base.keys.collect_secrets(profile_keys)
    return {name: value for name, value in secrets.items() if name not in model_keys}


async def _ask_trusted(
    project: ProjectFiles, ask: HookFunction, facts: JsonMap, time_limit_s: float
) -> HookReply:
    present = await to_thread.run_sync(read_project_files, project.folder)
    if present.key != project.key:
        return HookReply(fault=PROJECT_CHANGED)
    return await ask(facts, time_limit_s)


async def ask_plugin_function(offered: OfferedHook, facts: JsonMap, time_limit_s: float) -> HookReply:
    """Run a plugin's function as a hook."""
    target: Callable[[JsonMap], Awaitable[object]] = offered.target
    try:
        with anyio.fail_after(time_limit_s), guard_plugin("It", PluginError):
            answer = await stop_though_shielded(target(facts))
    except TimeoutError:
        return HookReply(fault=f"It was stopped after {format_time_limit(time_limit_s)}, its time limit.")
    except TuiAgentError as error:
        return HookReply(fault=error.message)
    return HookReply() if answer is None else _check_answer(answer)


def _check_answer(answer: object) -> HookReply:
    if not isinstance(answer, HookAnswer):
        return HookReply(fault=f"It returned a {type(answer).__name__} instead of a HookAnswer.")
    fields = asdict(answer)
    try:
        printed = to_json({**fields, "decision": fields["decision"] or None}, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return HookReply(fault="Its answer contains values that JSON cannot represent.")
    checked = parse_answer(printed)
    if isinstance(checked, HookAnswer):
        return HookReply(checked)
    return HookReply(fault=f"Its answer is not valid: {checked}.")


def build_listeners(loaded: LoadedPlugins, report: Callable[[PluginFailed], object]) -> tuple[Listener, ...]:
    """Return one listener that passes events to the plugins' listeners; an empty tuple if there are none.

    `report`: called when a listener fails.
    """
    active = list(loaded.listeners)
    if not active:
        return ()

    def notify(envelope: Envelope) -> None:
        failed = []
        for listener in tuple(active):
            if listener.event not in ("*", envelope.payload.kind):
                continue
            try:
                with guard_plugin("It", PluginError):
                    listener.target(envelope)
            except TuiAgentError as error:
                active.remove(listener)
                message = f"{error.message}. It is not called again in this session."
                part = f"listener for {listener.event}"
                failed.append(PluginFailed(plugin=listener.owner, message=message, part=part))
        # Reported only after the loop, so that every listener gets the current event before the events of these
        # reports.
        for event in failed:
            report(event)

    return (notify,)
