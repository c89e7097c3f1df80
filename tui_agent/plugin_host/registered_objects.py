"""Data classes for the objects that plugins register. Each object names its plugin (`owner`).

Invariant: no two tools (or other objects of one kind) in use have the same name.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from anyio import to_thread
from pydantic import BaseModel

from tui_agent.errors import PluginError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.agent import Agent
from tui_agent.ports.environment import Environment
from tui_agent.ports.eval_functions import Oracle, Verifier
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.model import ModelClient
from tui_agent.ports.repomap import MapLanguage
from tui_agent.ports.slash_command import CommandAnswer
from tui_agent.ports.tool import Tool
from tui_agent.protocol.events.hook import HookEvent
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.protocol.settings import ModelInfo

CommandFunction: TypeAlias = Callable[[str, SessionStateView], Awaitable[object]]
CompletionFunction: TypeAlias = Callable[[str, SessionStateView], object]
AnyTool: TypeAlias = Tool[BaseModel]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a plugin registered."""

    owner: str
    tool: AnyTool


@dataclass(frozen=True, slots=True)
class OfferedMiddleware:
    """A middleware that a plugin registered, with its position among the middlewares."""

    owner: str
    order: int
    middleware: Middleware


MakeT = TypeVar("MakeT", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class OfferedFactory(Generic[MakeT]):
    """A plugin's factory for agents, model clients or environments."""

    owner: str
    name: str
    make: MakeT
    description: str = ""


@dataclass(frozen=True, slots=True)
class OfferedPolicyTable:
    """A policy table that a plugin registered: TOML text that describes programs."""

    owner: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class OfferedListener:
    """A plugin's function that is called after each stored event of a kind (`*`: every kind)."""

    owner: str
    event: str
    target: Callable[..., object]


@dataclass(frozen=True, slots=True)
class OfferedHook:
    """A plugin's function that is called at a hook event, such as `before_tool`."""

    owner: str
    event: HookEvent
    target: Callable[..., Awaitable[object]]


@dataclass(frozen=True, slots=True)
class OfferedSlashCommand:
    """A slash command that a plugin registered.

    - `function`: an `async` function. It gets the text after the command's name, and the session's state.
    - `completion`: a function with the same parameters. It returns possible completions of the typed text.
    """

    owner: str
    offer: OfferedCommand
    function: CommandFunction
    completion: CompletionFunction | None = None

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Call `function` and return its answer. If `function` returns a text, the text becomes a message to the agent.

        Raise `PluginError` if `function` returns anything else than a text, a display block or a `CommandAnswer`.
        """
        result = await self.function(arguments, state)
        if isinstance(result, str):
            return CommandAnswer(result)
        if isinstance(result, CommandAnswer):
            return result
        if isinstance(result, BaseModel):
            return CommandAnswer(display=(result,))  # type: ignore[arg-type] # checked when it is recorded
        raise PluginError(
            f"it returned {type(result).__name__}; return a text, a display block or a CommandAnswer"
        )

    async def complete(self, arguments: str, state: SessionStateView) -> Sequence[str]:
        """Return the completions of the typed `arguments`; empty if the command has no function for completion."""
        if self.completion is None:
            return ()
        if inspect.iscoroutinefunction(self.completion):
            completions = await self.completion(arguments, state)
        else:
            completions = await to_thread.run_sync(self.completion, arguments, state, abandon_on_cancel=True)
        if isinstance(completions, str) or not all(isinstance(text, str) for text in completions):
            raise PluginError("its completion did not return a list of texts")
        return list(completions)


@dataclass(frozen=True, slots=True)
class OfferedLanguage:
    """A language that a plugin registered for the repository map."""

    owner: str
    language: MapLanguage


@dataclass(slots=True)
class Offers:
    """Everything that one plugin, or all plugins together, registered."""

    tools: list[OfferedTool] = field(default_factory=list)
    middlewares: list[OfferedMiddleware] = field(default_factory=list)
    agents: list[OfferedFactory[Callable[[], Agent]]] = field(default_factory=list)
    models: list[OfferedFactory[Callable[[ModelInfo], ModelClient]]] = field(default_factory=list)
    environments: list[OfferedFactory[Callable[[Path], Environment]]] = field(default_factory=list)
    policy_tables: list[OfferedPolicyTable] = field(default_factory=list)
    languages: list[OfferedLanguage] = field(default_factory=list)
    listeners: list[OfferedListener] = field(default_factory=list)
    hooks: list[OfferedHook] = field(default_factory=list)
    commands: list[OfferedSlashCommand] = field(default_factory=list)
    oracles: list[OfferedFactory[Oracle]] = field(default_factory=list)
    verifiers: list[OfferedFactory[Verifier]] = field(default_factory=list)

    def add_all(self, other: "Offers") -> None:
        """Add everything from `other`; middlewares stay sorted by `order`."""
        for kind in fields(Offers):
            getattr(self, kind.name).extend(getattr(other, kind.name))
        self.middlewares.sort(key=lambda offered: offered.order)
