"""Puts the hooks of a start together: the user's commands, a trusted project's, and plugins' functions.

Invariant: a project's hook runs only while its files are those that were trusted; a plugin's that fails is said in its
reply, and one that only listens is not called again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import anyio
from anyio import to_thread
from pydantic_core import PydanticSerializationError, to_json

from tui_agent.config.project_files import ProjectFiles, look
from tui_agent.config.secrets import load
from tui_agent.config.vendors import VENDORS
from tui_agent.engine.recorder import Hook as Listener
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.plugin_host.offers import OfferedAsked
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import AskHook, Hook, HookAnswer, HookReply
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.envelope import Envelope
from tui_agent.wiring.base import Ground
from tui_agent.workspace.local.hook_command import HookCommand, read_answer

CHANGED = "The project's files are not those that were trusted. `tui-agent trust` shows and decides."


def hooks(base: Ground, loaded: LoadedPlugins, env: Environment) -> tuple[Hook, ...]:
    """All hooks in the order in which they are asked: the user's, the project's, plugins'."""
    variables = _left_out_for_agents(base)
    project = base.config.project
    found = []
    for one, source in base.config.hooks:
        ask: AskHook = HookCommand(env, one.command, variables).ask
        if source == "project":
            if project is None:
                continue
            ask = _Trusted(project, ask).ask
        found.append(Hook(one.event, " ".join(one.command.split()), source, ask, one.pattern, one.timeout))
    asked = (Hook(one.event, f"plugin {one.owner}", "plugin", _Function(one).ask) for one in loaded.asked)
    return (*found, *asked)


def _left_out_for_agents(base: Ground) -> dict[str, str]:
    """Variables with secrets that no command of an agent's is shown, but the user's own hooks are: all but the keys
    of model providers."""
    named = {profile.api_key_env for profile in base.config.models.values()}
    stored = load(base.config.paths.secrets)
    keys = named | stored.keys() | {name for vendor in VENDORS.values() for name in vendor.keys}
    return {name: value for name, value in base.keys.secrets(named).items() if name not in keys}


@dataclass(frozen=True, slots=True)
class _Trusted:
    """A project's hook, asked only while the project is as it was trusted."""

    project: ProjectFiles
    inner: AskHook

    async def ask(self, asked: JsonMap, time_limit_s: float) -> HookReply:
        now = await to_thread.run_sync(look, self.project.folder)
        if now.key != self.project.key:
            return HookReply(fault=CHANGED)
        return await self.inner(asked, time_limit_s)


@dataclass(frozen=True, slots=True)
class _Function:
    """A plugin's function as a hook."""

    offered: OfferedAsked

    async def ask(self, asked: JsonMap, time_limit_s: float) -> HookReply:
        target: Callable[[JsonMap], Awaitable[object]] = self.offered.target
        try:
            with anyio.fail_after(time_limit_s):
                answer = await target(asked)
        except TimeoutError:
            return HookReply(fault=f"It was stopped after {time_limit_s:g} s, its time limit.")
        except Exception as error:  # noqa: BLE001 - a supervisor: a plugin's fault is said, and ends nothing
            return HookReply(fault=f"It failed: {type(error).__name__}: {error}")
        return HookReply() if answer is None else _checked(answer)


def _checked(answer: object) -> HookReply:
    """An answer as a command could have printed it; a fault where it is none."""
    if not isinstance(answer, HookAnswer):
        return HookReply(fault=f"It gave a {type(answer).__name__}, which is no HookAnswer.")
    said = asdict(answer)
    try:
        printed = to_json({**said, "decision": said["decision"] or None}, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return HookReply(fault="Its answer holds what JSON cannot say.")
    read = read_answer(printed)
    return HookReply(read) if isinstance(read, HookAnswer) else HookReply(fault=f"It gave no answer: {read}.")


def listeners(loaded: LoadedPlugins) -> tuple[Listener, ...]:
    """One function that tells plugins of events; one that fails is not called again."""
    listening = list(loaded.hooks)
    if not listening:
        return ()

    def tell(envelope: Envelope) -> None:
        for one in tuple(listening):
            if one.event not in ("*", envelope.payload.kind):
                continue
            try:
                one.target(envelope)
            except Exception:  # noqa: BLE001 - a supervisor: a plugin's listener must not stop the recorder
                listening.remove(one)

    return (tell,)
