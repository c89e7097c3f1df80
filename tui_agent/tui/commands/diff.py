"""The command /diff: shows how the session, or one of its turns, changed the files."""

import re

from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged, FilesChangedView
from tui_agent.folds.transcript.entries import TurnEntry
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.diff import DiffSheet

_TURN = re.compile(r"turn (\d+)")


def show_diff(context: AppContext, argument: str) -> None:
    """Show the changed files.

    `argument`: a path, part of a path, or `turn N` for the changes of one turn.
    """
    if match := _TURN.fullmatch(argument):
        _show_turn(context, int(match[1]))
        return

    async def read() -> FilesChangedView:
        view = context.views.files.view()
        files = tuple(file for file in view.files if argument in file.path)
        return view if not argument else FilesChangedView(files)

    empty = f"No changed file matches {argument}." if argument else "No files changed in this session."
    context.app.push_screen(DiffSheet(context, "Changes", read, empty=empty))


def _show_turn(context: AppContext, turn: int) -> None:
    async def read() -> FilesChangedView:
        return fold(FilesChanged(), await _events_of(context, turn))

    empty = f"No files changed in turn {turn}."
    context.app.push_screen(DiffSheet(context, f"Changes in turn {turn}", read, empty=empty))


async def _events_of(context: AppContext, turn: int) -> list[Envelope]:
    """Return the events of a turn, except file changes of older turns that an undo recorded again in this turn.

    Return an empty list if there is no such turn.
    """
    ends = [entry for entry in context.views.transcript.view().entries if isinstance(entry, TurnEntry)]
    index = next((index for index, entry in enumerate(ends) if entry.turn == turn), None)
    first = 0 if not index else ends[index - 1].seq + 1
    last = context.views.seq if index is None else ends[index].seq
    events = [
        record for record in await context.reader.events_between(first, last) if isinstance(record, Envelope)
    ]
    starts = [
        number
        for number, event in enumerate(events)
        if isinstance(event.payload, TurnStarted) and event.payload.turn == turn
    ]
    return [event for event in events[starts[-1] :] if not _is_kept_change(event.payload)] if starts else []


def _is_kept_change(payload: Payload) -> bool:
    return isinstance(payload, FileChanged | CheckpointTaken) and payload.original_author is not None
