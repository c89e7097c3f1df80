"""The pump: follows the session, folds new events (applies them to the views), and passes the views to the panes.

Invariant: every record is folded exactly once and in order, and folding never blocks the event loop for longer than
`SLICE_S`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from tui_agent.folds.screen_folds import ViewName, Views
from tui_agent.folds.session.branches import is_on_branch, stretches
from tui_agent.ports.log import Follower
from tui_agent.protocol.envelope import Record
from tui_agent.tui.time_slice import Slices

FRAME_S = 1 / 30
"""Minimum time between two frames, in seconds."""
SCREEN = "the screen"
"""The name of the whole screen in an error report."""


class Pump:
    """Applies the session's events to its views, and shows the views, until the session ends.

    - `after`: number of the newest event in the views
    - `follow`: takes an event's number and returns a cursor that starts after this event
    - `show`: called with the names of the changed views
    - `show_from_seq`: the views are shown for the first time when they contain the event with this number
    - `branch_changed`: awaited after an undo or a redo, before the views are shown
    """

    report_error: Callable[[str, Exception], None] | None = None
    """Called with the name of the failed part of the screen and the error; None to raise the error."""

    def __init__(
        self,
        follow: Callable[[int], Follower],
        views: Views,
        show: Callable[[frozenset[ViewName]], None],
        *,
        frame_s: float = FRAME_S,
        show_from_seq: int = -1,
        branch_changed: Callable[[], Awaitable[None]] | None = None,
        after: int = -1,
    ) -> None:
        self._follow = follow
        self._follower = follow(after)
        self._views = views
        self._show = show
        self._frame_s = frame_s
        self._show_from_seq = show_from_seq
        self._branch_changed = branch_changed
        self._next_frame = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._shown_seq = after
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        """The (event number, future) pairs of the tasks in `wait_until_shown`."""
        self.ended = False

    async def run(self) -> None:
        """Apply and show the session's events until the session ends."""
        try:
            while batch := await self._follower.next_batch():
                await self._fold(batch, self._views.apply)
                if self._views.head_moved and self._views.seq >= self._show_from_seq:
                    await self._refold_branch()
                self._plan()
        except (
            BaseException
        ):  # Also when cancelled: a task that waits for a frame would otherwise wait for ever.
            self._wake_waiting_tasks()
            raise
        finally:
            self._stop_timer()
        self.ended = True
        self._frame()

    def _wake_waiting_tasks(self) -> None:
        """Wake all tasks in `wait_until_shown`, because no more frames will be shown."""
        self.ended = True
        for _, reached in self._waiting:
            if not reached.done():
                reached.set_result(None)

    async def _fold(self, batch: Iterable[Record], apply: Callable[[Record], None]) -> None:
        slices = Slices()
        for record in batch:
            apply(record)
            await slices.turn()

    async def _refold_branch(self) -> None:
        """Rebuild the views from the log after an undo or a redo."""
        self._stop_timer()
        last = self._views.seq
        branch = stretches(self._views.branches.view().moves, last)
        self._views.reset()
        follower = self._follow(-1)
        try:
            while self._views.seq < last and (batch := await follower.next_batch()):
                records = (
                    record for record in batch if record.seq <= last and is_on_branch(record.seq, branch)
                )
                await self._fold(records, self._views.apply_on_branch)
                if batch[-1].seq >= last:
                    break
        finally:
            follower.close()
        self._views.prompts = []  # The prompt history already holds these messages.
        if self._branch_changed is not None:
            with self._errors_reported():
                await self._branch_changed()

    async def wait_until_shown(self, seq: int) -> None:
        """Wait until all events up to `seq` have been passed to the panes, or the session has ended."""
        if self._shown_seq < seq and not self.ended:
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((seq, reached))
            await reached

    def close(self) -> None:
        self._follower.close()
        self._stop_timer()

    def _plan(self) -> None:
        if self._timer is not None or self._views.seq < self._show_from_seq:
            return
        loop = asyncio.get_running_loop()
        wait = self._next_frame - loop.time()
        if wait <= 0:
            self._frame()
        else:
            self._timer = loop.call_later(wait, self._show_frame_when_due)

    def _show_frame_when_due(self) -> None:
        self._timer = None
        # If the head moved, the next frame is shown after the branch is folded again.
        if not self._views.head_moved:
            self._frame()

    def _frame(self) -> None:
        self._next_frame = asyncio.get_running_loop().time() + self._frame_s
        seq = self._views.seq
        changed = self._views.pop_changed()
        with self._errors_reported():
            self._show(changed)
        self._shown_seq = seq
        self._waiting = [
            (awaited_seq, reached) for awaited_seq, reached in self._waiting if not reached.done()
        ]
        for awaited_seq, reached in self._waiting:
            if awaited_seq <= seq or self.ended:
                reached.set_result(None)

    @contextmanager
    def _errors_reported(self) -> Iterator[None]:
        """Pass an error raised in the block to `report_error`; if `report_error` is None, raise the error."""
        try:
            yield
        except Exception as error:
            if self.report_error is None:
                raise
            self.report_error(SCREEN, error)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
