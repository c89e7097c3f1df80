"""The base classes of sheets, which cover the middle of the screen: bar, head, scrolling body, foot.

Invariant: a sheet has no more rows than it needs, and fills a screen that is too small for margins. If a premature
answer could do harm, the sheet ignores keys in its first `grace_period_s` seconds. If the user is typing at that time,
the sheet ignores keys for longer, and `typed_ahead` passes the typed text to the prompt.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip

from tui_agent.folds.views import ViewName
from tui_agent.tui.actions import KeyHint, Scope
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.keymap import KeyScreen, claims_key
from tui_agent.tui.widgets.lists import Intent, LinePane, Lines
from tui_agent.tui.widgets.rows import Part, Pen, hint_caption, hints_width, intent_of, wrap
from tui_agent.tui.widgets.type_ahead import WRITING_PAUSE_S, TypedAhead

ResultT = TypeVar("ResultT")
GRACE_PERIOD_S = 0.3
"""Seconds in which a question that appears by itself ignores keys. A question that the user opened needs less."""


class FixedRows(LinePane):
    """The rows above or below the scrolling body of a sheet."""

    surface = "s3"

    def __init__(self, looks: Callable[[], Looks], *, id: str) -> None:
        super().__init__(looks, id=id)
        self.strips: list[Strip] = []

    def draw(self, width: int, height: int) -> list[Strip]:
        return self.strips[:height]


class SheetFrame(KeyScreen, ModalScreen[ResultT], Generic[ResultT]):
    """A sheet (bar, head, body and foot), but without its keys."""

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
    scope: ClassVar[Scope]
    sheet_width: ClassVar[int] = 96
    has_grace_period: ClassVar[bool] = False
    """True if the sheet ignores keys for the first `grace_period_s` seconds."""
    grace_period_s: ClassVar[float] = GRACE_PERIOD_S
    body_ground: ClassVar[Role] = "s3"
    tight_below: ClassVar[int] = 0
    """On a screen with fewer rows than this, the sheet is `tight`."""

    def __init__(self, looks: Callable[[], Looks]) -> None:
        super().__init__()
        self.looks_of = looks
        self._opened_at = math.inf
        self._grace_s = self.grace_period_s
        self.typed_ahead: TypedAhead | None = None
        """Object that gets the keys that the sheet ignores, because they can belong to a message in the prompt.

        None if the user does not seem to be writing a message.
        """
        self._head = FixedRows(looks, id="sheet-head")
        self._foot = FixedRows(looks, id="sheet-foot")
        self._body = Lines(looks, id="sheet-body")
        self._body.moved = lambda: self.mark_seen(self._in_sight + self._body.scroll_offset.y)
        self._in_sight = 0
        self.cursor_row: int | None = None
        """Index of the body row to which `redraw` scrolls; None if `redraw` does not scroll."""
        self._sheet = Vertical(id="sheet")
        # It covers the footer of the screen below, which is dimmed.
        self._footer = Footer(looks, id="sheet-keys")
        self._footer.has_help_key = False

    def compose(self) -> ComposeResult:
        with self._sheet:
            yield self._head
            yield self._body
            yield self._foot
        yield self._footer

    @property
    def looks(self) -> Looks:
        return self.looks_of()

    def style(
        self, text: Role = "t1", ground: Role = "s3", *, bold: bool = False, underline: bool = False
    ) -> Style:
        """Return a style for text on the sheet."""
        return self.looks.palette.style(text, ground, bold=bold, underline=underline)

    def prepare(self, width: int) -> None:
        """Compute values that several rows depend on. The sheet calls this method before `head`, `body` and `foot`."""

    def mark_seen(self, rows: int) -> None:
        """Record that the body was visible down to this row. The sheet calls this after drawing and scrolling."""

    def head(self, width: int) -> list[Strip]:
        """Return the rows above the scrolling body."""
        return []

    def body(self, width: int) -> list[Strip]:
        """Return the rows of the scrolling body."""
        return []

    def foot(self, width: int) -> list[Strip]:
        """Return the rows below the scrolling body."""
        return []

    @property
    def pen(self) -> Pen:
        return Pen(self.looks, "s3", margin=0)

    def part(self, text: str, role: Role = "t1", *, bold: bool = False, intent: str = "") -> Part:
        """Clean an untrusted text, and return it as a part of a row. A click on the text runs `intent`."""
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

    def title_rows(self, width: int, title: str, right: Sequence[Part] = ()) -> list[Strip]:
        """Return a row with the title at the left and `right` at the right. If there is room, add an empty row."""
        return [self.line(width, [self.part(title, bold=True)], right), *self.spacer(width)]

    def text_rows(
        self, width: int, text: str, role: Role = "t1", *, indent: int = 0, bold: bool = False
    ) -> list[Strip]:
        """Draw a text in as many rows as it needs."""
        style = self.style(role, bold=bold)
        return [self.line(width, [(" " * indent + piece, style)]) for piece in wrap(text, width - indent)]

    def choice_row(self, chosen: bool, intent: str, ground: Role = "selection") -> Pen:
        """Return the `Pen` for a row that the user can select; a click on the row runs `intent`."""
        return Pen(self.looks, ground if chosen else "s3", intent, chosen, margin=0)

    def on_mount(self) -> None:
        def start_grace_period() -> None:
            if self._opened_at == math.inf:
                self._opened_at = time.monotonic()
                if self.typed_ahead is not None and self.typed_ahead.midway:
                    self._grace_s = max(self._grace_s, WRITING_PAUSE_S)

        self.call_after_refresh(start_grace_period)
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
        """True if the sheet fills a small screen, so that it covers the footer too."""
        return self.app.size.height < 16 or self.app.size.width < 60

    @property
    def most_rows(self) -> int:
        """The maximum number of rows of head, body and foot together."""
        return self.app.size.height - (0 if self.is_full else 2 if self.tight else 6)

    def redraw(self, *, keep: bool = True) -> None:
        """Draw all rows again, and adjust the heights of head, body and foot.

        Do nothing before the sheet is mounted and after it is closed.
        """
        if not (self._sheet.is_attached and self._body.is_attached):
            return
        screen_width, screen_height = self.app.size
        full = self.is_full
        self.set_class(full, "-full")
        self.set_class(self.tight, "-tight")
        outer = screen_width if full else min(self.sheet_width, screen_width - 8)
        width = max(1, outer - (3 if full else 6))
        self.prepare(width)
        head, foot = self.head(width), self.foot(width)
        # A scrollbar takes one cell of the body's width.
        body = self.body(width)
        room = max(1, self.most_rows - len(head) - len(foot))
        if len(body) > room:
            body = self.body(width - 1)
        self._sheet.styles.width = outer
        self._sheet.styles.min_height = screen_height if full else None
        self._head.strips, self._foot.strips = head, foot
        self._head.styles.height, self._foot.styles.height = len(head), len(foot)
        self._body.styles.height = min(len(body), room)
        self._body.set_rows(body, self.style(ground=self.body_ground), keep=keep)
        self._head.show()
        self._foot.show()
        self._in_sight = min(len(body), room)
        self.mark_seen(self._in_sight + (self._body.scroll_offset.y if keep else 0))
        if self.cursor_row is not None:
            self.call_after_refresh(self._body.reveal, self.cursor_row)
        self._footer.set_keys(self.key_hints())


class Sheet(SheetFrame[ResultT]):
    """A sheet covers the middle of the screen and receives all keys.

    Subclasses return the rows of `head`, `body` and `foot` for a width; `scope` names the scope of their keys.
    """

    key_methods = {"sheet_page": "scroll_page"}
    opened_by = ""
    """The action whose key opened this sheet; the key also closes the sheet. Empty if there is none."""
    follows: frozenset[ViewName] = frozenset()
    """The views of the session that the sheet shows. If one of them changes, `follow` is called."""

    def follow(self) -> None:
        """Redraw the sheet, because one of the views in `follows` changed."""
        self.redraw()

    def end_grace_period(self) -> None:
        """Accept keys from now on."""
        self._opened_at = -math.inf

    def expect_text(self, give: Callable[[events.Key], object]) -> None:
        """Begin the grace period again, so that typed keys go to the prompt.

        A sheet without a grace period or with an open field does nothing.
        """
        if self.has_grace_period and self.open_field is None:
            self._opened_at, self._grace_s = time.monotonic(), max(self._grace_s, WRITING_PAUSE_S)
            self.typed_ahead = self.typed_ahead or TypedAhead(give, midway=False)

    @property
    def in_grace_period(self) -> bool:
        """True while the sheet ignores keys."""
        return self.has_grace_period and time.monotonic() - self._opened_at < self._grace_s

    def on_key(self, event: events.Key) -> None:
        # Textual also calls the handlers of base classes, unless `claims_key` has prevented that.
        if not (self.has_grace_period and event.time - self._opened_at < self._grace_s):
            self.typed_ahead = None
            return
        if not claims_key(self, event):
            return
        if self._opened_at < event.time:
            self._opened_at = event.time  # The user is still typing, so the grace period starts again.
        if self.typed_ahead is not None and self.typed_ahead.take_key(event):
            self._grace_s = max(self._grace_s, WRITING_PAUSE_S)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of this sheet's keys and the scope of the keys that all sheets have."""
        return self.scope, "sheet"

    @abstractmethod
    def key_hints(self) -> Sequence[KeyHint]:
        """Return the keys that work now.

        The footer shows them; a sheet that covers the footer shows them in its last row.
        """

    def foot(self, width: int) -> list[Strip]:
        return self.keys_rows(width)

    def keys_rows(self, width: int) -> list[Strip]:
        """If the sheet covers the footer, return a last row with the sheet's keys. Otherwise, return no row."""
        return [*self.spacer(width), self.keys_line(width)] if self.is_full else []

    def keys_line(self, width: int, right: str = "") -> Strip:
        """Draw a row such as `Enter choose Esc close`, with the text `right` on the right if there is room.

        If the keys do not fit, the last keys are left out first, but never the key that closes the sheet.
        """
        shown = list(self.key_hints())
        while len(shown) > 1 and hints_width(shown) > width:
            shown.remove(next((hint for hint in reversed(shown) if not hint.leaves), shown[-1]))
        left: list[Part] = []
        for hint in shown:
            gap = "   " if left else ""
            left += [self.part(f"{gap}{hint.key}", "t2", bold=True), self.part(hint_caption(hint), "t3")]
        return self.line(
            width, left, [self.part(right, "t3")] if hints_width(shown) + len(right) + 1 <= width else []
        )

    @property
    def open_field(self) -> Field | None:
        """The field that receives typed keys; None if the sheet has no open field."""
        return None

    def on_edit(self) -> None:
        """Redraw the sheet, because the text of the open field changed."""
        self.redraw()

    def type_key(self, key: str, character: str | None) -> bool:
        """Pass a key to the open field. Return False if the field does not use the key."""
        field = self.open_field
        if field is None:
            return False
        before, is_used = field.text, field.type_key(key, character)
        if field.text != before:
            self.on_edit()
        elif is_used:
            self.redraw()  # the cursor moved
        return is_used

    def on_paste(self, event: events.Paste) -> None:
        field = self.open_field
        if field is not None:
            event.stop()
            field.insert(event.text)
            self.on_edit()

    def close(self) -> None:
        self.dismiss(None)

    def scroll_page(self, direction: int) -> None:
        """Scroll the body by a page: up if `direction` is negative, otherwise down."""
        if direction < 0:
            self._body.scroll_page_up(animate=False)
        else:
            self._body.scroll_page_down(animate=False)

    def scroll_screenful(self) -> None:
        self.scroll_rows(self._body.size.height)

    def scroll_rows(self, count: int) -> None:
        self._body.scroll_relative(y=count, animate=False, force=True)

    def run_intent(self, intent: str) -> None:
        """Run the intent (name of an action, and its argument) of the part that the user clicked."""

    def on_click(self, event: events.Click) -> None:
        intent = intent_of(event.style)
        if intent and not self.in_grace_period:
            event.stop()
            self.run_intent(intent)

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if not self.in_grace_period:
            self.run_intent(f"{event.name} {event.argument}".strip())


class ChoiceSheet(Sheet[ResultT]):
    """A sheet with rows; the user selects a row by a key or a click. Subclasses define `count` and `use`."""

    chosen = 0

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of rows that can be selected."""

    @abstractmethod
    def use(self) -> object:
        """Use the selected row, e.g. give the answer in it."""

    def choice_pen(self, number: int, ground: Role = "selection") -> Pen:
        """Return the `Pen` for the selectable row with this index (from 0)."""
        return self.choice_row(number == self.chosen, f"choose {number}", ground)

    def move(self, direction: int) -> None:
        """Select the row below (`direction` 1) or above (-1), wrapping around at the ends."""
        self.chosen = (self.chosen + direction) % max(1, self.count)
        self.redraw()

    def move_to_end(self, direction: int) -> bool:
        """Select the first (`direction` -1) or the last row (1); return False if the key has another meaning now."""
        self.chosen = max(0, self.count - 1) if direction > 0 else 0
        self.redraw()
        return True

    def run_intent(self, intent: str) -> None:
        number = intent.removeprefix("choose ")
        if number.isdigit() and int(number) < self.count:
            self.chosen = int(number)
            self.redraw()
            self.use()
