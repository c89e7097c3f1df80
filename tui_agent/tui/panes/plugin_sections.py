"""The panes of plugins, drawn as sections of the sidebar. Sections are closed at first.

Invariant: the functions change nothing but the cached rows in a pane's state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from textual.strip import Strip

from tui_agent.folds.text.labels import describe_failures
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.plugin_feed import PaneFeed, PaneState
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.rows import Pen, cells, wrap

TESTS_PANE: Final = "tests"
"""Name of the bundled pane for the last test runs."""
OPEN_ROWS: Final = 6
"""Number of rows reserved for the content of the open sections."""
DrawBlocks: TypeAlias = Callable[[Sequence[DisplayBlock], Looks, int, Role], list[Strip]]
"""A function that draws blocks as rows of the given width on a background."""


def pane_title(name: str) -> str:
    """Return the title of a pane: `Test runs` for `test_runs`."""
    return name.replace("_", " ").capitalize()


def pane_rows(state: PaneState, draw: DrawBlocks, looks: Looks, width: int, ground: Role) -> list[Strip]:
    """Draw the content of a pane, or the reason why there is none."""
    key = width, ground, looks.palette.key, looks.symbols.name
    if not state.fault and state.blocks:
        if state.drawn_rows is None or state.drawn_rows[0] != key:
            state.drawn_rows = key, draw(state.blocks, looks, width, ground)
        return state.drawn_rows[1]
    pen = Pen(looks, ground)
    role: Role = "t3"
    if state.fault:
        text, role = f"{state.loaded.plugin}: {clean_line(state.fault)}", "error"
    elif state.blocks is not None:
        text = "Nothing to show yet."
    elif state.progress >= 0:
        text = f"reading the log, at event {state.progress} …"
    else:
        text = "starting …"
    return [pen.line(width, [pen.part("  "), pen.part(line, role)]) for line in wrap(text, width - 4)]


@dataclass(frozen=True)
class PluginSections:
    """The sections of the sidebar for the panes of `feed`.

    - `metrics`: returns the session's measured values, such as test results, at the shown event
    - `describe_opening`: returns the command or key that opens a pane
    """

    feed: PaneFeed
    draw: DrawBlocks
    metrics: Callable[[], MetricsView | None]
    describe_opening: Callable[[str], str]

    @property
    def count(self) -> int:
        """The number of sections."""
        return len(self.feed.panes)

    @property
    def min_rows(self) -> int:
        """The number of rows to reserve: one for each title, and `OPEN_ROWS` more if a section is open."""
        return self.count + (OPEN_ROWS if self.feed.unfolded & self.feed.panes.keys() else 0)

    def rows(self, looks: Looks, width: int, room: int) -> list[Strip]:
        """Draw all section titles, and the content of open sections, in at most `room` rows."""
        pen = Pen(looks, "s1")
        rows: list[Strip] = []
        spare = room - self.count  # A title of each section is always shown.
        for name, state in self.feed.panes.items():
            is_open = name in self.feed.unfolded
            mark = looks.symbols.open if is_open else looks.symbols.folded
            left = [
                pen.part("  "),
                pen.part(mark, "t3", intent=f"unfold {name}"),
                pen.part(" "),
                pen.part(pane_title(name), "t1" if is_open else "t2", bold=True, intent=f"pane {name}"),
            ]
            note: tuple[str, Role] = ("", "t3") if is_open else self._folded_note(name)
            note_room = max(0, width - cells(left) - 6)
            right = (
                pen.part("stopped", "error")
                if state.is_stopped
                else pen.part(fit(clean_line(note[0]), note_room, looks.symbols.ellipsis), note[1])
            )
            rows.append(pen.line(width, left, [right]))
            if is_open and spare > 0:
                content = pane_rows(state, self.draw, looks, width, "s1")
                if len(content) > spare:
                    more = format_count(len(content) - spare + 1, "more row")
                    content = [
                        *content[: spare - 1],
                        pen.line(width, [pen.part("  "), pen.part(more, "t3", intent=f"pane {name}")]),
                    ]
                rows += content
                spare -= len(content)
        return rows[:room]

    def _folded_note(self, name: str) -> tuple[str, Role]:
        """Return a short text for a folded pane: the newest test results, or how to open the pane."""
        metrics = self.metrics() if name == TESTS_PANE else None
        staleness = "" if metrics is None else metrics.later_changes.short_description
        if metrics is not None and metrics.tests_failed:
            failures = describe_failures(metrics.tests_failed, metrics.test_errors)
            return (f"{failures} {staleness}", "t3") if staleness else (failures, "error")
        if metrics is not None and metrics.test_fault:
            return (f"failed {staleness}", "t3") if staleness else (f"failed: {metrics.test_fault}", "error")
        if metrics is not None and metrics.tests_passed is not None:
            return f"{metrics.tests_passed} passed", "t3"
        return self.describe_opening(name), "t3"
