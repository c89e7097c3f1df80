"""Prompts of MCP servers as slash commands: `/SERVER:PROMPT`."""

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.slash_command import CommandAnswer
from tui_agent.protocol.events.slash_command import OfferedCommand

GetPrompt: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[str]]
"""Function that returns the text of a server's prompt. Its arguments are the prompt's name and arguments."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt as its server describes it; `arguments` maps each name to True if it is required."""

    name: str
    description: str
    arguments: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class PromptCommand:
    """A slash command that sends a server's prompt to the agent."""

    server: str
    prompt: RemotePrompt
    get: GetPrompt

    @property
    def offer(self) -> OfferedCommand:
        """The command's name and help, as clients list them."""
        hints = (name if required else f"[{name}]" for name, required in self.prompt.arguments.items())
        name = f"{self.server}:{_ODD.sub('-', self.prompt.name)[:40]}"
        return OfferedCommand(
            name=name,
            help=self.prompt.description,
            arguments=" ".join(hints),
            source=f"MCP server {self.server}",
        )

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the prompt's text.

        `arguments`: values as the user typed them, as `name=value` or in the order of the prompt's arguments.

        Raise `ConfigError` if a required argument is missing or the server refuses.
        """
        values = self._parse_arguments(arguments)
        missing = [
            name for name, required in self.prompt.arguments.items() if required and name not in values
        ]
        if missing:
            raise ConfigError(
                f"/{self.offer.name} needs {', '.join(missing)}.",
                hint=f"Type /{self.offer.name} {self.offer.arguments}.",
            )
        return CommandAnswer(await self.get(self.prompt.name, values))

    def _parse_arguments(self, arguments: str) -> dict[str, str]:
        """Return a dict from name to value. The last argument takes all remaining words."""
        try:
            words = shlex.split(arguments)
        except ValueError:  # an unclosed quote
            words = arguments.split()
        values: dict[str, str] = {}
        rest: list[str] = []
        for word in words:
            name, equals, value = word.partition("=")
            if equals and name in self.prompt.arguments:
                values[name] = value
            else:
                rest.append(word)
        free = [name for name in self.prompt.arguments if name not in values]
        for number, name in enumerate(free):
            if rest:
                is_last = number == len(free) - 1
                values[name] = " ".join(rest) if is_last else rest[0]
                rest = [] if is_last else rest[1:]
        return values
