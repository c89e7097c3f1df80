"""How a demo ends in the app: its turn is taken back with its files, and brought forward again.

Invariant: these are the commands that a user has; typing, or doing anything else, skips what has not begun, and what
was taken back then comes forward at once.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_agent.protocol.commands import Redo, Revert

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

READ_S = 6.0
"""To read the answer before it goes, and what is left before it comes again."""
SETTLED = "agent.state_changed"
"""The last event of a turn, and of a way back."""


class DemoEnd:
    """The end of one app's demo; it comes once."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self._begun = live.app.options.client != "demo"
        self.read_s = READ_S
        self._news = asyncio.Event()

    def look(self) -> None:
        """New views: the demo's turn may have ended, and have changed files."""
        self._news.set()
        live = self._live
        if self._begun or live.running or live.state.last_turn_end is None or live.views.last_kind != SETTLED:
            return
        self._begun = True
        to_seq = live.views.branches.view().undo_to
        changed = bool(live.views.files.view().turn_files)
        if live.state.last_turn_end == "finished" and changed and to_seq is not None:
            live.worker(self._there_and_back(to_seq), "demo end")

    def typed(self) -> None:
        """The unsent text changed."""
        self._news.set()

    async def _there_and_back(self, to_seq: int) -> None:
        live, ended_at = self._live, self._live.views.seq
        live.app.say("Next: this turn goes back, files too, and comes again. Typing skips it.")
        await self._pause(ended_at)
        if not self._untouched(ended_at):
            return
        live.submit(Revert(to_seq=to_seq))
        await self._until(self._is_back_or_refused)
        if live.views.branches.view().redo_to is None:
            return
        back_at = live.views.seq
        live.app.say("It went back, files too. Next it comes again, as by /redo.")
        await self._pause(back_at)
        if live.views.seq == back_at:
            live.submit(Redo())

    def _is_back_or_refused(self) -> bool:
        views = self._live.views
        back = views.branches.view().redo_to is not None and views.last_kind == SETTLED
        return back or views.last_kind == "command.rejected" or not self._live.connected

    async def _pause(self, seq: int) -> None:
        """As long as it takes to read; no longer once something is typed or happens."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.read_s):
                await self._until(lambda: not self._untouched(seq))

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._news.clear()
            await self._news.wait()

    def _untouched(self, seq: int) -> bool:
        app = self._live.app
        return self._live.views.seq == seq and not app.prompt.editor.text and len(app.screen_stack) == 1
