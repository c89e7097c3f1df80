"""A long session's whole, folded beside the screen while its end is shown and used; then it takes its place.

Invariant: it takes the place of what is shown only once it has every event that is shown; until then it touches no pane.
"""

import asyncio

from tui_agent.folds.views import ViewName, Views
from tui_agent.ports.session import AppSession
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.controller.pump import Pump


class BackgroundFold:
    """All of one session, from its log's beginning on."""

    def __init__(self, host: SessionHost, session: AppSession, last_seq: int) -> None:
        self._host = host
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
        self._pump.broke = host.faults.tell
        host.frame.run_worker(
            host.sessions.follow(self._pump), name="whole", group="session", exit_on_error=False
        )

    def _show(self, changed: frozenset[ViewName]) -> None:
        host = self._host
        if self._taken:
            host.panes.show(changed)
        elif host.session is self._session and host.pump is not None:
            self.look()

    def look(self) -> None:
        """Take the place of what is shown, if it is time."""
        if not self._taken and not self._views.moved and self._views.seq >= self._host.views.seq:
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
        self._host.views = self._views
        return self._pump

    def _take(self) -> None:
        host, before = self._host, self._host.pump
        host.pump = self.adopt()
        if before is not None:
            before.close()
        self._views.prompts = []  # those of the end are in the history already, and the file has the others
        host.chat.take_whole(self._views)
        host.panes.show_all()

    async def _begun_again(self) -> None:
        if self._taken:
            await self._host.sessions.begun_again()

    def close(self) -> None:
        """The session is let go of."""
        self._over.set()
        self._pump.close()
