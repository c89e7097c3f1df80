"""Slash commands that plugins, Markdown files and MCP servers add to a session.

Invariant: a command only returns an answer, and the engine carries the answer out.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.events.slash_command import OfferedCommand


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer of a slash command: a message to the agent, blocks to show to the user, or both.

    `shell`: shell commands that run before the agent's model is asked. Each of them needs the usual permission.
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
        """Return the answer to the command. Can raise `ConfigError`.

        `arguments` is the text after the command's name.
        """
        ...


@runtime_checkable
class ArgumentCompleter(Protocol):
    """A slash command that can complete its arguments."""

    async def complete(self, arguments: str, state: SessionStateView) -> Sequence[str]:
        """Return completions of `arguments`. Each completion replaces the whole text of `arguments`."""
        ...
