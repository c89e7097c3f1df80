"""The slash commands that run in the engine, as the prompt's menu lists them."""

from collections.abc import Mapping, Sequence

from tui_agent.protocol.events.command import OfferedCommand
from tui_agent.tui.actions import TYPED, Action


def offered_actions(commands: Mapping[str, Sequence[OfferedCommand]]) -> tuple[Action, ...]:
    """Return an action for each command that does not have the name of an app command.

    `commands` maps the owner of commands, e.g. a plugin, to its commands.
    """
    return tuple(
        Action(
            f"offered:{item.name}",
            item.help or f"a command of {owner}",
            "Commands",
            slash=f"/{item.name}",
            args=item.arguments,
        )
        for owner, items in sorted(commands.items())
        for item in items
        if f"/{item.name}" not in TYPED
    )
