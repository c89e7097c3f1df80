"""What plugins offer, each thing with its owner, and the one table of names that are taken.

Invariant: a plugin's offers are taken over whole or not at all; a name belongs to one plugin.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel

from tui_agent.ports.agent import Agent
from tui_agent.ports.environment import Environment
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.model import ModelClient
from tui_agent.ports.repomap import MapLanguage
from tui_agent.ports.tool import Tool
from tui_agent.protocol.events.hook import HookEvent
from tui_agent.protocol.settings import ModelInfo

AnyTool: TypeAlias = Tool[BaseModel]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool and its owner."""

    owner: str
    tool: AnyTool


@dataclass(frozen=True, slots=True)
class OfferedMiddleware:
    """A middleware, its place in the chain and its owner."""

    owner: str
    order: int
    middleware: Middleware


@dataclass(frozen=True, slots=True)
class OfferedAgent:
    """An agent of the hub; `make` gives a new one for each task."""

    owner: str
    name: str
    make: Callable[[], Agent]
    description: str = ""


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A provider; `make` gives a client for a profile that names it."""

    owner: str
    provider: str
    make: Callable[[ModelInfo], ModelClient]


@dataclass(frozen=True, slots=True)
class OfferedEnvironment:
    """An environment; `make` takes the workspace's absolute path."""

    owner: str
    name: str
    make: Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class LazyRef:
    """Something of the app's process: `target` is `"module:name"`, relative to the plugin; `words` its help or title.

    `loader.resolve` imports it when it is first needed.
    """

    owner: str
    name: str
    target: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class OfferedTheme:
    """A theme file that exists."""

    owner: str
    path: Path


@dataclass(frozen=True, slots=True)
class OfferedPolicyTable:
    """A table of programs, as text; the policy reads it."""

    owner: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class OfferedHook:
    """Whom to tell of an event kind (`*`: every kind) once it is stored."""

    owner: str
    event: str
    target: Callable[..., object]


@dataclass(frozen=True, slots=True)
class OfferedAsked:
    """A function that is asked before something happens, or told after it."""

    owner: str
    event: HookEvent
    target: Callable[..., Awaitable[object]]


@dataclass(frozen=True, slots=True)
class OfferedLanguage:
    """A language for the repository map."""

    owner: str
    language: MapLanguage


@dataclass(slots=True)
class Offers:
    """All that was registered: one plugin's while it registers, then everybody's."""

    tools: list[OfferedTool] = field(default_factory=list)
    middlewares: list[OfferedMiddleware] = field(default_factory=list)
    agents: list[OfferedAgent] = field(default_factory=list)
    models: list[OfferedModel] = field(default_factory=list)
    environments: list[OfferedEnvironment] = field(default_factory=list)
    commands: list[LazyRef] = field(default_factory=list)
    panes: list[LazyRef] = field(default_factory=list)
    projections: list[LazyRef] = field(default_factory=list)
    themes: list[OfferedTheme] = field(default_factory=list)
    policy_tables: list[OfferedPolicyTable] = field(default_factory=list)
    languages: list[OfferedLanguage] = field(default_factory=list)
    hooks: list[OfferedHook] = field(default_factory=list)
    asked: list[OfferedAsked] = field(default_factory=list)

    def add_all(self, other: "Offers") -> None:
        """Take over what one plugin registered; middlewares stay sorted by order, equal ones as they came."""
        self.tools += other.tools
        self.middlewares = sorted([*self.middlewares, *other.middlewares], key=lambda item: item.order)
        self.agents += other.agents
        self.models += other.models
        self.environments += other.environments
        self.commands += other.commands
        self.panes += other.panes
        self.projections += other.projections
        self.themes += other.themes
        self.policy_tables += other.policy_tables
        self.languages += other.languages
        self.hooks += other.hooks
        self.asked += other.asked
