"""The transcript of a replay, at any moment.

Invariant: entries that two moments share are neither laid out nor drawn again.
"""

from collections.abc import Awaitable, Callable

from tui_agent.folds.views import Views
from tui_agent.protocol.base import BlobText
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.transcript.messages import BlobWanted
from tui_agent.tui.transcript.tools import QUICK_S
from tui_agent.tui.transcript.widget import TranscriptWidget
from tui_agent.tui.worker_errors import WorkerErrorReporter

MAX_BLOBS = 200


class ReplayChat(WorkerErrorReporter, TranscriptWidget):
    """The transcript. `read` returns the full content of a text that is stored outside of the log."""

    can_focus = False

    def __init__(self, looks: Looks, read: Callable[[BlobText], Awaitable[str]], *, id: str) -> None:
        super().__init__(looks.palette, looks.symbols, resolve=self._find_text, now=self._now, id=id)
        self._views: Views | None = None
        self._texts: dict[str, str] = {}
        self._read_text = read

    def _now(self) -> float:
        # The live chat delays the rows of quick calls; a replay shows them at once.
        return 0.0 if self._views is None else self._views.last_event_time + QUICK_S

    def show(self, views: Views) -> None:
        """Show the transcript of these views."""
        new = views.transcript.view()
        if views is self._views:
            changed = views.transcript.drain()
        else:
            old = self._views.transcript.view().entries if self._views is not None else ()
            pairs = zip(old, new.entries, strict=False)
            changed = [index for index, (was, now) in enumerate(pairs) if was is not now]
            views.transcript.drain()
        self._views = views
        self.set_view(new, changed)

    def _find_text(self, blob: BlobText) -> str | None:
        return self._texts.get(blob.blob_sha256)

    def on_blob_wanted(self, message: BlobWanted) -> None:
        message.stop()
        self.run_worker(self._fetch(message.blob), name="blob", exit_on_error=False)

    async def _fetch(self, blob: BlobText) -> None:
        self._texts[blob.blob_sha256] = await self._read_text(blob)
        while len(self._texts) > MAX_BLOBS:
            del self._texts[next(iter(self._texts))]
        self.blob_loaded(blob)
