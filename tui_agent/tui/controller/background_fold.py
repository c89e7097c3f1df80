"""Folds all of a long session in the background while its end is shown and used, then replaces that.

Invariant: it replaces what is shown only once it has every event that is shown; until then it touches no pane.
"""

import asyncio

from tui_agent.folds.views import ViewName, Views
from tui_agent.ports.session import AppSession
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.controller.pump import Pump


class BackgroundFold:
    """The fold of one whole session, from the beginning of its log."""

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
        self._pump.report_error = host.faults.report
        host.app.run_worker(
            host.sessions.follow(self._pump), name="whole", group="session", exit_on_error=False
        )

    def _show(self, changed: frozenset[ViewName]) -> None:
        host = self._host
        if self._adopted:
            host.panes.show(changed)
        elif host.session is self._session and host.pump is not None:
            self.replace_if_ready()

    def replace_if_ready(self) -> None:
        """Replace the shown session if this fold has caught up."""
        if not self._adopted and not self._views.head_moved and self._views.seq >= self._host.views.seq:
            self._replace_shown()

    @property
    def older(self) -> int:
        """Return the percentage of the log still to be folded; 0 once this fold is shown."""
        if self._adopted or self._over.is_set():
            return 0
        return min(100, max(1, round(100 * (1 - (self._views.seq + 1) / self._last_seq))))

    async def wait_until_whole(self) -> None:
        """Return once this fold is shown, or the session was closed."""
        await self._over.wait()

    def adopt(self) -> Pump:
        """Make its views those of the session; return the pump that follows it."""
        self._adopted = True
        self._over.set()
        self._host.views = self._views
        return self._pump

    def _replace_shown(self) -> None:
        host, before = self._host, self._host.pump
        host.pump = self.adopt()
        if before is not None:
            before.close()
        self._views.prompts = []  # the history has the newest already, and the file the others
        host.chat.show_whole()
        host.panes.show_all()

    async def _branch_changed(self) -> None:
        if self._adopted:
            await self._host.sessions.show_branch()

    def close(self) -> None:
        """Stop folding."""
        self._over.set()
        self._pump.close()
