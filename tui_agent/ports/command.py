"""Slash commands that a session offers besides those of its client: of plugins, of Markdown files, of MCP servers.

Invariant: a command changes nothing itself; what it returns is carried out by the engine.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.events.command import OfferedCommand


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer of a slash command: a message to the agent, blocks to show to the user, or both.

    `shell` are commands that the agent runs before its model is asked, each judged by the policy like any other call.
    """

    prompt: str = ""
    display: Sequence[DisplayBlock] = ()
    shell: Sequence[str] = ()


class SlashCommand(Protocol):
    """A slash command that runs in the engine."""

    @property
    def offer(self) -> OfferedCommand:
        """The command's name and help, as clients list them."""
        ...

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return what the command asks for. `arguments` is the text after its name. May raise `ConfigError`."""
        ...


@runtime_checkable
class ArgumentCompleter(Protocol):
    """A slash command that can complete its arguments. Clients ask it only if its offer sets `completes`."""

    async def complete(self, arguments: str, state: SessionStateView) -> Sequence[str]:
        """Return completions of `arguments`: whole texts that could replace it after the command's name."""
        ...
