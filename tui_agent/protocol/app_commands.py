"""The names of the app's own slash commands, and descriptions of the commands that other clients offer too.

Invariant: the names are the same as in `tui.actions.TYPED` (a test compares them).
"""

from typing import Final

from tui_agent.protocol.events.slash_command import OfferedCommand

APP_COMMANDS: Final = frozenset(
    """
accept-edits agent agents base-url branches bug changes checkpoints clear commands compact compare config
context copy cost delegate diff doctor editor effort evals exit export find fork help history init jobs keys
login map mcp memory model models new notes pane paste pause permissions plan plugins policy provider q quit
read reasoning redo reload rename replay reset reset-session resume revert review rewind run search
send-queued session sessions settings skills status summarise summarize theme think todo tools trace tree
trust undo unqueue usage vim what-if
""".split()  # noqa: SIM905 - read as prose
)
SHARED_COMMANDS: Final = (
    OfferedCommand(name="compact", help="summarise old turns", arguments="[FOCUS]"),
    OfferedCommand(
        name="undo",
        help="undo the last turn and its file changes, or turn N and all later ones",
        arguments="[turn N]",
    ),
    OfferedCommand(name="redo", help="redo what you last undid"),
    OfferedCommand(name="context", help="show what fills the context"),
    OfferedCommand(name="cost", help="show spending"),
    OfferedCommand(name="status", help="show model, policy, sandbox, context and cost"),
    OfferedCommand(name="commands", help="list the commands that plugins and Markdown files add"),
    OfferedCommand(name="reload", help="reload plugins that have changed"),
)
"""Slash commands that are also offered outside the app, for example in editors. These clients send the command as a
message."""
NO_OWN_COMMANDS: Final = (
    "There are no commands of your own yet. Add one as commands/NAME.md in your configuration folder, or as "
    ".tui_agent/commands/NAME.md in a trusted project."
)
"""The text for users without slash commands of their own."""
