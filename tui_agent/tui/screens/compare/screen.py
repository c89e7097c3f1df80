"""The screen that compares two branches: figures, synchronised timelines, different files, and answers.

Invariant: the screen runs no model and no tool, and writes no file but a requested export. No diff and no answer is cut
off: long lines wrap, and the rows scroll.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.strip import Strip

from tui_agent.folds.comparison.compared_branch import Side
from tui_agent.folds.comparison.fold import Comparison, FileDifference
from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import non_json_text, read_rows
from tui_agent.tui.modals.diff_strips import diff_strips
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.panes.notice import Notice
from tui_agent.tui.panes.timeline_marks import DENIED, MARKS, mark_symbol
from tui_agent.tui.screens.compare.compare_header import (
    MARGIN,
    CompareColumns,
    CompareHead,
    CompareHeader,
    Moment,
    columns_for,
)
from tui_agent.tui.screens.compare.figures import describe_missing, describe_tools
from tui_agent.tui.screens.replay.playhead import SPEEDS, Playhead, PlayheadScreen
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.untrusted_text import clean, clean_line, width
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.lists import Intent, Lines
from tui_agent.tui.widgets.rows import Part, blank_strip, row, wrap
from tui_agent.units import format_clock

PLAY_S: Final = 10.0
"""Playing both timelines at the initial speed takes this many seconds."""
MIN_LINES: Final = 3
"""Minimum number of rows for the files and answers, which scroll."""


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
        # Select the open session: the right side only if the left side is another session.
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
        self.call_after_refresh(self.show_body)  # The height of the lines is known only after the refresh.

    def show_place(self) -> None:
        """Show the numbers and timelines at the moment under the playhead."""
        head = self.playhead
        moment = Moment()
        if head.place < head.last or head.playing:
            clock, length = (format_clock(round(seconds, 1)) for seconds in (head.seconds, head.line.length))
            text = f"{'' if head.playing else 'paused   '}{head.speed:g}x   {clock} of {length}"
            moment = Moment(head.seconds * 1000, head.playing, text)
        self.head.set_state(self.comparison, self.chosen, moment)

    def show_body(self, *, keep: bool = True) -> None:
        if self.comparison is not None:
            columns = columns_for(self.app.size.width)
            body = ComparisonBody(self.comparison, self.looks, columns, self.chosen)
            self.lines.set_rows(body.rows(self.file), body.fill, keep=keep)

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
        self.show_body()

    def show_file(self, direction: int) -> None:
        """Show the previous or next file that differs."""
        count = len(self.comparison.differences) if self.comparison is not None else 0
        if count:
            self.file = (self.file + direction) % count
            self.show_body(keep=False)

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


class ComparisonBody:
    """Draws the lower part of a comparison: both sessions, or only the session `chosen`."""

    def __init__(self, comparison: Comparison, looks: Looks, columns: CompareColumns, chosen: int) -> None:
        self._comparison = comparison
        self._sides = comparison.left, comparison.right
        self._looks = looks
        self._columns = columns
        self._chosen = chosen
        self.fill = self._style()

    def rows(self, file: int) -> list[Strip]:
        """Draw all rows of the lower part; `file` is the index of the differing file to show."""
        empty = blank_strip(self._columns.width, self.fill)
        answers = self._title("Answers" if self._columns.second_column else "Answer")
        return [
            *self._draw_file(file),
            *(empty, answers, *self._draw_sides(self._draw_answer)),
            *(empty, self._title("Tools"), *self._draw_sides(self._draw_tools)),
        ]

    def _style(self, role: Role = "t1", *, bold: bool = False) -> Style:
        return self._looks.palette.style(role, "s0", bold=bold)

    def _title(self, title: str, right: Sequence[Part] = ()) -> Strip:
        left: list[Part] = [(" " * self._columns.labels, self.fill), (title, self._style(bold=True))]
        return row(self._columns.width, left, right, fill=self.fill)

    def _draw_sides(self, draw: Callable[[int], Sequence[Strip]]) -> list[Strip]:
        columns = self._columns
        indent = blank_strip(columns.labels, self.fill)
        if not columns.second_column:
            return [self._join(indent, strip) for strip in draw(self._chosen)]
        empty = [blank_strip(self._room(side), self.fill) for side in (0, 1)]
        gap = blank_strip(columns.second_column - columns.labels - columns.texts, self.fill)
        return [
            self._join(indent, left or empty[0], gap, right or empty[1])
            for left, right in zip_longest(draw(0), draw(1))
        ]

    def _join(self, *strips: Strip) -> Strip:
        return Strip.join(strips).adjust_cell_length(self._columns.width, self.fill)

    def _room(self, side: int) -> int:
        columns = self._columns
        if side and columns.second_column:
            return columns.width - MARGIN - columns.second_column
        return columns.texts

    def _wrap(self, text: str, role: Role, side: int) -> list[Strip]:
        room = self._room(side)
        lines = wrap(clean(text), room)
        return [row(room, [(line, self._style(role))], fill=self.fill, margin=0) for line in lines]

    # -- files -----------------------------------------------------------------------------------------------------

    def _draw_file(self, number: int) -> list[Strip]:
        files, columns = self._comparison.differences, self._columns
        if not files:
            words = " " * columns.labels + "Both sessions end with the same files."
            none = row(columns.width, [(words, self._style("t3"))], fill=self.fill)
            return [self._title("Where they differ"), none]
        file = files[number]
        count = f"{number + 1} of {len(files)}" + (" files" if columns.second_column else "")
        room = columns.width - columns.labels - len("Where they differ") - len(count) - 9
        path = self._shorten_path(file.path, room)
        name = [(f"{path}   ", self._style("t2"))] if width(path) <= room else []
        title = self._title("Where they differ", [*name, (count, self._style("t3"))])
        return [
            title,
            *self._draw_sides(lambda side: [*self._draw_diff(file, side), *self._draw_failures(side)]),
        ]

    def _shorten_path(self, path: str, room: int) -> str:
        """Shorten a path at its start, because its end contains the file's name."""
        path, ellipsis = clean_line(path), self._looks.symbols.ellipsis
        while width(path) > max(8, room) and "/" in path.removeprefix(ellipsis + "/"):
            path = f"{ellipsis}/{path.removeprefix(ellipsis + '/').partition('/')[2]}"
        return path

    def _draw_diff(self, file: FileDifference, side: int) -> list[Strip]:
        hunks, note = ((file.left, file.left_note), (file.right, file.right_note))[side]
        if not hunks:
            return self._wrap(note or describe_missing(file, self._sides[side]), "t3", side)
        return diff_strips(file.path, hunks, self._looks, self._room(side))

    # -- tests, answers, tools -------------------------------------------------------------------------------------

    def _draw_failures(self, side: int) -> list[Strip]:
        """Return an empty row and a row for each failing test; an empty list if no test fails."""
        room, failures = self._room(side), self._sides[side].failures
        rows = [blank_strip(room, self.fill)] if failures else []
        for name in failures:
            for number, line in enumerate(wrap(f"{clean_line(name)} fails", room - 2)):
                sign = self._looks.symbols.warning if not number else " "
                parts: list[Part] = [(f"{sign} ", self._style("error", bold=True)), (line, self._style("t2"))]
                rows.append(row(room, parts, fill=self.fill, margin=0))
        return rows

    def _draw_answer(self, side: int) -> list[Strip]:
        text = self._sides[side].answer.strip("\n")
        if not text:
            return self._wrap("No answer.", "t3", side)
        return markdown_strips(text, self._looks, self._room(side), "s0")

    def _draw_tools(self, side: int) -> list[Strip]:
        return self._wrap(describe_tools(self._sides[side]), "t2", side)
