"""Data classes for what plugins register, each with its owner.

Invariant: a plugin's offers are taken over completely or not at all; a name belongs to one plugin.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from tui_agent.ports.agent import Agent
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
    """A middleware, its order in the chain and its owner."""

    owner: str
    order: int
    middleware: Middleware


MakeT = TypeVar("MakeT", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class OfferedFactory(Generic[MakeT]):
    """Something that `make` creates on demand: an agent for a task, a client for a model."""

    owner: str
    name: str
    make: MakeT
    description: str = ""


@dataclass(frozen=True, slots=True)
class OfferedPolicyTable:
    """A table of programs as text; the policy parses it."""

    owner: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class OfferedHook:
    """A function to call after an event of this kind is stored (`*`: every kind)."""

    owner: str
    event: str
    target: Callable[..., object]


@dataclass(frozen=True, slots=True)
class OfferedHookFunction:
    """A function to call at a hook event, before or after something happens."""

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
    """Everything registered by one plugin, or by all plugins together."""

    tools: list[OfferedTool] = field(default_factory=list)
    middlewares: list[OfferedMiddleware] = field(default_factory=list)
    agents: list[OfferedFactory[Callable[[], Agent]]] = field(default_factory=list)
    models: list[OfferedFactory[Callable[[ModelInfo], ModelClient]]] = field(default_factory=list)
    policy_tables: list[OfferedPolicyTable] = field(default_factory=list)
    languages: list[OfferedLanguage] = field(default_factory=list)
    hooks: list[OfferedHook] = field(default_factory=list)
    asked: list[OfferedHookFunction] = field(default_factory=list)

    def add_all(self, other: "Offers") -> None:
        """Add what one plugin registered; middlewares are kept sorted by order, in order of arrival if equal."""
        for kind in fields(Offers):
            getattr(self, kind.name).extend(getattr(other, kind.name))
        self.middlewares.sort(key=lambda offered: offered.order)
