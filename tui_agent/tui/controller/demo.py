"""How a demo ends in the app: its turn is taken back with its files, and brought forward again.

Invariant: these are the commands that a user has; typing, or doing anything else, skips what has not begun, and what
was taken back then comes forward at once.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tui_agent.protocol.commands import Redo, Revert
from tui_agent.tui.context import AppContext

READ_S = 6.0
"""To read the answer before it goes, and what is left before it comes again."""
SETTLED = "agent.state_changed"
"""The last event of a turn, and of a way back."""


class DemoEnd:
    """The end of one app's demo; it comes once."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._begun = context.app.options.client != "demo"
        self.read_s = READ_S
        self._news = asyncio.Event()

    def look(self) -> None:
        """New views: the demo's turn may have ended, and have changed files."""
        self._news.set()
        context = self._context
        if (
            self._begun
            or context.running
            or context.state.last_turn_end is None
            or context.views.last_kind != SETTLED
        ):
            return
        self._begun = True
        to_seq = context.views.branches.view().undo_to
        changed = bool(context.views.files.view().turn_files)
        if context.state.last_turn_end == "finished" and changed and to_seq is not None:
            context.worker(self._there_and_back(to_seq), "demo end")

    def typed(self) -> None:
        """The unsent text changed."""
        self._news.set()

    async def _there_and_back(self, to_seq: int) -> None:
        context, ended_at = self._context, self._context.views.seq
        context.app.say("Next: undo this turn and its files, then redo it. Start typing to skip.")
        await self._pause(ended_at)
        if not self._untouched(ended_at):
            return
        context.submit(Revert(to_seq=to_seq))
        await self._until(self._is_back_or_refused)
        if context.views.branches.view().redo_to is None:
            return
        back_at = context.views.seq
        context.app.say("It went back, files too. Next it comes again, as by /redo.")
        await self._pause(back_at)
        if context.views.seq == back_at:
            context.submit(Redo())

    def _is_back_or_refused(self) -> bool:
        views = self._context.views
        back = views.branches.view().redo_to is not None and views.last_kind == SETTLED
        return back or views.last_kind == "command.rejected" or not self._context.connected

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
        app = self._context.app
        return self._context.views.seq == seq and not self._context.prompt.text and len(app.screen_stack) == 1
