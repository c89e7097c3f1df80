"""The parts of an engine that can change during a session: tools, middlewares, agents, hooks and listeners.

Invariant: all parts are replaced together, between two iterations of the main agent. No iteration uses both old and new
parts. A delegate keeps the extensions that it started with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tui_agent.engine.recorder import EventListener, Recorder
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.agent import Agent
from tui_agent.ports.command import SlashCommand
from tui_agent.ports.hook import Hook
from tui_agent.ports.middleware import Middleware
from tui_agent.protocol.events.base import Payload


@dataclass(frozen=True, slots=True)
class Extensions:
    """Everything that plugins and the user's hooks add to an engine."""

    tools: ToolRegistry
    middlewares: Sequence[Middleware] = ()
    agents: Mapping[str, Callable[[], Agent]] = field(default_factory=dict)
    hooks: Sequence[Hook] = ()
    """The hooks of the session, in the order in which they run."""
    listeners: Sequence[EventListener] = ()
    commands: Mapping[str, SlashCommand] = field(default_factory=dict)
    """The slash commands that run in the engine, by name."""
    unusable_commands: Mapping[str, str] = field(default_factory=dict)
    """Why a command file cannot be used, by the command's name."""


@dataclass(frozen=True, slots=True)
class ChangedExtensions:
    """New extensions, with the events that record the changes."""

    extensions: Extensions
    events: Sequence[Payload]


class CurrentExtensions:
    """The extensions in use, and the waiting extensions that replace them at the next iteration."""

    def __init__(self, extensions: Extensions) -> None:
        self.value = extensions
        self._waiting: list[ChangedExtensions] = []

    def replace_later(self, changed: ChangedExtensions) -> None:
        """Use these extensions from the next iteration on."""
        self._waiting.append(changed)

    def take_over(self, recorder: Recorder) -> None:
        """Replace the extensions by the waiting ones, if there are any, and record each change once."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        self.value = waiting[-1].extensions
        recorder.listeners = self.value.listeners
        events = [event for changed in waiting for event in changed.events]
        for index, event in enumerate(events):
            if event not in events[index + 1 :]:
                recorder.append(event)
