"""Counts of the lines changed in the session's files, from the first to the newest content, as in `/diff`.

Invariant: a file is compared only if it changed more than once, and only once for each new content.
"""

from tui_agent.folds.session.changed_files import ChangedFile, FilesChangedView
from tui_agent.tui.controller.host import SessionHost


class LineCounts:
    """Counts added and removed lines in the background, and shows them in the strip that replaces the side panes."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._counts: dict[tuple[str | None, str | None], tuple[int, int]] = {}
        self._is_comparing = False

    def sum_of(self, view: FilesChangedView) -> tuple[int, int] | None:
        """Return the numbers of added and removed lines in all files; None if some files are still being compared."""
        counts = [
            self._counts.get((file.before, file.after)) if file.changes > 1 else (file.added, file.removed)
            for file in view.files
        ]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            if not self._is_comparing:
                self._is_comparing = True
                self._host.worker(self._compare(), "line counts")
            return None
        return sum(added for added, _ in known), sum(removed for _, removed in known)

    async def _compare(self) -> None:
        try:
            while file := self._next_file():
                diff, _ = await self._host.reader.compare(file)
                self._counts[file.before, file.after] = (0, 0) if diff is None else (diff.added, diff.removed)
        finally:
            self._is_comparing = False
        self._host.panes.show_strip(self._host.views)

    def _next_file(self) -> ChangedFile | None:
        files = self._host.views.files.view().files
        return next(
            (file for file in files if file.changes > 1 and (file.before, file.after) not in self._counts),
            None,
        )
