"""The events that close a stopped engine's unfinished work.

Invariant: the next run records equal events in the log (`engine/interruption_cleanup.py`, `session/resume.py`).
"""

from typing import Final

from tui_agent.folds.session.state_view import OpenCall, SessionStateView
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.events.turn import TurnFinished, UserShellFinished

PROGRAM_ENDED: Final = (
    "The program ended during this turn. The turn's time is counted up to the last recorded event."
)
"""The reason recorded for the end of a turn if the engine stopped first."""
PROGRAM_CLOSED: Final = "The program was closed in this turn."
"""Reason recorded for the end of a turn: the client disconnected."""
SUMMARIES: Final[dict[ToolStatus, str]] = {"interrupted": "stopped", "lost": "lost"}
"""Maps the status of an unfinished call to the word that the screen shows."""


def unfinished_status(call: OpenCall, *, crashed: bool) -> ToolStatus:
    """Return the status of an unfinished call: `lost` if a crash leaves its effects unknown, otherwise `interrupted`."""
    return "lost" if crashed and call.started and not call.waits_for_delegate else "interrupted"


def ends_after_crash(
    state: SessionStateView, detail: str
) -> list[ToolFinished | UserShellFinished | TurnFinished]:
    """Return the events that end the calls, the turn and the user's command after a crash.

    - `state`: state of the stopped engine. If a call waits for approval, no events are returned.
    - `detail`: the reason why the turn ended.
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
        ends.append(TurnFinished(turn=state.turn, reason="interrupted", detail=detail))
    return ends
