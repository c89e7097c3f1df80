"""The screen that compares two branches: figures, synchronised timelines, different files, and answers.

Invariant: the screen runs no model and no tool. It writes only a requested export.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from textual import on
from textual.app import ComposeResult

from tui_agent.folds.comparison.fold import Comparison
from tui_agent.folds.comparison.side import Side
from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.cli_client import non_json_text, read_rows
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.panes.marks import DENIED, MARKS, mark_symbol
from tui_agent.tui.panes.notice import Notice
from tui_agent.tui.screens.compare.ends import Ends
from tui_agent.tui.screens.compare.head import CompareHead, CompareHeader, Moment, columns_for
from tui_agent.tui.screens.replay.playhead import SPEEDS, Playhead, PlayheadScreen
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.lists import Intent, Lines
from tui_agent.tui.widgets.rows import Part
from tui_agent.units import format_clock

PLAY_S: Final = 10.0
"""Playing both timelines at the initial speed takes this many seconds."""
MIN_LINES: Final = 3


class CompareScreen(PlayheadScreen):
    """The screen that compares two branches.

    - `names`: one or two sessions, as arguments of `tui-agent compare`
    - `keep`: function that opens a branch
    - `report_missing`: called with the reason why the sessions cannot be compared
    """

    scope = "compare"
    DEFAULT_CSS = """
    CompareScreen { background: $s0; }
    CompareScreen Lines { height: 1fr; overflow-x: hidden; scrollbar-size: 1 1; background: $s0; }
    CompareScreen Notice { display: none; }
    """

    def __init__(
        self,
        context: AppContext,
        names: tuple[str, ...],
        keep: Callable[[Side], None],
        report_missing: Callable[[str], None],
    ) -> None:
        super().__init__()
        self.context = context
        self.names = names
        self._keep, self._report_missing = keep, report_missing
        self.comparison: Comparison | None = None
        self.chosen = 0
        self.file = 0
        self.header, self.footer, self.notice = CompareHeader(), Footer(), Notice()
        self.header.opened = context.state.title
        self.head, self.lines = CompareHead(), Lines()
        self.playhead = Playhead(_merge_timelines(None), 0)

    def compose(self) -> ComposeResult:
        yield from (self.header, self.head, self.lines, self.notice, self.footer)

    def on_mount(self) -> None:
        self._fit()
        self.run_worker(self._read(), name="compare", exit_on_error=False)

    async def _read(self) -> None:
        status, output = await self.context.ask("compare", *self.names, "--json")
        comparison = next(iter(read_rows(Comparison, output)), None)
        if status or comparison is None:
            self.leave()
            self._report_missing(clean_line(non_json_text(output)) or "The sessions could not be compared.")
            return
        self.comparison = comparison
        self.chosen = int(comparison.right.session == self.context.app.session_id != comparison.left.session)
        line = _merge_timelines(comparison)
        fast_enough = (speed for speed in SPEEDS if speed >= 1 and speed * PLAY_S >= line.length)
        self.playhead = Playhead(line, len(line) - 1, next(fast_enough, SPEEDS[-1]))
        self.header.set_comparison(comparison)
        self.footer.set_keys(self.key_map.hints("compare"))
        self._fit()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        height = self.app.size.height
        has_bars = height >= 10
        self.header.display = self.footer.display = has_bars
        self.footer.styles.margin = (1, 0, 0, 0) if self.context.app.shape.airy else 0
        self.show_place()
        room = height - 2 * has_bars - MIN_LINES
        self.head.styles.height = max(1, min(self.head.rows_for(height), room))
        self.call_after_refresh(self.show_ends)  # The height of the lines is known only after the refresh.

    def show_place(self) -> None:
        """Show the numbers and timelines at the moment under the playhead."""
        head = self.playhead
        moment = Moment()
        if head.place < head.last or head.playing:
            clock, length = (format_clock(round(seconds, 1)) for seconds in (head.seconds, head.line.length))
            text = f"{'' if head.playing else 'paused   '}{head.speed:g}x   {clock} of {length}"
            moment = Moment(head.seconds * 1000, head.playing, text)
        self.head.set_state(self.comparison, self.chosen, moment)

    def show_ends(self, *, keep: bool = True) -> None:
        if self.comparison is not None:
            columns = columns_for(self.app.size.width)
            ends = Ends(self.comparison, self.looks, columns, self.chosen)
            self.lines.set_rows(ends.rows(self.file), ends.fill, keep=keep)

    @property
    def ready(self) -> bool:
        return self.comparison is not None

    def show_beat(self, moved: bool) -> None:
        self.show_place()  # Both timelines also move between events.

    # -- keys ------------------------------------------------------------------------------------------------------

    def choose_other(self) -> None:
        self.choose(1 - self.chosen)

    def choose(self, side: int) -> None:
        """Select the branch to keep: 0 left, 1 right."""
        self.chosen = side
        self.show_place()
        self.show_ends()

    def show_file(self, direction: int) -> None:
        """Show the previous or next file that differs."""
        count = len(self.comparison.differences) if self.comparison is not None else 0
        if count:
            self.file = (self.file + direction) % count
            self.show_ends(keep=False)

    def scroll_page(self, direction: int) -> None:
        """Scroll the file and the answers by a page."""
        self.lines.scroll_relative(y=direction * max(1, self.lines.size.height - 2), animate=False)

    def keep(self) -> None:
        """Close the screen, and continue with the selected branch."""
        if self.comparison is not None:
            self.leave()
            # Call it after this screen has closed, because it may open another one.
            self.app.call_later(self._keep, self.head.sides[self.chosen])

    def export(self) -> None:
        """Write the comparison to a Markdown file."""
        if self.comparison is not None:
            form = export_to_chosen_place(
                self.context.app,
                self.context.ask,
                "Export this comparison as Markdown",
                Path(self.context.work_folder),
                ("compare", *self.names, "--markdown"),
                lambda text, level: (self if self.is_attached else self.context.app).say(text, level),
            )
            self.context.worker(form, "export")

    def open_help(self) -> None:
        """Show all keys of the comparison, and the meaning of the marks."""

        looks = self.looks
        legend: list[Part] = []
        for mark, word, role in (*MARKS, DENIED):
            symbol = (mark_symbol(mark, looks.symbols), looks.palette.style(role, "s3"))
            legend += [symbol, (f" {word}   ", looks.palette.style("t2", "s3"))]
        actions = [action for action in self.key_map.actions if action.scope == "compare"]
        self.show_keys_of("Comparison", actions, legend=legend)

    @on(Intent)
    def _on_intent(self, event: Intent) -> None:
        """Select the branch with the clicked name, or open the help."""
        event.stop()
        if event.name == "side" and event.argument in ("0", "1"):
            self.choose(int(event.argument))
        elif event.name == "help":
            self.open_help()


def _merge_timelines(comparison: Comparison | None) -> Timeline:
    """Return one timeline with the times of all events of both branches, in seconds."""
    sides = () if comparison is None else (comparison.left, comparison.right)
    clock = {0.0, *(beat.at_ms / 1000 for side in sides for beat in side.timeline)}
    return Timeline(tuple(sorted(clock)), (), (), ())
