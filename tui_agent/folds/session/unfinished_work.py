"""The ends of work that was still open when its engine stopped.

Invariant: the next run records the same ends in the log (`engine/open_calls.py`, `session/resume.py`). A screen
therefore shows the same now and after the session is opened again.
"""

from typing import Final

from tui_agent.folds.session.view import OpenCall, SessionStateView
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.events.turn import TurnFinished, UserShellFinished

PROGRAM_ENDED: Final = "The program ended in this turn."
SUMMARIES: Final[dict[ToolStatus, str]] = {"interrupted": "stopped", "lost": "lost"}
"""Maps the status of an unfinished call to the result that the screen shows."""


def unfinished_status(call: OpenCall, *, crashed: bool) -> ToolStatus:
    """Return `lost` if the engine crashed and the call's effects are unknown. Otherwise return `interrupted`."""
    return "lost" if crashed and call.started and not call.waits_for_delegate else "interrupted"


def ends_after_crash(state: SessionStateView) -> list[ToolFinished | UserShellFinished | TurnFinished]:
    """Return the events that end the calls, the turn and the user's command that ran when the engine stopped. Nothing
    ends while a call waits for approval: the next run asks the user again.
    """
    if any(call.awaits_decision for call in state.open_calls):
        return []
    ends: list[ToolFinished | UserShellFinished | TurnFinished] = []
    for call in state.open_calls:
        status = unfinished_status(call, crashed=True)
        ends.append(
            ToolFinished(
                call_id=call.call_id,
                name=call.name,
                status=status,
                part=None,
                content=(),
                summary=SUMMARIES[status],
            )
        )
    if state.shell is not None:
        ends.append(
            UserShellFinished(
                command=state.shell.command,
                output="",
                exit_code=None,
                duration_ms=0.0,
                hidden=state.shell.hidden,
                end="lost",
            )
        )
    if state.turn_running:
        ends.append(TurnFinished(turn=state.turn, reason="interrupted", detail=PROGRAM_ENDED))
    return ends
