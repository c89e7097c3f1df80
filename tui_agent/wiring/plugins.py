"""Composition of the plugins, and of their tools and agents."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tui_agent.config.extensions.agent_files import FOLDER as AGENTS
from tui_agent.config.extensions.command_files import FOLDER as COMMANDS
from tui_agent.config.project.other_agents_files import user_folders
from tui_agent.config.settings.settings import Config
from tui_agent.engine.agent_programs.program_agent import INSTALL_HINTS, PROGRAMS
from tui_agent.engine.plugins.wrappers import GuardedAgent
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.turns.engine_agents import ModelAgent
from tui_agent.errors import ConfigError, PluginError
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.load_records import RECORDS_FOLDER
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.plugin_folders import plugin_places
from tui_agent.ports.agent import Agent
from tui_agent.ports.environment import Environment, ExecSpec
from tui_agent.ports.tool import Tool
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.startup_context import StartupContext


def watched_folders(base: StartupContext) -> tuple[Path, ...]:
    """Return the folders of plugins and slash commands, in which the user can edit files."""
    # Of a project, only the trusted content is used, so its files are not watched.
    places = plugin_places(base.config, base.options)
    paths = base.config.paths
    commands = (paths.config_dir / COMMANDS, *user_folders(paths, "commands"))
    folders = (places.user, *places.extra, *commands)
    return tuple(folder for folder in folders if folder is not None)


def load_external_plugins(base: StartupContext) -> LoadedPlugins:
    """Load only plugins that are not bundled."""
    places = replace(plugin_places(base.config, base.options), bundled=None)
    config = base.config
    return PluginHost(
        places, config.plugins_disabled, config.plugins_enabled, records=load_records_folder(base)
    ).load()


def plugin_host(base: StartupContext) -> PluginHost:
    """Return the host of all enabled plugins, before loading."""
    host = PluginHost(PluginPlaces(), records=load_records_folder(base))
    configure_host(host, base, base.config)
    return host


def configure_host(host: PluginHost, base: StartupContext, config: Config) -> None:
    """Set the folders and the enabled plugins of the host, as in `config`."""
    places = replace(plugin_places(config, base.options), keys=base.keys)
    host.configure(places, config.plugins_disabled, config.plugins_enabled)


def load_records_folder(base: StartupContext) -> Path:
    """Return the folder of the records about plugins that are being loaded or left out."""
    return base.config.paths.cache_dir / RECORDS_FOLDER


def agent_folders(host: PluginHost) -> list[Path]:
    """Return the folders of the enabled plugins' Markdown agents."""
    plugins = [plugin for plugin in host.list_plugins() if host.is_enabled(plugin)]
    return [plugin.path / AGENTS for plugin in plugins if plugin.path is not None and plugin.path.is_dir()]


def build_tool_registry(
    loaded: LoadedPlugins,
    more: Iterable[tuple[str, Tool[Any]]] = (),
    ablation: Ablation | None = None,
) -> tuple[ToolRegistry, list[PluginFailed]]:
    """Return a registry of the plugins' tools and the tools in `more`, and an event for each refused tool."""
    registry = ToolRegistry()
    failed = []
    offers: list[tuple[str, Tool[Any]]] = [(offered.owner, offered.tool) for offered in loaded.tools]
    for owner, tool in [*offers, *more]:
        if ablation is not None and ablation.leaves_out("tool", tool.spec.name):
            continue
        try:
            registry.add(owner, tool)
        except PluginError as error:
            failed.append(PluginFailed(plugin=owner, message=str(error), part=f"tool {tool.spec.name}"))
    return registry, failed


def agent_factories(loaded: LoadedPlugins) -> dict[str, Callable[[], Agent]]:
    """Map each agent's name to its factory. The default agent is included."""
    agents: dict[str, Callable[[], Agent]] = {"default": ModelAgent}
    agents |= {name: partial(_refuse_program, name) for name in PROGRAMS}
    for offered in loaded.agents:
        # A plugin cannot replace a built-in agent.
        agents.setdefault(offered.name, partial(GuardedAgent, offered.owner, offered.name, offered.make))
    return agents


def _refuse_program(name: str) -> Agent:
    """Raise `ConfigError`, because the agent `name` is an external program."""
    raise ConfigError(
        f"The agent {name} is a program, which cannot run here.", hint="Choose another --agent."
    )


async def require_program(env: Environment, agent: str) -> None:
    """Raise `ConfigError` if the agent is an external program missing in `env`.

    `env`: a started environment.
    """
    if agent not in PROGRAMS:
        return
    program = PROGRAMS[agent]({}).program
    # Outside the sandbox, like the agent itself later: the sandbox can hide the program's folder.
    spec = ExecSpec(script=f"command -v {program}", unsandboxed=True)
    if (await env.exec(spec, lambda piece: None)).exit_code != 0:
        raise missing_program(agent, env.name)


def missing_program(agent: str, environment: str) -> ConfigError:
    """Return the error for an agent if its program is missing in an environment."""
    program = PROGRAMS[agent]({}).program
    return ConfigError(
        f"The agent {agent} needs the program {program}, which was not found in the environment {environment}.",
        hint=f"{INSTALL_HINTS[agent]}.",
    )


def require_agent(name: str, agents: Collection[str]) -> None:
    """Raise `ConfigError` if there is no agent of this name."""
    if name not in agents:
        raise ConfigError(f"There is no agent {name!r}.", hint=f"Choose one of: {', '.join(sorted(agents))}.")
