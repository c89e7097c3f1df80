"""What breaks beside a screen, or a part of one, told like what breaks beside the app.

Invariant: Textual tells a worker's end only to whoever started it; without this the fault would be silent.
"""

from typing import TYPE_CHECKING, cast

from textual.message_pump import MessagePump
from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from tui_agent.tui.main_screen import Frame


class WorkerErrorReporter(MessagePump):
    """Whoever starts workers of its own."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say it where it can be seen: on the screen that lies over all others, where that has a place for words."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        said = cast("Frame", self.app).broke(event.worker.name, error)
        say, top = getattr(self, "say", None), cast(object, self.app.screen)
        if callable(say) and top is self:
            say(said, "error")
