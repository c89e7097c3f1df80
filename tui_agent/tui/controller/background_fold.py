"""Folding of a whole long session in the background, while its end is already shown and usable.

Invariant: the full fold replaces the shown views only after it has reached their newest event; until then it updates no
pane.
"""

import asyncio

from tui_agent.folds.views import ViewName, Views
from tui_agent.ports.session import AppSession
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.controller.pump import Pump


class BackgroundFold:
    """The background fold of one whole session, from the beginning of its log."""

    def __init__(self, host: SessionHost, session: AppSession, last_seq: int) -> None:
        self._host = host
        self._session = session
        self._views = Views()
        self._adopted = False
        self._last_seq = max(1, last_seq)
        self._over = asyncio.Event()
        self._pump = Pump(
            session.follow,
            self._views,
            self._show,
            quiet_until=last_seq,
            branch_changed=self._branch_changed,
        )
        host.sessions.start(self._pump)

    def _show(self, changed: frozenset[ViewName]) -> None:
        host = self._host
        if self._adopted:
            host.panes.show(changed)
        elif host.session is self._session and host.pump is not None:
            self.replace_if_ready()

    def replace_if_ready(self) -> None:
        """Show this fold's views if they have caught up with the views on the screen."""
        if not self._adopted and not self._views.head_moved and self._views.seq >= self._host.views.seq:
            self._replace_shown()

    @property
    def percent_left(self) -> int:
        """Percentage of the log still to be folded; 0 once this fold is shown."""
        if self._adopted or self._over.is_set():
            return 0
        return min(100, max(1, round(100 * (1 - (self._views.seq + 1) / self._last_seq))))

    async def wait_until_whole(self) -> None:
        """Wait until this fold is shown or the session is closed."""
        await self._over.wait()

    def adopt(self) -> Pump:
        """Make this fold's views the session's views; return the pump that feeds them."""
        self._adopted = True
        self._over.set()
        self._host.views = self._views
        return self._pump

    def _replace_shown(self) -> None:
        host, before = self._host, self._host.pump
        host.pump = self.adopt()
        if before is not None:
            before.close()
        # The prompt history already holds the newest messages, and the history file holds the others.
        self._views.prompts = []
        host.chat.show_whole()
        host.panes.show_all()

    async def _branch_changed(self) -> None:
        if self._adopted:
            await self._host.sessions.show_branch()

    def close(self) -> None:
        """Stop folding."""
        self._over.set()
        self._pump.close()
