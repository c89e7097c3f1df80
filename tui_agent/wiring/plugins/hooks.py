"""Composition of the hooks: commands of the user, commands of a trusted project, and functions of plugins.

Invariant: a project's hook runs only while the project's files are unchanged since they were trusted.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial

import anyio
from anyio import to_thread
from pydantic_core import PydanticSerializationError, to_json

from tui_agent.config.extensions.claude_hooks import (
    describe_event,
    load_claude_hooks,
    matcher_subject,
    read_answer,
)
from tui_agent.config.project.project_files import ProjectFiles, read_project_files
from tui_agent.config.settings.api_keys import load_keys
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.config.settings.settings import HookSettings
from tui_agent.engine.plugins.guard import guard_plugin
from tui_agent.engine.plugins.stop import stop_though_shielded
from tui_agent.engine.recorder import EventListener as Listener
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.plugin_host.offers import OfferedHookFunction
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import Hook, HookAnswer, HookFunction, HookReply
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.hook import HookSource
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.units import format_time_limit
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.hook_command import HookCommand, parse_answer

PROJECT_CHANGED = "The project's files changed since you trusted them. Run `tui-agent trust` to review them."


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
        for offered in loaded.asked
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


async def ask_plugin_function(offered: OfferedHookFunction, facts: JsonMap, time_limit_s: float) -> HookReply:
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
    active = list(loaded.hooks)
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
