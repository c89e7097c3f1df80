"""Actions about branches and forks: the tree, a fork, a what-if, the checkpoints."""

from collections.abc import Callable

from tui_agent.folds.transcript.entries import UserEntry
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.tree import fork as forking
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.screens.tree.screen import TreeScreen

NOTHING = "There is nothing to fork yet: nothing was said."


def tree(context: AppContext, argument: str) -> None:
    """The branches of the session, and the sessions around it."""
    context.app.push_screen(TreeScreen(context))


def checkpoints(context: AppContext, argument: str) -> None:
    """The states of the files that can come back."""
    context.app.push_screen(CheckpointsScreen(context))


def fork(context: AppContext, argument: str) -> None:
    """A new session that goes on from an event; from the newest one where none is named."""
    seq = _event(context, argument, "/fork", context.views.seq)
    if seq is not None:
        context.worker(_fork(context, seq), "fork")


async def _fork(context: AppContext, seq: int) -> None:
    spot = await forking.spot_here(context, seq)
    if spot is None:
        context.app.say(NOTHING, "warning")
    else:
        forking.fork(context, spot, context.app.say)


def what_if(context: AppContext, argument: str) -> None:
    """The same again with one thing changed; the newest message is answered again where no event is named."""
    asked = [one for one in context.views.transcript.view().entries if isinstance(one, UserEntry)]
    newest = next((one.seq for one in reversed(asked) if one.state in ("sent", "steered")), -1)
    seq = _event(context, argument, "/what-if", newest)
    if seq is not None:
        context.worker(_what_if(context, seq), "what if")


async def _what_if(context: AppContext, seq: int) -> None:
    spot = await forking.spot_here(context, seq)
    if spot is None or seq < 0:
        context.app.say(NOTHING, "warning")
    else:
        forking.what_if(context, spot, context.app.say)


def _event(context: AppContext, argument: str, slash: str, default: int) -> int | None:
    if not argument:
        return default
    if argument.isdecimal() and int(argument) <= context.views.seq:
        return int(argument)
    context.app.say(f"{slash} takes the number of an event, up to {context.views.seq}.", "warning")
    return None


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "tree": tree,
    "checkpoints": checkpoints,
    "fork": fork,
    "what_if": what_if,
}
