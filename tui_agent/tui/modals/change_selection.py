"""The selected change in a sheet of diffs.

Invariant: once the rows are drawn, the selected change is one of the drawn changes.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.tui.widgets.lists import Lines


class Stop(NamedTuple):
    """A hunk that the user can select. A file without hunks has one stop with the `hunk` -1.

    `row`: the stop's first row in the sheet.
    """

    file: ChangedFile
    hunk: int
    row: int


class ChangeSelection:
    """The selectable changes (stops) in a sheet of diffs, and the selected stop.

    `path`: the selected file; empty if there is no file. `hunk`: index of the selected hunk; -1 for a file without
    hunks.
    """

    def __init__(self) -> None:
        self.stops: list[Stop] = []
        self.path, self.hunk = "", -1

    def select(self, path: str, hunk: int = 0) -> None:
        """Select a hunk of a file."""
        self.path, self.hunk = path, hunk

    def limit(self, hunks: int) -> None:
        """Select the last hunk if the selected one no longer exists. `hunks`: number of hunks that the file has now."""
        self.hunk = min(max(0, self.hunk), hunks - 1)

    @property
    def stop(self) -> Stop | None:
        """The selected stop; None if nothing is selected or it is not drawn yet."""
        index = self._index
        return None if index < 0 else self.stops[index]

    @property
    def _index(self) -> int:
        places = [(stop.file.path, stop.hunk) for stop in self.stops]
        selected = ((self.path, self.hunk), (self.path, -1))
        return next((places.index(place) for place in selected if place in places), -1)

    def adjacent_stop(self, direction: int) -> Stop | None:
        """Return the previous (-1) or next stop (1); None if there is none."""
        index = self._index + direction
        return self.stops[index] if self._index >= 0 and 0 <= index < len(self.stops) else None

    def nearest_stop(self, is_wanted: Callable[[Stop], bool]) -> Stop | None:
        """Return the nearest stop for which `is_wanted` returns True; None if there is no such stop.

        Stops in the selected file come first.
        """
        start = self._index
        ranked = [
            ((stop.file.path != self.path, index < start, abs(index - start)), index)
            for index, stop in enumerate(self.stops)
            if is_wanted(stop)
        ]
        return self.stops[min(ranked)[1]] if ranked else None

    def top_stop(self, lines: Lines) -> Stop | None:
        """Return the stop at the top of the visible rows."""
        index = bisect_right([stop.row for stop in self.stops], lines.scroll_offset.y) - 1
        return self.stops[max(0, index)] if self.stops else None

    def is_visible(self, lines: Lines) -> bool:
        """Return True if the selected change begins in a visible row, or covers the first visible row."""
        stop, top = self.stop, lines.scroll_offset.y
        return stop is not None and (
            top <= stop.row < top + lines.size.height or stop is self.top_stop(lines)
        )

    def scroll_to(self, lines: Lines) -> None:
        """Scroll until the selected stop begins in the first visible row."""
        if self.stop is not None:
            lines.scroll_to(y=self.stop.row, animate=False, force=True)

    def reveal(self, lines: Lines) -> None:
        """Scroll to the selected stop, unless it is visible."""
        if not self.is_visible(lines):
            self.scroll_to(lines)
