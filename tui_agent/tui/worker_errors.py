"""Error reports for background workers that a screen or a widget started.

Invariant: no error of a worker is lost.
"""

from typing import cast

from textual.message_pump import MessagePump
from textual.worker import Worker, WorkerState

from tui_agent.tui.main_screen import Frame


class WorkerErrorReporter(MessagePump):
    """Base class of screens and widgets that start workers."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report a worker's error on the main screen, and on this screen if it is on top."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        notice = cast(Frame, self.app).report_error(event.worker.name, error)
        say, top = getattr(self, "say", None), cast(object, self.app.screen)
        if callable(say) and top is self:
            say(notice, "error")
