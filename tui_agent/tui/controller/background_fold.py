"""A long session's whole, folded beside the screen while its end is shown and used; then it takes its place.

Invariant: it takes the place of what is shown only once it has every event that is shown; until then it touches no pane.
"""

import asyncio
from typing import TYPE_CHECKING

from tui_agent.folds.views import ViewName, Views
from tui_agent.tui.controller.pump import Pump
from tui_agent.tui.controller.session_port import AppSession

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


class Whole:
    """All of one session, from its log's beginning on."""

    def __init__(self, live: "Live", session: AppSession, last_seq: int) -> None:
        self._live = live
        self._session = session
        self._views = Views()
        self._taken = False
        self._last_seq = max(1, last_seq)
        self._over = asyncio.Event()
        self._pump = Pump(
            session.follow,
            self._views,
            self._show,
            quiet_until=last_seq,
            begun_again=self._begun_again,
        )
        self._pump.broke = live.faults.tell
        live.app.run_worker(
            live.opening.follow(self._pump), name="whole", group="session", exit_on_error=False
        )

    def _show(self, changed: frozenset[ViewName]) -> None:
        live = self._live
        if self._taken:
            live.frames.show(changed)
        elif live.session is self._session and live.pump is not None:
            self.look()

    def look(self) -> None:
        """Take the place of what is shown, if it is time."""
        if not self._taken and not self._views.moved and self._views.seq >= self._live.views.seq:
            self._take()

    @property
    def older(self) -> int:
        """How many hundredths of the log are still to be folded; 0 once it is what is shown."""
        if self._taken or self._over.is_set():
            return 0
        return min(100, max(1, round(100 * (1 - (self._views.seq + 1) / self._last_seq))))

    async def known(self) -> None:
        """Return once it is what is shown, or the session was let go of."""
        await self._over.wait()

    def adopt(self) -> Pump:
        """There is nothing else to show: its views are the session's from now on."""
        self._taken = True
        self._over.set()
        self._live.views = self._views
        return self._pump

    def _take(self) -> None:
        live, before = self._live, self._live.pump
        live.pump = self.adopt()
        if before is not None:
            before.close()
        self._views.prompts = []  # those of the end are in the history already, and the file has the others
        live.chat.views = self._views
        if live.chat.widget is not None:
            self._views.transcript.drain()
            live.chat.widget.take(self._views.transcript.view(), anew=True)
        live.frames.show_all()

    async def _begun_again(self) -> None:
        if self._taken:
            await self._live.opening.begun_again()

    def close(self) -> None:
        """The session is let go of."""
        self._over.set()
        self._pump.close()
