"""Replay of a session while another process writes it. New events extend the timeline.

Invariant: a new event moves the playhead only if the playhead is at the end.
"""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from tui_agent.folds.trace.timeline import extend_timeline
from tui_agent.protocol.envelope import Record
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.screens.replay.replay_protocols import LiveSource, ReplayHost
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.theme.theme import Looks
from tui_agent.units import format_cost

FOLLOW_S = 0.5
"""Time between two reads of the log, in seconds."""


class FollowingScreen(ReplayScreen):
    """The replay screen of a growing log.

    `to_seq`: the event at which the replay starts; None for the last event.
    """

    is_watched = False
    """True if another process has the session open."""

    def __init__(
        self, source: LiveSource, host: ReplayHost, looks: Looks, *, to_seq: int | None = None
    ) -> None:
        super().__init__(source, host, looks, to_seq=to_seq)
        self._live_source = source
        self._is_reading = False

    @property
    def is_live(self) -> bool:
        return self.is_watched and self.playhead.place == self.playhead.last

    def on_mount(self) -> None:
        self.set_interval(FOLLOW_S, self._start_reading)

    def _start_reading(self) -> None:
        if self.ready and not self._is_reading:
            self._is_reading = True
            self.run_worker(self._follow(), name="follow", exit_on_error=False)

    async def _follow(self) -> None:
        try:
            new = await self._live_source.read_new(self.moments.records[-1].seq)
            if new:
                await self._extend(new)
        finally:
            self._is_reading = False

    async def _extend(self, new: Sequence[Record]) -> None:
        head, records = self.playhead, self.moments.records
        was_at_end = head.place == head.last
        head.line = await asyncio.to_thread(extend_timeline, head.line, records[-1].time, new)
        records.extend(new)
        await self._prepare()
        if was_at_end:
            head.move_to(head.last)
        self.header.total_cost = format_cost(*self.moments.total_cost, short=True)
        self.pane.set_line(head.line)
        self.show_place()


def open_live_replay(
    context: AppContext,
    folder: Path,
    to_seq: int | None = None,
    *,
    is_watched: bool = True,
    closed: Callable[[], None] = lambda: None,
) -> None:
    """Open the replay of a session's log, and show new events.

    - `to_seq`: the event at which the replay starts; None for the log's end
    - `is_watched`: True if a process still writes the log
    - `closed`: called when the user leaves the replay
    """
    # Imported here, because the app loads the store only when it reads a log.
    source = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
    host = ReplayHost(context.ask, opens="/sessions")
    screen = FollowingScreen(cast(LiveSource, source), host, context.app.looks, to_seq=to_seq)
    screen.is_watched = is_watched and to_seq is None
    context.app.push_screen(screen, lambda _: closed())
