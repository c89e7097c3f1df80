"""What a fresh session takes over of an earlier one: a bounded summary of its turns, from its log alone.

Invariant: the earlier session's log is only read; it may be held by another process.
"""

from pathlib import Path

from tui_agent.errors import UsageError
from tui_agent.folds.base import fold
from tui_agent.folds.context.turn_summaries import TurnSummaries, summary_text
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.ids import SessionId
from tui_agent.store.reader import iterate_records


def carried(folder: Path) -> SessionContextLoaded:
    """The event that tells a new session of the one in this folder. Raises `UsageError` where nothing was said in it."""
    view = fold(TurnSummaries(), iterate_records(folder, branch=True))
    summary = summary_text(view, folder.name)
    if not summary:
        raise UsageError(f"Nothing was said in {folder.name}: there is nothing to carry on from it.")
    return SessionContextLoaded(from_session=SessionId(folder.name), turns=len(view.turns), summary=summary)
