"""A replay of a session that goes on: what comes to its log comes to its line.

Invariant: whoever stands at the end stays there; who stands elsewhere is not moved.
"""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from tui_agent.folds.trace.timeline import extend_timeline
from tui_agent.protocol.envelope import Record
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.replay.recording import Recording, Ways
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.theme.palette import Looks

LOOK_S = 0.5


class LiveRecording(Recording, Protocol):
    """A session that is only read, while someone else may write."""

    async def read_new(self, after: int) -> Sequence[Record]:
        """The events behind this one that are new since the last call."""
        ...


class FollowingScreen(ReplayScreen):
    """Begins at the event `to_seq`; None is the last."""

    def __init__(
        self, recording: LiveRecording, ways: Ways, looks: Callable[[], Looks], *, to_seq: int | None = None
    ) -> None:
        super().__init__(recording, ways, looks, to_seq=to_seq)
        self._live_recording = recording
        self._looking = False

    def on_mount(self) -> None:
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        if self.ready and not self._looking:
            self._looking = True
            self.run_worker(self._follow(), name="follow", exit_on_error=False)

    async def _follow(self) -> None:
        try:
            new = await self._live_recording.read_new(self.moments.records[-1].seq)
            if new:
                await self._take(new)
        finally:
            self._looking = False

    async def _take(self, new: Sequence[Record]) -> None:
        head, records = self.playhead, self.moments.records
        at_end = head.place == head.last
        head.line = await asyncio.to_thread(extend_timeline, head.line, records[-1].time, new)
        records.extend(new)
        await self._prepare()
        if at_end:
            head.to(head.last)
        self.header.total_cost = self.moments.total_cost
        self.pane.set_line(head.line)
        self.show_moment()


def look_on(context: AppContext, folder: Path, to_seq: int | None = None) -> None:
    """Show a session's log, at an event or at its end, over what is there, and what comes to it."""
    # By name: the app's process knows of the store only where it looks at a log.
    recorded = import_module("tui_agent.session.recorded_session").RecordedSession(folder)
    ways = Ways(context.ask, context.app.put_on_clipboard, opens="/session")
    context.app.push_screen(
        FollowingScreen(cast(LiveRecording, recorded), ways, lambda: context.app.looks, to_seq=to_seq)
    )
