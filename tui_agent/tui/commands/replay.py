"""The command /replay: show the open session as it was at any earlier event."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from tui_agent.config.paths import is_session_stored
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.screens.replay.live_log import FollowingScreen
from tui_agent.tui.screens.replay.replay_protocols import ReplayHost, ReplaySource
from tui_agent.tui.screens.tree.fork import fork, what_if

MAX_EVENTS = 10**9


class OpenSession:
    """The open session as a source of events for the replay screen.

    `recorded`: reader of the log file; None to ask the engine for the events.
    """

    def __init__(self, context: AppContext, recorded: ReplaySource | None) -> None:
        self._context = context
        self._recorded = recorded

    @property
    def id(self) -> str:
        return self._context.app.session_id

    @property
    def folder(self) -> Path | None:
        return None if self._recorded is None else self._recorded.folder

    async def read_all(self) -> Sequence[Record]:
        """Return every event of the session so far."""
        if self._recorded is not None:
            return await self._recorded.read_all()
        return await self._context.reader.events_between(0, self._context.views.seq, MAX_EVENTS)

    async def read_new(self, after: int) -> Sequence[Record]:
        """Return the session's events after sequence number `after`."""
        if self._context.views.seq <= after:
            return ()
        return await self._context.reader.events_between(after + 1, self._context.views.seq, MAX_EVENTS)

    async def read_text(self, text: LongText) -> str:
        """Return a text in full, even if it is stored outside the log."""
        if self._recorded is not None:
            return await self._recorded.read_text(text)
        return await self._context.reader.read_text(text)


def open_replay(context: AppContext, argument: str) -> None:
    """Show the session as it was at the event with the number `argument`, by default the newest."""
    if argument and (not argument.isdecimal() or int(argument) > context.views.seq):
        context.app.say(f"/replay needs the number of an event, up to {context.views.seq}.", "warning")
        return
    recorded: ReplaySource | None = None
    if context.folder is not None and is_session_stored(context.folder):
        recorded = cast(
            ReplaySource, import_module("tui_agent.session.recorded_session").RecordedSession(context.folder)
        )
    recording = OpenSession(context, recorded)
    host = ReplayHost(
        context.ask,
        opens="/sessions",
        revert=partial(_revert, context),
        fork=partial(fork, context),
        what_if=partial(what_if, context),
    )
    to_seq = int(argument) if argument else None
    context.app.push_screen(FollowingScreen(recording, host, context.app.looks, to_seq=to_seq))


def _revert(context: AppContext, seq: int, leave: Callable[[], object]) -> None:
    """Let the user choose how to revert the session to event `seq`.

    `leave`: function that closes the replay.
    """
    if context.is_running:
        # During a turn, `act` only says that a revert must wait. The replay would cover this notice.
        leave()
        context.app.call_later(context.act, "revert", str(seq))
    else:
        context.rewind.revert(str(seq), then=leave)
