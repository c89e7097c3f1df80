"""The drawn side of the transcript widget: views in, strips out.

Invariant: only rows on the screen become strips, and only rows that differ from what stands there are painted. The
widget's size never depends on its content, so content never lays the screen out again.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ReasoningEntry, ToolEntry, TranscriptView
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.tui.theme.palette import Palette
from tui_agent.tui.theme.scrollbar import dress
from tui_agent.tui.theme.symbols import UNICODE, Symbols
from tui_agent.tui.transcript.find import Finder
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.messages import BlobWanted
from tui_agent.tui.transcript.rows import DECOR, Row, Run, restyle, strip_of
from tui_agent.tui.transcript.selection import Selection
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.tools import QUICK_S, is_quick, unseen
from tui_agent.tui.transcript.viewport import Line, Viewport

_STRIPS: Final = 400
TAIL_S: Final = 1 / 30
"""Between frames that change some rows."""
SCROLL_S: Final = 1 / 12
"""Behind a frame that moved all rows: such a frame is 10 KB for the terminal."""


class Pace:
    """Says how long the next frame of a growing text has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def painted(self, *, scrolled: bool) -> None:
        """A frame was painted."""
        self._next = self._clock() + (SCROLL_S if scrolled else TAIL_S)

    def wait(self) -> float:
        """Seconds until the next frame may come, 0 or less for now."""
        return self._next - self._clock()


def only_grows(entries: Sequence[Entry], changed: Iterable[int], known: int) -> bool:
    """Whether all that has changed is text that is still coming in."""
    return len(entries) == known and all(_growing(entries[index]) for index in changed)


def _growing(entry: Entry) -> bool:
    match entry:
        case AnswerEntry() | ReasoningEntry():
            return entry.streaming
        case ToolEntry():
            return entry.state == "running" and bool(entry.output)
        case _:
            return False


class _Painted(NamedTuple):
    """What stands on one screen row: the row, and what is laid over it."""

    row: Row | None
    cursor: bool
    selected: tuple[int, int] | None
    needle: str


class TranscriptCanvas(ScrollView, can_focus=True):
    """Shows a `TranscriptView`. Everything a person does with it is in `TranscriptWidget`."""

    ALLOW_SELECT: ClassVar[bool] = False
    DEFAULT_CSS = """
    TranscriptCanvas {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size: 1 1;
        background: $background;
    }
    """

    anchored: reactive[bool] = reactive(True, repaint=False)
    """The view follows what is added."""
    new_rows: reactive[int] = reactive(0, repaint=False)
    """Rows that were added below the view while it was scrolled up."""
    cursor: reactive[str] = reactive("", repaint=False)
    """The id of the entry under the cursor, empty for none."""

    def __init__(
        self,
        palette: Palette,
        symbols: Symbols = UNICODE,
        *,
        resolve: Callable[[BlobText], str | None] | None = None,
        now: Callable[[], float] = time.time,
        actions: frozenset[str] = frozenset(),
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.finder = Finder()
        self.selection: Selection | None = None
        self._palette = palette
        self._symbols = symbols
        self._resolve = resolve
        self._asked: set[str] = set()
        self._actions = actions
        self.viewport = Viewport(Layout(Look(palette, symbols, 80, actions=actions), self._read, now))
        self._frame: list[Line] = []
        self._painted: list[_Painted] = []
        self._strips: dict[int, tuple[Row, Strip]] = {}
        self._live: set[int] = set()
        self._quick: set[int] = set()
        self._soon: Timer | None = None
        self._entries: Sequence[Entry] = ()
        self._changed: set[int] = set()
        self._later: Timer | None = None
        self._pace = Pace()
        self._ticker: Timer | None = None
        self._moving = False

    # Views

    def set_view(self, view: TranscriptView, changed: Sequence[int] = ()) -> None:
        """Show a newer view; `changed` are the indexes that differ from the one before (new ones may be left out)."""
        self._entries = view.entries
        self._changed.update(changed)
        wait = self._pace.wait()
        if wait > 0 and self.is_attached and only_grows(view.entries, changed, len(self.viewport.layout)):
            self._later = self._later or self.set_timer(wait, self._take_in)
        else:
            self._take_in()

    def show_more(self, view: TranscriptView) -> None:
        """Show the same view with entries before those that were shown; what the reader holds stays."""
        self.selection = None
        self._entries, self._changed = view.entries, set(range(len(view.entries)))
        self._take_in()
        if self.finder.text:
            self.finder.search(self.finder.text, self.viewport.layout, self._known)

    def _take_in(self) -> None:
        """Show the newest view now."""
        if self._later is not None:
            self._later.stop()
            self._later = None
        entries, changed = self._entries, self._changed
        self._changed = set()
        known, y = len(self.viewport.layout), self.viewport.y
        if len(entries) < known:
            self.selection = None  # it may lie on what is gone
        self.viewport.set_entries(entries, changed)
        fresh = range(known, len(entries)) if known <= len(entries) else range(len(entries))
        for index in {*changed, *fresh}:
            if index < len(entries):
                entry = entries[index]
                running = isinstance(entry, ToolEntry) and entry.state == "running"
                (self._live.add if running else self._live.discard)(index)
                quick = isinstance(entry, ToolEntry) and is_quick(entry)
                (self._quick.add if quick else self._quick.discard)(index)
        self._live = {index for index in self._live if index < len(entries)}
        self._quick = {index for index in self._quick if index < len(entries)}
        self._tick_or_rest()
        self._show_soon()
        self.repaint()
        self._pace.painted(scrolled=self.viewport.y != y)

    def set_look(self, palette: Palette | None = None, symbols: Symbols | None = None) -> None:
        """Draw with another theme or other symbols from now on; entries are drawn again when they are seen."""
        self._palette = palette or self._palette
        self._symbols = symbols or self._symbols
        self._strips.clear()
        self._painted = []
        self._fit()
        self._dress_scrollbar()

    def blob_loaded(self, blob: BlobText) -> None:
        """A text that `BlobWanted` asked for can be resolved now."""
        self._asked.discard(blob.blob_sha256)
        shown = {line.slot for line in self._frame}
        self.viewport.change(lambda: self.viewport.layout.touch(*shown))
        self.repaint()

    # Painting

    def repaint(self) -> None:
        """Bring the screen in line with the viewport, painting only rows that differ."""
        self._sync()
        self._frame = self.viewport.lines()
        painted = [self._overlay(line) for line in self._frame]
        old = self._painted
        self._painted = painted
        dirty = [
            y
            for y in range(max(len(painted), len(old)))
            if y >= len(painted) or y >= len(old) or _differ(painted[y], old[y])
        ]
        if len(dirty) > self.size.height // 2:
            self.refresh()
        elif dirty:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in dirty))

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        cells = self.scrollable_content_region.width
        look = self.viewport.layout.look
        if y >= len(self._painted):
            return strip_of((), look.ground, cells)
        painted = self._painted[y]
        if painted.row is None:
            return strip_of((), look.ground, cells)
        if not (painted.cursor or painted.selected or painted.needle):
            return self._plain_strip(painted.row, cells)
        return strip_of(self._laid_over(painted, look), painted.row.ground, cells)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of a part of the screen.

        Textual's own way makes new strips of every painted row; here a row that was painted before is the same strip
        again, with what filters and the compositor made of it.
        """
        filters = [one for one in self.get_line_filters() if one.enabled]
        background = self.background_colors[1]
        ground = self.viewport.layout.look.ground
        left, right = crop.column_span
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for one in filters:
                strip = strip.apply_filter(one, background)
            whole = left == 0 and right == strip.cell_length
            strips.append(strip if whole else strip.crop_extend(left, right, ground))
        return strips

    def _plain_strip(self, row: Row, cells: int) -> Strip:
        kept = self._strips.get(id(row))
        if kept is not None and kept[0] is row and kept[1].cell_length == cells:
            return kept[1]
        strip = strip_of(row.runs, row.ground, cells)
        if len(self._strips) > _STRIPS:
            self._strips.clear()
        self._strips[id(row)] = (row, strip)
        return strip

    def _overlay(self, line: Line) -> _Painted:
        if line.row is None:
            return _Painted(None, False, None, "")
        cursor = (
            line.number == 0 and self.has_focus and self.viewport.layout.slots[line.slot].id == self.cursor
        )
        selected = self.selection and self.selection.on_row(line.slot, line.number, len(line.row.text()))
        needle = self.finder.text if self.finder.text and self.finder.hits(line.row) else ""
        return _Painted(line.row, cursor, selected or None, needle)

    def _laid_over(self, painted: _Painted, look: Look) -> Sequence[Run]:
        assert painted.row is not None
        runs: Sequence[Run] = painted.row.runs
        full = look.palette.mode == "full"
        mark = Style(bgcolor=look.palette.theme.colors["selection"]) if full else Style(reverse=True)
        if painted.needle:
            runs = restyle(runs, self.finder.hits(painted.row), Style(underline=True, bold=True))
        if painted.selected:
            runs = restyle(runs, [painted.selected], mark)
        if painted.cursor:
            length = sum(len(run.text) for run in runs)
            runs = restyle(runs, [(0, length)], mark)
            first = runs[0]
            chosen = Run(look.symbols.chosen, look.s("accent") + mark, DECOR)
            runs = [chosen, first._replace(text=first.text[1:]), *runs[1:]]
            spare = max(look.right - sum(len(run.text) for run in runs), 0)
            runs = [*runs, Run(" " * spare, look.ground + mark)]
        return runs

    # Scrolling and size

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual moved the view (scrollbar, page keys): follow, and draw what came into view."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        # While a new size is on its way Textual clamps the position to it; what the reader holds must not follow that.
        resized = self.scrollable_content_region.height != self.viewport.height
        if not self._moving and not resized:
            self.viewport.scroll_to(round(new_value))
            self.repaint()

    def on_mount(self) -> None:
        """Dress the scrollbar."""
        self._dress_scrollbar()

    def on_resize(self, event: events.Resize) -> None:
        """Draw under the new width; what the reader holds stays."""
        self._fit()

    def _fit(self) -> None:
        region = self.scrollable_content_region
        if region.width > 0 and region.height > 0:
            # The scrollbar stands in the last column of the right margin.
            look = Look(self._palette, self._symbols, region.width + 1, actions=self._actions)
            self.viewport.resize(look, region.height)
            self.repaint()

    def _sync(self) -> None:
        """Tell Textual where the view is, without laying the screen out again."""
        viewport = self.viewport
        self._moving = True
        try:
            size = Size(self.scrollable_content_region.width, viewport.layout.total)
            if size != self.virtual_size:
                self.set_reactive(Widget.virtual_size, size)
                if self.show_vertical_scrollbar:
                    self.vertical_scrollbar.window_virtual_size = size.height
                    self.vertical_scrollbar.window_size = viewport.height
            if self.scroll_y != viewport.y:
                self.scroll_target_y = self.scroll_y = viewport.y
        finally:
            self._moving = False
        self.anchored = viewport.anchored
        self.new_rows = viewport.new_rows

    def _dress_scrollbar(self) -> None:
        dress(self, self._symbols)
        self.vertical_scrollbar.refresh()

    # Time and texts that come later

    def _tick_or_rest(self) -> None:
        if self._live and self._ticker is None and self.is_attached:
            self._ticker = self.set_interval(1.0, self._tick)
        elif not self._live and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _show_soon(self) -> None:
        """Calls that only look have no row at first; those that are not over soon get one."""
        if self._quick and self._soon is None and self.is_attached:
            self._soon = self.set_timer(QUICK_S, self._show_quick)

    def _show_quick(self) -> None:
        self._soon = None
        layout = self.viewport.layout
        quick = [index for index in self._quick if index < len(layout)]
        self._quick = {index for index in quick if self._young(index)}
        self.viewport.change(lambda: layout.touch(*quick))
        self.repaint()
        self._show_soon()

    def _young(self, index: int) -> bool:
        entry, now = self.viewport.layout.entry(index), self.viewport.layout.shown(index).now
        return isinstance(entry, ToolEntry) and unseen(entry, now)

    def _tick(self) -> None:
        """Once a second: the elapsed times of running calls on the screen."""
        shown = {line.slot for line in self._frame} & self._live
        if shown:
            self.viewport.change(lambda: self.viewport.layout.touch(*shown))
            self.repaint()

    def _known(self, text: LongText) -> str:
        """What is here of a text, without asking for the rest."""
        if isinstance(text, str):
            return text
        found = self._resolve(text) if self._resolve is not None else None
        return text.preview if found is None else found

    def _read(self, text: LongText) -> str:
        if isinstance(text, str):
            return text
        found = self._resolve(text) if self._resolve is not None else None
        if found is not None:
            return found
        if text.blob_sha256 not in self._asked:
            self._asked.add(text.blob_sha256)
            self.post_message(BlobWanted(text))
        return text.preview


def _differ(one: _Painted, other: _Painted) -> bool:
    if one[1:] != other[1:]:
        return True
    if one.row is other.row:
        return False
    return one.row is None or other.row is None or one.row.runs != other.row.runs
