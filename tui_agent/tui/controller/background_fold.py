"""Builds the views of a very long session in the background, while the app already shows the session's end.

A view is built by applying the log's events one after the other ("folding").

Invariant: views of the whole session are not shown before they contain the newest event.
"""

import asyncio

from tui_agent.folds.screen_folds import ViewName, Views
from tui_agent.ports.session import AppSession
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.event_pump import Pump


class BackgroundFold:
    """Background task that builds the views of a whole session, from the beginning of its log."""

    def __init__(self, host: SessionHost, session: AppSession, last_seq: int) -> None:
        self._host = host
        self._session = session
        self._views = Views()
        self._adopted = False
        """True once the app shows the views of the whole session."""
        self._last_seq = max(1, last_seq)  # `percent_left` divides by it.
        self._over = asyncio.Event()
        self._pump = Pump(
            session.follow,
            self._views,
            self._show,
            show_from_seq=last_seq,
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
        """If the views of the whole session contain every event on the screen, show them."""
        if not self._adopted and not self._views.head_moved and self._views.seq >= self._host.views.seq:
            self._replace_shown()

    @property
    def percent_left(self) -> int:
        """Percentage of the log still to load; 0 if the whole session is shown."""
        if self._adopted or self._over.is_set():
            return 0
        return min(100, max(1, round(100 * (1 - (self._views.seq + 1) / self._last_seq))))

    async def wait_until_loaded(self) -> None:
        """Wait until the views of the whole session are shown or the session is closed."""
        await self._over.wait()

    def adopt(self) -> Pump:
        """Switch to the views of the whole session. Return the `Pump` that keeps these views up to date."""
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
        host.chat.show_all_entries()
        host.panes.show_all()

    async def _branch_changed(self) -> None:
        if self._adopted:
            await self._host.sessions.show_branch()

    def close(self) -> None:
        self._over.set()
        self._pump.close()
