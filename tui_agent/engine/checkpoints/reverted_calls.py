"""Results for calls that ran after the event to which the session is reverted.

Invariant: the model is never told that a call did not run if it did.
"""

from collections.abc import Sequence
from typing import TypeAlias

from tui_agent.engine.recorder import Recorder
from tui_agent.folds.session.view import OpenCall
from tui_agent.protocol.base import CallId
from tui_agent.protocol.envelope import known_events
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted

CallEvents: TypeAlias = Sequence[ToolStarted | ToolFinished]


def read_call_events(recorder: Recorder, after: int) -> CallEvents:
    """Return the starts and ends of calls on the current branch after the event `after`. Blocks."""
    events = known_events(recorder.records_after(after))
    return [event.payload for event in events if isinstance(event.payload, ToolStarted | ToolFinished)]


def find_reverted_calls(open_calls: Sequence[OpenCall], later: CallEvents) -> set[CallId]:
    """Return the calls that started after the event of the revert, or that had started and then ended normally.

    `open_calls`: the calls that are open at this event. `later`: the events after it on the branch that is left.
    """
    started = {event.call_id for event in later if isinstance(event, ToolStarted)}
    ended = {
        event.call_id
        for event in later
        if isinstance(event, ToolFinished) and event.status in ("ok", "failed")
    }
    return {
        call.call_id
        for call in open_calls
        if call.call_id in started or (call.started and call.call_id in ended)
    }


def describe_reverted_call(*, files: bool, commits: Sequence[str]) -> str:
    """Return the result for the model of a call that ran before the session was reverted.

    `files`: True if files were restored. `commits`: ids with subjects of the commits that remain.
    """
    effects = "Its file changes were undone; other effects remain" if files else "Its effects remain"
    remaining = f" These commits also remain: {'; '.join(commits)}." if commits else ""
    return f"This call ran. The session was then reverted to before its result. {effects}.{remaining}"
