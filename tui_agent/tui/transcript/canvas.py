"""Drawing of the transcript widget: converts transcript views to strips (Textual's screen rows).

Invariant: only visible rows become strips, and only changed rows are painted.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
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
from tui_agent.protocol.stored_text import BlobText, LongText, text_preview
from tui_agent.tui.theme.glyphs import UNICODE, Symbols
from tui_agent.tui.theme.scrollbar import style_scrollbar
from tui_agent.tui.theme.theme import Palette
from tui_agent.tui.transcript.chat_search import Finder
from tui_agent.tui.transcript.layout import Layout
from tui_agent.tui.transcript.selected_text import Selection
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import DECOR, Row, TextRun, restyle, strip_of
from tui_agent.tui.transcript.tool_rows import QUICK_S, is_too_young, is_unfinished
from tui_agent.tui.transcript.transcript_messages import BlobWanted
from tui_agent.tui.transcript.viewport import ScreenLine, Viewport

_MAX_STRIPS: Final = 400
"""Maximum number of rows whose strips are cached."""
TAIL_S: Final = 1 / 30
"""Minimum time after a frame that changed only some rows, in seconds."""
SCROLL_S: Final = 1 / 12
"""Minimum time after a frame that moved all rows, in seconds."""
# A frame that moves all rows sends about 10 KB.


class Pace:
    """Limits the frames per second while a text in the transcript grows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def note_frame(self, *, scrolled: bool) -> None:
        self._next = self._clock() + (SCROLL_S if scrolled else TAIL_S)

    def wait_s(self) -> float:
        """Return the seconds until the next frame; 0 or less if it can be drawn now."""
        return self._next - self._clock()


def is_only_growing(entries: Sequence[Entry], changed: Iterable[int], known: int) -> bool:
    """Return True if no entry is new and all changed entries are streaming texts.

    `known`: number of entries in the view before the change.
    """
    return len(entries) == known and all(_is_growing(entries[index]) for index in changed)


def _is_growing(entry: Entry) -> bool:
    match entry:
        case AnswerEntry() | ReasoningEntry():
            return entry.streaming
        case ToolEntry():
            return entry.state == "running" and bool(entry.output)
        case _:
            return False


class _PaintedLine(NamedTuple):
    """One painted line of the screen: its row, and the highlights on the row."""

    row: Row | None = None
    cursor: bool = False
    selected: tuple[int, int] | None = None
    needle: str = ""
    current: tuple[int, int] | None = None
    """The (start, end) of the search's current match; None if it is in another row."""


class TranscriptCanvas(ScrollView, can_focus=True):
    """The widget that shows a `TranscriptView`."""

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
    """True while the view stays at the end as new rows come."""
    new_rows: reactive[int] = reactive(0, repaint=False)
    """Number of rows added below the view while it was scrolled up."""
    find_place: reactive[str] = reactive("", repaint=False)
    """The place of the current match, such as `3 of 13`; empty while no search is open."""
    cursor: reactive[str] = reactive("", repaint=False)
    """The id of the entry under the cursor; empty if the cursor is on no entry."""

    def __init__(
        self,
        palette: Palette,
        symbols: Symbols = UNICODE,
        *,
        resolve: Callable[[BlobText], str | None] = lambda blob: None,
        now: Callable[[], float] = time.time,
        actions: frozenset[str] = frozenset(),
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.finder = Finder()
        self.selection: Selection | None = None
        self._palette = palette
        self._symbols = symbols
        self._resolve = resolve
        self._requested: set[str] = set()
        """Digests of the requested long texts that are not loaded yet."""
        self._actions = actions
        self.viewport = Viewport(Layout(Look(palette, symbols, 80, actions=actions), self._read, now))
        self._frame: list[ScreenLine] = []
        """The visible lines, from top to bottom."""
        self._painted: list[_PaintedLine] = []
        """The visible lines as they were last painted, to find the lines that differ."""
        self._strips: dict[int, tuple[Row, Strip]] = {}
        """Maps the `id` of a row to the row and its strip without highlights."""
        self._unfinished: set[int] = set()
        """Indexes of the unfinished tool calls."""
        self._entries: Sequence[Entry] = ()
        self._changed: set[int] = set()
        self._delayed: Timer | None = None
        """Timer that shows the newest view, if the next frame must wait."""
        self._pace = Pace()
        self._ticker: Timer | None = None
        self._quick_timer: Timer | None = None
        self._moving = False
        """True while `_sync` sets the scroll offset. `watch_scroll_y` then ignores the change."""

    # Views

    def set_view(self, view: TranscriptView, changed: Sequence[int] = ()) -> None:
        """Show a newer view of the transcript.

        `changed`: the indices of changed entries; new entries can be left out.
        """
        self._entries = view.entries
        self._changed.update(changed)
        wait_s = self._pace.wait_s()
        if (
            wait_s > 0
            and self.is_attached
            and is_only_growing(view.entries, changed, len(self.viewport.layout))
        ):
            self._delayed = self._delayed or self.set_timer(wait_s, self._apply_view)
        else:
            self._apply_view()

    def show_more(self, view: TranscriptView) -> None:
        """Show the same transcript with older entries added at its beginning, without moving the visible rows."""
        self.selection = None
        self._entries, self._changed = view.entries, set(range(len(view.entries)))
        self._apply_view()
        if self.finder.text:
            self.finder.search(self.finder.text, self.viewport.layout, self._loaded_text)

    def _apply_view(self) -> None:
        """Show the newest view now, without waiting for the next frame."""
        if self._delayed is not None:
            self._delayed.stop()
            self._delayed = None
        entries, changed = self._entries, self._changed
        self._changed = set()
        known, y = len(self.viewport.layout), self.viewport.y
        if len(entries) < known:
            # The selection and the matches may be in entries that are gone.
            self.selection = None
            self.finder.clear()
        self.viewport.set_entries(entries, changed)
        changed = changed.union(range(known if known <= len(entries) else 0, len(entries)))
        unchanged = self._unfinished - changed
        self._unfinished = {
            index for index in unchanged | changed if index < len(entries) and is_unfinished(entries[index])
        }
        self._update_timers()
        self.repaint()
        self._pace.note_frame(scrolled=self.viewport.y != y)

    def set_look(self, palette: Palette, symbols: Symbols) -> None:
        """Draw with this palette and these symbols from now on."""
        self._palette, self._symbols = palette, symbols
        self._strips.clear()
        self._painted = []
        self._resize_viewport()
        self._style_scrollbar()

    def blob_loaded(self, blob: BlobText) -> None:
        """Redraw the visible entries, because a long text requested with `BlobWanted` is available now."""
        self._requested.discard(blob.blob_sha256)
        self._redraw({line.slot for line in self._frame})

    # Painting

    def repaint(self) -> None:
        """Show the rows in the viewport. Paint only rows that differ from the screen."""
        if self.viewport.has_new_part:  # The row numbers in one entry have changed.
            self.viewport.has_new_part = False
            self.selection = None
            self.finder.forget_row()
        self._sync()
        self._frame = self.viewport.lines()
        before, self._painted = self._painted, [self._overlay(line) for line in self._frame]
        dirty = [
            y
            for y, (old, new) in enumerate(zip_longest(before, self._painted))
            if old is None or new is None or _differ(old, new)
        ]
        if len(dirty) > self.size.height // 2:
            self.refresh()
        elif dirty:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in dirty))

    def _redraw(self, slots: Iterable[int]) -> None:
        with self.viewport.keep_position():
            self.viewport.layout.touch(*slots)
        self.repaint()

    def render_line(self, y: int) -> Strip:
        """Return the strip of screen row `y`."""
        cells = self.scrollable_content_region.width
        look = self.viewport.layout.look
        painted = self._painted[y] if y < len(self._painted) else _PaintedLine()
        if painted.row is None:
            return strip_of((), look.ground, cells)
        if not (painted.cursor or painted.selected or painted.needle):
            return self._plain_strip(painted.row, cells)
        return strip_of(self._highlight(painted, painted.row, look), painted.row.ground, cells)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the strips of a region of the screen."""
        # An unchanged row keeps its strip object, because Textual caches results in that object.
        filters = [line_filter for line_filter in self.get_line_filters() if line_filter.enabled]
        background = self.background_colors[1]
        ground = self.viewport.layout.look.ground
        left, right = crop.column_span
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            is_whole = left == 0 and right == strip.cell_length
            strips.append(strip if is_whole else strip.crop_extend(left, right, ground))
        return strips

    def _plain_strip(self, row: Row, cells: int) -> Strip:
        cached = self._strips.get(id(row))
        # A new row can have the id of a freed one, so the row itself is compared too.
        if cached is not None and cached[0] is row and cached[1].cell_length == cells:
            return cached[1]
        strip = strip_of(row.runs, row.ground, cells)
        if len(self._strips) > _MAX_STRIPS:
            self._strips.clear()
        self._strips[id(row)] = (row, strip)
        return strip

    def _overlay(self, line: ScreenLine) -> _PaintedLine:
        if line.row is None:
            return _PaintedLine()
        cursor = (
            line.number == 0 and self.has_focus and self.viewport.layout.slots[line.slot].id == self.cursor
        )
        selected = self.selection and self.selection.on_row(line.slot, line.number, len(line.row.text()))
        needle = self.finder.text if self.finder.text and self.finder.hits(line.row) else ""
        hit = self.finder.current
        current = hit.span if hit is not None and hit.slot == line.slot and hit.row == line.number else None
        return _PaintedLine(line.row, cursor, selected or None, needle, current)

    def _highlight(self, painted: _PaintedLine, row: Row, look: Look) -> Sequence[TextRun]:
        runs: Sequence[TextRun] = row.runs
        full = look.palette.mode == "full"
        mark = Style(bgcolor=look.palette.theme.colors["selection"]) if full else Style(reverse=True)
        if painted.selected:
            runs = restyle(runs, [painted.selected], mark)
        if painted.cursor:
            length = sum(len(run.text) for run in runs)
            first, *others = restyle(runs, [(0, length)], mark)
            chosen = TextRun(look.symbols.chosen, look.style("accent") + mark, DECOR)
            margin = TextRun(" " * max(look.right - length, 0), look.ground + mark)
            runs = [chosen, first._replace(text=first.text[1:]), *others, margin]
        if painted.needle:
            runs = restyle(runs, self.finder.hits(row), Style(underline=True, bold=True))
        if painted.current:
            # In a row that is shown in reverse, the current match is not.
            reverse = full or not (painted.cursor or painted.selected)
            runs = restyle(runs, [painted.current], look.style("accent", bold=True) + Style(reverse=reverse))
        return runs

    # Scrolling and size

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll the viewport after Textual scrolled (scrollbar, page keys), and draw the newly visible rows."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        # During a resize Textual clamps the scroll offset; the reading position must not follow that.
        resized = self.scrollable_content_region.height != self.viewport.height
        if not self._moving and not resized:
            self.viewport.scroll_rows(round(new_value) - self.viewport.y)
            self.repaint()

    def on_mount(self) -> None:
        self._style_scrollbar()

    def on_resize(self, event: events.Resize) -> None:
        self._resize_viewport()

    def _resize_viewport(self) -> None:
        region = self.scrollable_content_region
        if region.width > 0 and region.height > 0:
            # The scrollbar occupies the last column of the right margin.
            look = Look(self._palette, self._symbols, region.width + 1, actions=self._actions)
            self.viewport.resize(look, region.height)
            self.repaint()

    def _sync(self) -> None:
        """Tell Textual the scroll offset and the virtual size without causing a layout."""
        viewport = self.viewport
        self._moving = True
        try:
            size = Size(self.scrollable_content_region.width, viewport.layout.total)
            if size != self.virtual_size:
                # Unlike an assignment, this calls no watcher, and so causes no layout.
                self.set_reactive(Widget.virtual_size, size)
                if self.show_vertical_scrollbar:
                    self.vertical_scrollbar.window_virtual_size = size.height
                    self.vertical_scrollbar.window_size = viewport.height
            if self.scroll_y != viewport.y:
                self.scroll_target_y = self.scroll_y = viewport.y
        finally:
            self._moving = False
        self.find_place = self.finder.place
        self.anchored = viewport.anchored
        self.new_rows = viewport.new_rows

    def _style_scrollbar(self) -> None:
        style_scrollbar(self, self._symbols)
        self.vertical_scrollbar.refresh()

    # Running calls, and texts that are loaded later

    def _update_timers(self) -> None:
        if self._unfinished and self._ticker is None and self.is_attached:
            self._ticker = self.set_interval(1.0, self._tick)
        elif not self._unfinished and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        if self._quick_timer is None and self.is_attached and any(map(self._is_too_young, self._unfinished)):
            self._quick_timer = self.set_timer(QUICK_S, self._show_young_calls)

    def _is_too_young(self, index: int) -> bool:
        layout = self.viewport.layout
        return is_too_young(layout.entry(index), layout.now())

    def _show_young_calls(self) -> None:
        """Show the calls that were left out because they had just begun, if they are still running."""
        # Rows of new calls are delayed, because most of these calls end before their row could be read.
        self._quick_timer = None
        self._redraw(self._unfinished)
        self._update_timers()

    def _tick(self) -> None:
        """Update the elapsed times of visible running calls, once a second."""
        self._redraw({line.slot for line in self._frame} & self._unfinished)

    def _loaded_text(self, text: LongText) -> str:
        """Return a text, or its preview if the text is stored outside the log and not loaded."""
        content = text if isinstance(text, str) else self._resolve(text)
        return text_preview(text) if content is None else content

    def _read(self, text: LongText) -> str:
        """Return a text; if it is not loaded, request it and return its preview."""
        if (
            not isinstance(text, str)
            and text.blob_sha256 not in self._requested
            and self._resolve(text) is None
        ):
            self._requested.add(text.blob_sha256)
            self.post_message(BlobWanted(text))
        return self._loaded_text(text)


def _differ(old: _PaintedLine, new: _PaintedLine) -> bool:
    if old[1:] != new[1:]:
        return True
    if old.row is new.row:
        return False
    return old.row is None or new.row is None or old.row.runs != new.row.runs
