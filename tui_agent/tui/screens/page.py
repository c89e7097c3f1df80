"""A full screen of a list and what is known of the chosen row: title, columns, rows, detail at the right.

Invariant: header and footer stand where they were; where there is no room for both, Enter opens the detail in place of
the list and Esc goes back to it; what was said goes by itself.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.viewer import show_full_note
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.note import Level, Note
from tui_agent.tui.text import clean
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.widgets.keymap import KeyActions, claims_key
from tui_agent.tui.widgets.line_pane import Intent, LinePane, post_intent
from tui_agent.tui.widgets.listing import Lines, Listing
from tui_agent.tui.widgets.rows import Part, part, row, wrap
from tui_agent.tui.worker_errors import WorkerErrorReporter

DETAIL_FROM = 100
HEADS_FROM = 24
"""Rows of the terminal from which on title and columns stand apart."""
SAID_S = 10.0
OPENS = ("help", "context", "cost", "model", "policy", "agent", "reasoning", "jobs")
"""What a press in the header opens, over the main screen."""


class PageHead(LinePane):
    """Title with the counts, and the columns' names."""

    title: Sequence[Part] = ()
    right: Sequence[Part] = ()
    columns: Callable[[int], Strip] | None = None
    notice: Part | None = None
    """A notice between the two, where there is room for it."""

    def draw(self, width: int, height: int) -> list[Strip]:
        title = row(width, [("    ", self.style()), *self.title], self.right, fill=self.style())
        if height < 4 or self.columns is None:
            return [title]
        notice = [("    ", self.style()), self.notice] if self.notice else []
        middle = row(width, notice, fill=self.style())
        return [row(width, [], fill=self.style()), title, middle, self.columns(width)]


class Detail(Lines):
    """The pane at the right; it is drawn for its width."""

    def __init__(self, looks: Callable[[], Looks], draw: Callable[[], None]) -> None:
        super().__init__(looks, id="page-detail")
        self._draw = draw

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        post_intent(self, event)


class PageFrame(KeyActions, WorkerErrorReporter, Screen[None]):
    """The title, list and details of a page, as they are drawn."""

    AUTO_FOCUS = "Listing"
    scope: ClassVar[Scope]
    use_action: ClassVar[str]
    """The action that uses the chosen row. Where list and detail take turns, its key first shows the detail."""
    detail_word: ClassVar[str] = "show"
    """The word in the footer for that."""
    DEFAULT_CSS = """
    PageFrame { background: $s0; }
    PageFrame #page-body { height: 1fr; }
    PageFrame #page-left { width: 1fr; height: 1fr; }
    PageFrame PageHead { height: 4; }
    PageFrame #page-left > ScrollView {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1; background: $s0;
    }
    PageFrame #page-detail {
        width: 46; height: 1fr; background: $s1; overflow-x: hidden; scrollbar-size: 1 1; scrollbar-background: $s1;
    }
    PageFrame #page-note { display: none; }
    """

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.looks_of: Callable[[], Looks] = lambda: context.app.looks
        self.header, self.footer = Header(self.looks_of), Footer(self.looks_of)
        self.left = Vertical(id="page-left")
        self.head = PageHead(self.looks_of)
        self.listing = Listing(self.looks_of, self.draw_row)
        self.detail = Detail(self.looks_of, self.show_detail)
        self.note = Note(self.looks_of, id="page-note")
        self._open = False
        """The detail stands in place of the list."""
        self._said = 0

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="page-body"):
            with self.left:
                yield self.head
                yield self.listing
            yield self.detail
        yield self.note
        yield self.footer

    def on_mount(self) -> None:
        self.header.set_views(self.context.state, self.context.views.meter.view())
        self.footer.set_class(self.context.app.is_airy, "-airy")
        self._fit()

    def on_resize(self) -> None:
        self._fit()
        self.show_head()

    def show_keys(self) -> None:
        """The footer of this page."""
        keys = self.key_map.hints(self.scope)
        if self.narrow and not self._open:
            keys = [
                hint._replace(word=self.detail_word) if hint.action == self.use_action else hint
                for hint in keys
            ]
        self.footer.set_keys(keys)

    @property
    def narrow(self) -> bool:
        """Whether list and detail take turns."""
        return self.app.size.width < DETAIL_FROM

    @property
    def detail_width(self) -> int:
        """Return the cells of the detail beside the list."""
        width = self.app.size.width
        return 54 if width >= 160 else 46 if width >= 120 else 40

    def _fit(self) -> None:
        height = self.app.size.height
        self.show_keys()
        self.detail.display = self._open or not self.narrow
        alone = self.narrow and self._open
        self.left.display = not alone
        self.detail.styles.width = "100%" if alone else self.detail_width
        self.header.display = self.footer.display = height >= 10
        self.footer.styles.margin = (1, 0, 0, 0) if self.context.app.is_airy else 0
        self.head.styles.height = 4 if height >= HEADS_FROM else 1

    # -- what subclasses give --------------------------------------------------------------------------------------

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        """A row of the list."""
        raise NotImplementedError

    def detail_rows(self, width: int) -> list[Strip]:
        """What is known of the chosen row."""
        raise NotImplementedError

    def show_head(self) -> None:
        """Set the title, the counts and the columns."""
        raise NotImplementedError

    def use(self) -> None:
        """Enter on the chosen row."""
        raise NotImplementedError

    # -- for subclasses --------------------------------------------------------------------------------------------

    def style(
        self, text: Role = "t1", *, bold: bool = False, ground: Role = "s0", underline: bool = False
    ) -> Style:
        """A style on the list's ground."""
        return self.looks_of().palette.rich(text, ground, bold=bold, underline=underline)

    def show_detail(self) -> None:
        """Draw the detail of the chosen row."""
        width = self.detail.size.width
        if self.detail.display and width and self.is_attached:
            fill = self.style(ground="s1")
            rows = self.detail_rows(width - 1)
            self.detail.set_rows(rows, fill, keep=False)

    def say(self, text: str, level: Level = "info") -> None:
        """A short word above the footer, for a while."""
        self._said += 1
        mine = self._said
        self.note.text, self.note.level = text, level
        self.note.key = self.key_map.key_of("whole_note")
        self.note.display = True
        self.note.styles.height = len(self.note.lines(self.app.size.width))
        self.note.show()
        self.note.refresh()
        if not self.note.cut:
            self.set_timer(SAID_S, lambda: self.hush() if mine == self._said else None)

    def leave(self) -> None:
        """Back to what lies below."""
        self.dismiss(None)

    def hush(self) -> None:
        """Take the word away."""
        self.note.display = False


class Page(PageFrame):
    """Subclasses draw rows and fill the detail; `scope` holds their keys."""

    key_methods = {
        "page_scroll": "move_page",
        "page_ends": "move_to_end",
        "whole_note": "show_whole_note",
        "help": "open_help",
    }

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(Listing.Chosen)
    def _chosen(self, event: Listing.Chosen) -> None:
        event.stop()
        self.show_detail()

    @on(Listing.Used)
    def _used(self, event: Listing.Used) -> None:
        event.stop()
        self.enter()

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event):
            self.run_key(event.key)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the page's own scope, and those of all pages and lists."""
        return self.scope, "page", "rows"

    @property
    def _detail_alone(self) -> bool:
        """Whether the detail stands in place of the list."""
        return self._open and self.narrow

    def close_detail_or_leave(self) -> None:
        """Go back to the list, or leave the page."""
        if self._detail_alone:
            self._turn(False)
        else:
            self.dismiss(None)

    def show_whole_note(self) -> bool:
        """Show all of a message that has no room; False where there is none."""
        shown = show_full_note(self.context, self.note)
        if shown:
            self.hush()
        return shown

    def open_help(self) -> None:
        """Leave the page, and open the help."""
        self.dismiss(None)
        self.context.app.do("help")

    def move(self, direction: int) -> None:
        """Choose the row above or below; scroll the detail where it stands alone."""
        if self._detail_alone:
            self.detail.scroll_relative(y=direction, animate=False, force=True)
        else:
            self.listing.move(direction)

    def move_page(self, direction: int) -> None:
        """The same, by a page."""
        if self._detail_alone:
            self.move(direction * self.detail.size.height)
        else:
            self.listing.move_page(direction)

    def move_to_end(self, direction: int) -> bool:
        """Choose the first or the last row; False where the key has another use."""
        self.listing.move_to_end(direction)
        return True

    def enter(self) -> None:
        """Use the chosen row; where list and detail take turns, show its detail first."""
        if self.narrow and not self._open and self.listing.count:
            self._turn(True)
        else:
            self.use()

    def _turn(self, opened: bool) -> None:
        self._open = opened
        self._fit()

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if event.name in OPENS:
            self.dismiss(None)
            app = self.context.app
            app.call_later(
                app.do, event.name, event.argument
            )  # what it asks is answered to one that still lives
        else:
            self.take_intent(event.name, event.argument)

    def take_intent(self, name: str, argument: str) -> None:
        """A press on a part that carries an intent."""


class Facts:
    """Rows of a detail pane, made one after the other."""

    def __init__(self, looks: Looks, width: int) -> None:
        self._looks, self.width = looks, width
        self.rows: list[Strip] = []

    def style(self, text: Role = "t1", *, bold: bool = False) -> Style:
        """A style on the pane."""
        return self._looks.palette.rich(text, "s1", bold=bold)

    def line(self, parts: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """One row."""
        ahead: Part = ("  ", self.style())
        self.rows.append(row(self.width, [ahead, *parts], right, fill=self.style(), margin=1))

    def gap(self) -> None:
        """An empty row, never two."""
        self.line([])

    def text(self, text: str, role: Role = "t1", *, bold: bool = False, most: int = 0) -> None:
        """A paragraph; of a longer one than `most` rows the beginning."""
        pieces = [piece for one in clean(text).strip("\n").split("\n") for piece in wrap(one, self.width - 4)]
        shown = pieces[:most] if most else pieces
        for piece in shown:
            self.line([(piece, self.style(role, bold=bold))])
        self._left_out(len(pieces) - len(shown))

    def markdown(self, text: str, *, most: int) -> None:
        """What an agent wrote; of a longer text than `most` rows the beginning."""
        strips = markdown_strips(text, self._looks, self.width - 3, "s1")
        self.add_strips(strips[:most])
        self._left_out(len(strips) - most)

    def add_strips(self, strips: Sequence[Strip]) -> None:
        """Add rows that were drawn for three cells less."""
        fill = self.style()
        left, right = Strip.blank(2, fill), Strip.blank(1, fill)
        self.rows += [Strip.join([left, strip, right]) for strip in strips]

    def _left_out(self, rest: int) -> None:
        if rest > 0:
            self.line([(format_count(rest, "more line"), self.style("t3"))])

    def heading(self, text: str) -> None:
        """A group's name, with a row before it."""
        self.gap()
        self.line([(text, self.style("t2"))])

    def fact(self, name: str, value: str, role: Role = "t1", *, names: int = 12) -> None:
        """`name   value`, wrapped; nothing where there is no value."""
        if not value:
            return
        for at, piece in enumerate(wrap(clean(value).replace("\n", " "), max(8, self.width - names - 4))):
            self.line([((name if at == 0 else "").ljust(names), self.style("t2")), (piece, self.style(role))])

    def counted(self, added: int, removed: int, path: str, widest: int) -> None:
        """` +4 −1  path`."""
        minus = self._looks.symbols.minus
        plus, less = f"+{added}".rjust(widest), f"{minus}{removed}".rjust(widest)
        quiet = self.style("t3")
        self.line(
            [
                (plus, self.style("success") if added else quiet),
                (" ", self.style()),
                (less, self.style("error") if removed else quiet),
                ("  ", self.style()),
                part(path, self.style()),
            ]
        )
