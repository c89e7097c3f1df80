"""The components that the engine uses but does not create.

Invariant: all extensions (tools, middlewares, agents, hooks, listeners) are replaced together, between two iterations.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.context.token_counter import Tokens
from tui_agent.engine.recorder import EventListener, Recorder
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.fast_dataclass import dataclass
from tui_agent.models.retry_waits import MAX_RETRIES
from tui_agent.ports.agent import Agent
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.clock import Clock, Ids
from tui_agent.ports.delegate import DelegationRules
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import Hook
from tui_agent.ports.log import Blobs, OtherChange
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.model import ModelClient
from tui_agent.ports.policy import Policy
from tui_agent.ports.repomap import RepoMaps
from tui_agent.ports.slash_command import SlashCommand
from tui_agent.ports.symbols_and_skills import Knowledge
from tui_agent.ports.tool import Service, ToolServers
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.settings import Effort, ModelInfo
from tui_agent.protocol.stored_text import JsonMap


@dataclass(frozen=True, slots=True)
class Extensions:
    """Everything that plugins and the user's hooks add to an engine."""

    tools: ToolRegistry
    middlewares: Sequence[Middleware] = ()
    agents: Mapping[str, Callable[[], Agent]] = field(default_factory=dict)
    hooks: Sequence[Hook] = ()
    """The session's hooks, in the order in which they run."""
    listeners: Sequence[EventListener] = ()
    commands: Mapping[str, SlashCommand] = field(default_factory=dict)
    """The slash commands that run in the engine, by name."""
    unusable_commands: Mapping[str, str] = field(default_factory=dict)
    """Maps the name of a command to the reason why the command's file cannot be used."""


@dataclass(frozen=True, slots=True)
class ChangedExtensions:
    """New extensions, and the events that record how they differ from the previous extensions."""

    extensions: Extensions
    events: Sequence[Payload]


class CurrentExtensions:
    """The extensions in use, and the extensions that replace them at the next iteration."""

    def __init__(self, extensions: Extensions) -> None:
        self.value = extensions
        self._waiting: list[ChangedExtensions] = []

    def replace_later(self, changed: ChangedExtensions) -> None:
        """Use these extensions from the next iteration on."""
        self._waiting.append(changed)

    def take_over(self, recorder: Recorder) -> None:
        """If new extensions are waiting, use them and record each change once."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        self.value = waiting[-1].extensions
        recorder.listeners = self.value.listeners
        events = [event for changed in waiting for event in changed.events]
        for index, event in enumerate(events):
            if event not in events[index + 1 :]:
                recorder.append(event)


ResolveModel = Callable[[str, str, Effort | None], ModelInfo]
"""Function (model's name, base URL, effort) that returns the description of a model.

Raise `ConfigError` if there is no such model.
"""


def is_overridden(method: Callable[..., object], default: Callable[..., object]) -> bool:
    """Return True if a bound method overrides the base class's function `default`."""
    return getattr(method, "__func__", None) is not default


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The components of an engine.

    `remember_rule`: permanently stores a permission rule for a workspace (empty: all workspaces). Raises `ConfigError`
    on failure.
    """

    recorder: Recorder
    blobs: Blobs
    env: Environment
    extensions: CurrentExtensions
    policy: Policy
    client_for: Callable[[ModelInfo], ModelClient]
    resolve_model: ResolveModel
    tokens: Tokens
    repomap: RepoMaps | None
    """Renderer of the repository map, or None."""
    jitter: Callable[[], float]
    """Function that returns a random number in [0, 1) to vary the wait between tries."""
    clock: Clock
    ids: Ids
    interactive: bool = True
    turn_seconds: float | None = None
    """Default time limit of a turn in seconds. None means no limit."""
    missing_services: Collection[Service] = ()
    """Services that tools need but that this run lacks."""
    remember_rule: Callable[[str, str], None] | None = None
    try_confined: bool = False
    """True if a command that the policy cannot analyse is first tried in the sandbox."""
    remember_readable: Callable[[Sequence[str]], None] | None = None
    """Function that permanently lets commands read the given files.

    Raise `ConfigError` if the permission cannot be saved.
    """
    max_retries: int = MAX_RETRIES
    checkpoints: Checkpoints | None = None
    """The store of checkpoints (None: no checkpoints are taken)."""
    hook_facts: JsonMap = field(default_factory=dict)
    """Facts that are passed to every hook, such as the session's id and folder."""
    compaction_limits: CompactionSettings = field(default_factory=CompactionSettings)
    """The limits that start a compaction of the history."""
    delegation: DelegationRules = field(default_factory=DelegationRules)
    """The roles and limits of delegates."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    """Services that look up skills and definitions of symbols in the workspace."""
    load_changed: Callable[[bool], ChangedExtensions | None] | None = None
    """Function that loads changed plugins. With the argument True, it also loads plugins that failed earlier.

    Returns None if nothing has changed. Blocks: call it in a thread.
    """
    tool_servers: ToolServers | None = None
    find_changes_by_others: Callable[[str, float], Iterable[OtherChange]] | None = None
    """Function (workspace, time) that returns other sessions' file changes after this time.

    Blocks: call it in a thread.

    The time is in seconds since the epoch.
    """

    @property
    def tools(self) -> ToolRegistry:
        return self.extensions.value.tools

    @property
    def middlewares(self) -> Sequence[Middleware]:
        return self.extensions.value.middlewares

    @property
    def agents(self) -> Mapping[str, Callable[[], Agent]]:
        return self.extensions.value.agents

    @property
    def hooks(self) -> Sequence[Hook]:
        return self.extensions.value.hooks

    def with_agents(
        self, agents: Mapping[str, Callable[[], Agent]], middlewares: Sequence[Middleware] | None = None
    ) -> "EngineParts":
        """Return a copy with the given agents and, if `middlewares` is not None, with the given middlewares."""
        value = self.extensions.value
        wrapping = value.middlewares if middlewares is None else middlewares
        changed = replace(value, agents=agents, middlewares=wrapping)
        return replace(self, extensions=CurrentExtensions(changed))
