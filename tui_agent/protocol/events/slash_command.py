"""Events of slash commands that the engine runs."""

from typing import Literal

from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.frozen_model import FrozenModel, Payload


class OfferedCommand(FrozenModel):
    """A slash command that a client can list and run. `name`: without the slash. `arguments`: hint such as `[DATE]`."""

    name: str
    help: str = ""
    arguments: str = ""
    source: str = ""
    """Path of the file that defines the command; empty if the command has no file."""
    completes: bool = False
    """True if the session can complete the command's arguments (`Session.complete`)."""


class CommandsOffered(Payload):
    """The slash commands of `owner` changed. `items`: the complete new list.

    `owner`: a plugin, `user` or `project` for Markdown files, or `mcp:NAME` for a server.
    """

    kind: Literal["commands.offered"] = "commands.offered"
    owner: str
    items: tuple[OfferedCommand, ...]


class CommandRan(Payload):
    """A slash command of the engine ran. `display` is shown to the user.

    `sends`: True if the command also sent a message to the agent.
    """

    kind: Literal["command.ran"] = "command.ran"
    name: str
    arguments: str = ""
    display: tuple[DisplayBlock, ...] = ()
    sends: bool = False
