"""The frame of a sheet over the middle of the screen: bar, head, scrolling body, foot.

Invariant: a sheet has no more rows than it needs, and fills a screen that is too small for margins.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip

from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.lists import LinePane, Lines, ScrollsLines
from tui_agent.tui.widgets.question_keys import QuestionKeys, ResultT
from tui_agent.tui.widgets.rows import Part, Pen, cells, cut_parts, wrap


class FixedRows(LinePane):
    """The rows above or below the scrolling body of a sheet."""

    surface = "s3"
    strips: Sequence[Strip] = ()

    def draw(self, width: int, height: int) -> list[Strip]:
        return list(self.strips[:height])


class SheetFrame(ScrollsLines, QuestionKeys[ResultT]):
    """A sheet without the handling of keys: a bar at the left, a head, a scrolling body and a foot."""

    DEFAULT_CSS = """
    SheetFrame {
        align: center middle;
        background: $backdrop;
        layers: default keys;
    }
    SheetFrame > #sheet-keys { layer: keys; dock: bottom; height: 1; }
    SheetFrame > #sheet {
        width: 96;
        height: auto;
        background: $s3;
        border-left: outer $accent;
        padding: 1 3 1 2;
    }
    SheetFrame.-warning > #sheet { border-left: outer $warning; }
    SheetFrame.-error > #sheet { border-left: outer $error; }
    SheetFrame.-ascii > #sheet { border-left: ascii $accent; }
    SheetFrame.-tight > #sheet { padding: 0 3 0 2; }
    SheetFrame.-full > #sheet { padding: 0 1; }
    SheetFrame.-full > #sheet-keys { display: none; }
    SheetFrame #sheet-head, SheetFrame #sheet-foot { height: 0; }
    SheetFrame #sheet-body { height: 0; overflow-x: hidden; background: $s3; scrollbar-size: 1 1; scrollbar-background: $s3; }
    """

    AUTO_FOCUS = ""
    surface = "s3"
    sheet_width: ClassVar[int] = 96
    title_text = ""
    tight_below: ClassVar[int] = 0
    """On a screen with fewer rows than this, the sheet is `tight`."""

    def __init__(self) -> None:
        super().__init__()
        self._head = FixedRows(id="sheet-head")
        self._foot = FixedRows(id="sheet-foot")
        self.scrolled = Lines(id="sheet-body")
        self.scrolled.moved = lambda: self.mark_seen(self._in_sight + self.scrolled.scroll_offset.y)
        self._in_sight = 0
        """Number of the body's rows that are visible at once."""
        self.queued_message = ""
        """The newest message that was queued while this sheet is open, in one line; empty if there is none."""
        self.cursor_row: int | None = None
        """Index of the body row to scroll into view. None: keep the scroll position."""
        self.rows_below_cursor = 0
        """`redraw` also scrolls this many rows below the cursor into view."""
        self._sheet = Vertical(id="sheet")
        # It covers the footer of the screen below, which is dimmed.
        self._footer = Footer(id="sheet-keys")
        self._footer.has_help_key = False

    def compose(self) -> ComposeResult:
        with self._sheet:
            yield self._head
            yield self.scrolled
            yield self._foot
        yield self._footer

    def prepare(self, width: int) -> None:
        """Compute values that `head`, `body` and `foot` share; `redraw` calls this method first."""

    def mark_seen(self, rows: int) -> None:
        """Record that the user has seen the first `rows` rows of the body."""

    def head(self, width: int) -> list[Strip]:
        """Return the rows above the scrolling body: the title, and an empty row if there is room."""
        title = self.line(width, [self.part(self.title_text, bold=True)], self.title_right())
        return [title, *self.spacer(width)]

    def title_right(self) -> Sequence[Part]:
        """Return the text to the right of the title."""
        return ()

    def body(self, width: int) -> list[Strip]:
        """Return the rows of the scrolling body."""
        return []

    def foot(self, width: int) -> list[Strip]:
        """Return the rows below the scrolling body."""
        return []

    @property
    def pen(self) -> Pen:
        return super().pen._replace(margin=0)

    def part(self, text: str, role: Role = "t1", *, bold: bool = False, intent: str = "") -> Part:
        """Clean an untrusted text, and return it as a part of a row.

        `intent`: the action of a click on the text.
        """
        return self.pen.part(text, role, bold=bold, intent=intent)

    def line(self, width: int, left: Sequence[Part], right: Sequence[Part] = ()) -> Strip:
        """Draw a row on the background of the sheet."""
        return self.pen.line(width, left, right)

    def spacer(self, width: int) -> list[Strip]:
        """Return one empty row if the screen has room for it; otherwise no row."""
        return [] if self.app.size.height < 16 else [self.line(width, [])]

    def loose_gap(self, width: int) -> list[Strip]:
        """Return one empty row, or no row if the sheet is `tight`."""
        return [] if self.tight else [self.line(width, [])]

    def text_rows(
        self, width: int, text: str, role: Role = "t1", *, indent: int = 0, bold: bool = False
    ) -> list[Strip]:
        """Draw a text in as many rows as it needs."""
        style = self.style(role, bold=bold)
        return [self.line(width, [(" " * indent + piece, style)]) for piece in wrap(text, width - indent)]

    def choice_row(self, chosen: bool, intent: str, ground: Role = "selection") -> Pen:
        """Return the pen for a selectable row. A click on the row runs `intent`."""
        return self.pen._replace(ground=ground if chosen else "s3", intent=intent, chosen=chosen)

    def on_mount(self) -> None:
        self.set_class(self.looks.symbols.name == "ascii", "-ascii")
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    @property
    def tight(self) -> bool:
        """True if the sheet leaves out its empty rows and can use all but two rows of the screen."""
        return self.app.size.height < self.tight_below

    @property
    def is_full(self) -> bool:
        """True if the sheet fills a small screen, and so covers the footer too."""
        return self.app.size.height < 16 or self.app.size.width < 60

    @property
    def max_rows(self) -> int:
        """The maximum number of rows of head, body and foot together."""
        return self.app.size.height - (0 if self.is_full else 2 if self.tight else 6)

    @property
    def can_scroll(self) -> bool:
        """True if some rows of the body are out of sight."""
        return self._in_sight < len(self.scrolled.strips)

    def set_queued_message(self, text: str) -> None:
        """Show the message that was queued while this sheet is open. `text`: empty if no message was queued."""
        if text != self.queued_message:
            self.queued_message = text
            self.redraw()

    def redraw(self, *, keep: bool = True) -> None:
        """Draw all rows again, and adjust the heights of head, body and foot."""
        if not (self._sheet.is_attached and self.scrolled.is_attached):
            return
        screen_width, screen_height = self.app.size
        full = self.is_full
        outer = screen_width if full else min(self.sheet_width, screen_width - 8)
        width = max(1, outer - (3 if full else 6))  # without the border and padding, see `DEFAULT_CSS`
        self.prepare(width)
        self.set_class(full, "-full")
        self.set_class(self.tight, "-tight")
        head, foot = self.head(width), [*self.foot(width), *self.message_rows(width)]
        # A scrollbar takes one cell of the body's width.
        body = self.body(width)
        room = max(1, self.max_rows - len(head) - len(foot))
        if len(body) > room:
            body = self.body(width - 1)
        self._sheet.styles.width = outer
        self._sheet.styles.min_height = screen_height if full else None
        self._head.strips, self._foot.strips = head, foot
        self._head.styles.height, self._foot.styles.height = len(head), len(foot)
        self.scrolled.styles.height = min(len(body), room)
        self.scrolled.set_rows(body, self.style(), keep=keep)
        self._head.show()
        self._foot.show()
        self._in_sight = min(len(body), room)
        self.mark_seen(self._in_sight + (self.scrolled.scroll_offset.y if keep else 0))
        if self.cursor_row is not None:
            below = min(self.rows_below_cursor, self._in_sight - 1)
            self.call_after_refresh(self.scrolled.reveal, self.cursor_row, below=below)
        self._footer.set_keys(self.current_hints())

    def message_rows(self, width: int) -> list[Strip]:
        """Draw the end of the unsent message or, if there is none, the newest queued message.

        The sheet can cover the prompt and the queue, which otherwise show these messages.
        """
        if self.covered_prompt is None or not (self.message or self.queued_message):
            return []
        if not self.message:
            queued = [self.part("Queued  ", "t2"), self.part(self.queued_message)]
            return [
                *self.loose_gap(width),
                self.line(width, cut_parts(queued, width, self.looks.symbols.ellipsis)),
            ]
        name = "Your message"
        if self.is_full and self.is_writing:  # without the row of keys
            name = f"{self.key_map.key_of(self.covered_prompt.send_action)} sends"
        label = [self.part(f"{name}  ", "t2", bold=self.is_writing)]
        field = Field(" ".join(self.message.split()))
        typed = field.parts(max(4, width - cells(label) - 1), self.pen, "", is_open=self.is_writing)
        return [*self.loose_gap(width), self.line(width, [*label, *typed])]
