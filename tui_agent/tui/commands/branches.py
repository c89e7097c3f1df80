"""Commands about branches: a fork, and a what-if."""

from tui_agent.folds.transcript.entries import UserEntry
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.tree import fork as forking

NOTHING = "Nothing to fork yet: send a message first."


def fork(context: AppContext, argument: str) -> None:
    """Fork the session at an event, by default the newest."""
    seq = _parse_event(context, argument, "/fork", context.views.seq)
    if seq is not None:
        context.worker(_fork(context, seq), "fork")


async def _fork(context: AppContext, seq: int) -> None:
    point = await forking.fork_point_here(context, seq)
    if point is None:
        context.app.say(NOTHING, "warning")
    else:
        forking.fork(context, point, context.app.say)


def what_if(context: AppContext, argument: str) -> None:
    """Run a message again with one thing changed, by default the newest message."""
    messages = [entry for entry in context.views.transcript.view().entries if isinstance(entry, UserEntry)]
    newest = next((entry.seq for entry in reversed(messages) if entry.state in ("sent", "steered")), -1)
    seq = _parse_event(context, argument, "/what-if", newest)
    if seq is not None:
        context.worker(_what_if(context, seq), "what if")


async def _what_if(context: AppContext, seq: int) -> None:
    point = await forking.fork_point_here(context, seq)
    if point is None or seq < 0:
        context.app.say(NOTHING, "warning")
    else:
        forking.what_if(context, point, context.app.say)


def _parse_event(context: AppContext, argument: str, slash: str, default: int) -> int | None:
    if not argument:
        return default
    if argument.isdecimal() and int(argument) <= context.views.seq:
        return int(argument)
    context.app.say(f"{slash} takes the number of an event, up to {context.views.seq}.", "warning")
    return None
