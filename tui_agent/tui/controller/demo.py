"""The end of a demo in the app: its turn and its files are undone, then redone.

Invariant: it submits only commands that a user could type. A new event ends the script. Typing skips
the undo or, if the turn is already undone, redoes it immediately.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tui_agent.protocol.commands import Redo, Revert
from tui_agent.tui.context import AppContext

READ_S = 6.0
"""Seconds to wait before the undo and before the redo, so that the user can read the screen."""
SETTLED = "agent.state_changed"
"""Kind of the last event of a turn, and of an undo."""


class DemoEnd:
    """The scripted end of a demo; runs at most once."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._begun = context.app.options.client != "demo"
        self.read_s = READ_S
        self._news = asyncio.Event()

    def update(self) -> None:
        """React to new views: start once the demo's turn has ended and changed files."""
        self._news.set()
        context = self._context
        is_settled = context.state.last_turn_end is not None and context.views.last_kind == SETTLED
        if self._begun or context.running or not is_settled:
            return
        self._begun = True
        to_seq = context.views.branches.view().undo_to
        changed = bool(context.views.files.view().turn_files)
        if context.state.last_turn_end == "finished" and changed and to_seq is not None:
            context.worker(self._undo_and_redo(to_seq), "demo end")

    def note_typing(self) -> None:
        """Wake the script to check the prompt, because the user typed."""
        self._news.set()

    async def _undo_and_redo(self, to_seq: int) -> None:
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
        context.app.say("Undid the turn and its file changes. Next, /redo brings them back.")
        await self._pause(back_at)
        if context.views.seq == back_at:
            context.submit(Redo())

    def _is_back_or_refused(self) -> bool:
        views = self._context.views
        back = views.branches.view().redo_to is not None and views.last_kind == SETTLED
        return back or views.last_kind == "command.rejected" or not self._context.connected

    async def _pause(self, seq: int) -> None:
        """Wait for `read_s` seconds, or until the user types or a new event arrives."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.read_s):
                await self._until(lambda: not self._untouched(seq))

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await self._news.wait()

    def _untouched(self, seq: int) -> bool:
        app = self._context.app
        return self._context.views.seq == seq and not self._context.prompt.text and len(app.screen_stack) == 1
