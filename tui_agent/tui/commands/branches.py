"""Actions about branches and forks: the tree, a fork, a what-if, the checkpoints."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.folds.transcript.entries import UserEntry
from tui_agent.tui.screens.tree import fork as forking
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.screens.tree.screen import TreeScreen

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

NOTHING = "There is nothing to fork yet: nothing was said."


def tree(live: "Live", argument: str) -> None:
    """The branches of the session, and the sessions around it."""
    live.app.push_screen(TreeScreen(live))


def checkpoints(live: "Live", argument: str) -> None:
    """The states of the files that can come back."""
    live.app.push_screen(CheckpointsScreen(live))


def fork(live: "Live", argument: str) -> None:
    """A new session that goes on from an event; from the newest one where none is named."""
    seq = _event(live, argument, "/fork", live.views.seq)
    if seq is not None:
        live.worker(_fork(live, seq), "fork")


async def _fork(live: "Live", seq: int) -> None:
    spot = await forking.spot_here(live, seq)
    if spot is None:
        live.app.say(NOTHING, "warning")
    else:
        forking.fork(live, spot, live.app.say)


def what_if(live: "Live", argument: str) -> None:
    """The same again with one thing changed; the newest message is answered again where no event is named."""
    asked = [one for one in live.views.transcript.view().entries if isinstance(one, UserEntry)]
    newest = next((one.seq for one in reversed(asked) if one.state in ("sent", "steered")), -1)
    seq = _event(live, argument, "/what-if", newest)
    if seq is not None:
        live.worker(_what_if(live, seq), "what if")


async def _what_if(live: "Live", seq: int) -> None:
    spot = await forking.spot_here(live, seq)
    if spot is None or seq < 0:
        live.app.say(NOTHING, "warning")
    else:
        forking.what_if(live, spot, live.app.say)


def _event(live: "Live", argument: str, slash: str, default: int) -> int | None:
    if not argument:
        return default
    if argument.isdecimal() and int(argument) <= live.views.seq:
        return int(argument)
    live.app.say(f"{slash} takes the number of an event, up to {live.views.seq}.", "warning")
    return None


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
    "tree": tree,
    "checkpoints": checkpoints,
    "fork": fork,
    "what_if": what_if,
}
