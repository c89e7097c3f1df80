"""A limited summary of an earlier session's turns, for a new session that continues from it.

Invariant: the earlier session's log is only read; another process may use that session.
"""

from pathlib import Path

from tui_agent.errors import UsageError
from tui_agent.folds.base import fold
from tui_agent.folds.context.turn_summaries import TurnSummaries, summary_text
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.ids import SessionId
from tui_agent.store.reader import iterate_records


def carried(folder: Path) -> SessionContextLoaded:
    """Return the event that summarises the session in `folder`. Raises `UsageError` if that session has no messages."""
    view = fold(TurnSummaries(), iterate_records(folder, branch=True))
    summary = summary_text(view, folder.name)
    if not summary:
        raise UsageError(
            f"The session {folder.name} has no messages to carry over.", hint="Choose another session."
        )
    return SessionContextLoaded(from_session=SessionId(folder.name), turns=len(view.turns), summary=summary)
