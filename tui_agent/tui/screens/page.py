"""A full screen with a list and the details of the selected item: title, columns, rows, details pane on the right.

Invariant: header and footer stay in place. If there is no room for list and details, Enter shows the details in place
of the list and Esc shows the list again. Notices disappear by themselves.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Generic

from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.strip import Strip
from textual.worker import WorkType

from tui_agent.tui.actions import Action, Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.viewer import Viewer, show_full_notice
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.notice import MAX_ROWS, Level, Notice
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.keymap import KeyScreen
from tui_agent.tui.widgets.lists import ChoiceList, Intent, ItemT, LinePane, Lines, post_intent
from tui_agent.tui.widgets.rows import Part, part, row, with_intent
from tui_agent.tui.worker_errors import WorkerErrorReporter

MIN_WIDTH_FOR_DETAIL = 100
MIN_HEIGHT_FOR_HEADS = 24
"""Minimum height of the terminal, in rows, for empty rows between the title and the column names."""
NOTICE_S = 10.0
HEADER_ACTIONS = ("help", "context", "cost", "model", "policy", "agent", "jobs")
"""Actions that a click in the header runs on the main screen."""


class FullScreen(KeyScreen, WorkerErrorReporter, Screen[None]):
    """A screen that covers the main screen. It handles keys, runs workers, and shows notices above the footer."""

    looks_of: Callable[[], Looks]
    notice: Notice
    _notice_number = 0

    def say(self, text: str, level: Level = "info") -> None:
        """Show a notice for some seconds.

        A notice that is cut off stays until the user opens its full text with a key.
        """
        self._notice_number += 1
        number, notice = self._notice_number, self.notice
        notice.text, notice.level = text, level
        notice.display = True
        notice.styles.height = notice.fit(self.app.size.width, MAX_ROWS)
        notice.show()
        notice.refresh()
        if not (notice.cut and notice.key):
            self.set_timer(NOTICE_S, lambda: self.hide_notice() if number == self._notice_number else None)

    def hide_notice(self) -> None:
        self.notice.display = False

    def copy_text(self, text: str) -> None:
        """Copy a text to the clipboard, and show a notice about the result on this screen."""
        self.app.copy_text(text, self.say)  # type: ignore[attr-defined]

    def leave(self) -> None:
        self.dismiss(None)

    def start_worker(self, work: WorkType[None], name: str) -> None:
        """Start a worker that replaces a running worker of the same name."""
        self.run_worker(work, name=name, group=name, exclusive=True, exit_on_error=False)

    def show_keys_of(
        self, title: str, actions: Iterable[Action], note: str = "", legend: Sequence[Part] = ()
    ) -> None:
        """Open a sheet with the keys of these actions, and `note` or `legend` below the keys."""

        def draw(facts: Facts) -> None:
            for action in actions:
                facts.pair(action.all_keys, action.help, names=27)
            if note:
                facts.gap()
                facts.text(note, "t3")
            if legend:
                facts.gap()
                facts.line(legend)

        self.app.push_screen(Viewer(self.looks_of, title, draw))


class PageHead(LinePane):
    """The top of a list page: the title with counts, and the names of the columns."""

    title: Sequence[Part] = ()
    right: Sequence[Part] = ()
    columns: Callable[[int], Strip] | None = None
    notice: Part | None = None
    """A notice between the title and the column names, shown if there is room for it."""

    def show_title(self, title: str, right: str) -> None:
        """Show a title, and a text at its right edge."""
        self.title = [(title, self.style(bold=True))]
        self.right = [part(right, self.style("t2"))]
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        title = row(width, [("    ", self.style()), *self.title], self.right, fill=self.style())
        if height < 4 or self.columns is None:
            return [title]
        notice = [("    ", self.style()), self.notice] if self.notice else []
        empty, middle = (row(width, parts, fill=self.style()) for parts in ([], notice))
        return [empty, title, middle, self.columns(width)]


class Detail(Lines):
    """The details pane on the right side of a list page. The rows are drawn for the width of the pane."""

    def __init__(self, looks: Callable[[], Looks], draw: Callable[[], None]) -> None:
        super().__init__(looks, id="page-detail")
        self._draw = draw

    def on_resize(self) -> None:
        self._draw()

    def on_click(self, event: events.Click) -> None:
        post_intent(self, event)


class PageFrame(FullScreen, Generic[ItemT]):
    """A list page (title, list and details), but without its keys."""

    AUTO_FOCUS = "ChoiceList"
    scope: ClassVar[Scope]
    use_action: ClassVar[str]
    """The action that uses the selected item.

    If there is no room for the list and the details, the key of this action shows the details first.
    """
    detail_word: ClassVar[str] = "show"
    """The footer's word for `use_action` while its key shows the details."""
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
    PageFrame #page-notice { display: none; }
    """

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.looks_of = lambda: context.app.looks
        self.header, self.footer = Header(self.looks_of), Footer(self.looks_of)
        self.left = Vertical(id="page-left")
        self.head = PageHead(self.looks_of)
        self.listing: ChoiceList[ItemT] = ChoiceList(self.looks_of, self.draw_row)
        self.detail = Detail(self.looks_of, self.show_detail)
        self.notice = Notice(self.looks_of, id="page-notice")
        self._detail_opened = False
        """True if the details replace the list. This happens if there is no room for both."""
        self._state: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="page-body"):
            with self.left:
                yield self.head
                yield self.listing
            yield self.detail
        yield self.notice
        yield self.footer

    def on_mount(self) -> None:
        self.notice.key = self.key_map.key_of("whole_note")
        self.show_session()
        self.footer.set_class(self.context.app.shape.airy, "-airy")
        self.fit()

    def on_resize(self) -> None:
        self.fit()
        self.show_head()

    def show_session(self) -> None:
        """Show the open session's branch, status, model and cost in the header."""
        self.header.set_branch(self.context.app.header.branch)
        self.header.set_status(self.context.app.header.status)
        self.header.set_views(self.context.state, self.context.views.meter.view())

    def show_keys(self) -> None:
        """Update the footer with the keys that are available on the page.

        If the list is empty, leave out the keys that act on an item.
        """
        hints = self.key_map.hints(self.scope)
        if not self.listing.items:
            on_items = {name for name, method in self._key_methods.items() if method[0] == "on_chosen"}
            hints = [hint for hint in hints if hint.action not in {self.use_action, *on_items}]
        if self.narrow and not self._detail_opened:
            hints = [
                hint._replace(word=self.detail_word) if hint.action == self.use_action else hint
                for hint in hints
            ]
        self.footer.set_keys(hints)

    @property
    def narrow(self) -> bool:
        """True if there is no room for the list and the details at once."""
        return self.app.size.width < MIN_WIDTH_FOR_DETAIL

    @property
    def detail_width(self) -> int:
        """The width in cells of the details pane next to the list."""
        width = self.app.size.width
        return 54 if width >= 160 else 46 if width >= 120 else 40

    def fit(self) -> None:
        """Lay out the parts of the page for the size of the terminal."""
        height = self.app.size.height
        self.show_keys()
        self.detail.display = self._detail_opened or not self.narrow
        self.left.display = not self.detail_alone
        self.detail.styles.width = "100%" if self.detail_alone else self.detail_width
        self.header.display = self.footer.display = height >= 10
        self.footer.styles.margin = (1, 0, 0, 0) if self.context.app.shape.airy else 0
        self.head.styles.height = 4 if height >= MIN_HEIGHT_FOR_HEADS else 1

    @property
    def detail_alone(self) -> bool:
        """True if the details are shown in place of the list."""
        return self._detail_opened and self.narrow

    @property
    def chosen(self) -> ItemT | None:
        """The selected item of the list; None if the list is empty."""
        return self.listing.chosen

    def is_changed(self, *state: object) -> bool:
        """Return True if the values differ from the values of the previous call, so that the page must be redrawn."""
        old, self._state = self._state, state
        return state != old

    # -- for subclasses to define ----------------------------------------------------------------------------------

    def draw_row(self, item: ItemT, width: int, chosen: bool) -> Strip:
        """Draw the row of an item. A page with a list that draws its own rows need not define this method."""
        return Strip.blank(width)

    @abstractmethod
    def draw_detail(self, facts: Facts) -> None:
        """Add rows with the details of the selected item."""

    @abstractmethod
    def show_head(self) -> None:
        """Set the title, the counts and the column names at the top of the page."""

    # -- for subclasses to use -------------------------------------------------------------------------------------

    def style(
        self, text: Role = "t1", *, bold: bool = False, ground: Role = "s0", underline: bool = False
    ) -> Style:
        """Return a style for text in the list, on the list's background."""
        return self.looks_of().palette.style(text, ground, bold=bold, underline=underline)

    def filter_parts(self, title: str, names: Iterable[tuple[str, int]], chosen: int) -> list[Part]:
        """Return a title and the names of filters, each with its count.

        A click on a filter posts an intent with the name `filter` and the filter's number.
        """
        gap: Part = ("   ", self.style())
        parts = [(title, self.style(bold=True)), gap]
        for number, (name, count) in enumerate(names):
            on = number == chosen
            style = self.style("accent" if on else "t2", bold=on, underline=on)
            parts += [
                (name, with_intent(style, f"filter {number}")),
                (f" {count}" if count else "", style),
                gap,
            ]
        return parts

    def show_detail(self) -> None:
        """Draw the details of the selected item, and update the keys in the footer."""
        self.show_keys()
        width = self.detail.size.width
        if self.detail.display and width and self.is_attached:
            facts = Facts(self.looks_of(), width - 1)
            self.draw_detail(facts)
            self.detail.set_rows(facts.rows, facts.style(), keep=False)


class Page(PageFrame[ItemT]):
    """A list page with its keys.

    Subclasses draw the rows and the details; `scope` is the scope of the subclass's own keys.
    """

    opens_above: ClassVar[frozenset[str]] = frozenset()
    """Actions in the header and the footer that open above this page when clicked.

    A click on any other action closes the page first.
    """
    key_methods = {
        "page_scroll": "move_page",
        "page_ends": "move_to_end",
        "whole_note": "show_whole_note",
        "help": "open_help",
    }

    @on(ChoiceList.Chosen)
    def _on_chosen(self, event: ChoiceList.Chosen) -> None:
        event.stop()
        self.show_detail()

    @on(ChoiceList.Used)
    def _on_used(self, event: ChoiceList.Used) -> None:
        event.stop()
        self.enter()

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of the page's own keys, and the two scopes shared by all list pages."""
        return self.scope, "page", "rows"

    def close_detail_or_leave(self) -> None:
        """Close the details that replace the list; if the list is shown, close the page."""
        if self.detail_alone:
            self.open_detail(False)
        else:
            self.leave()

    def show_whole_note(self) -> bool:
        """Show the full text of a notice that is cut off; return False if there is no such notice."""
        shown = show_full_notice(self.context, self.notice)
        if shown:
            self.hide_notice()
        return shown

    def open_help(self) -> None:
        """Close the page, and open the app's help."""
        self.leave()
        self.context.app.do("help")

    def move(self, direction: int) -> None:
        """Select the row below (`direction` 1) or above (-1); if only the details are shown, scroll the details."""
        if self.detail_alone:
            self.detail.scroll_relative(y=direction, animate=False, force=True)
        else:
            self.listing.move(direction)

    def move_page(self, direction: int) -> None:
        """Move by a page in the list. If only the details are shown, move in the details."""
        if self.detail_alone:
            self.move(direction * self.detail.size.height)
        else:
            self.listing.move_page(direction)

    def move_to_end(self, direction: int) -> bool:
        """Select the first or the last row. Subclasses return False if the key has another action at the moment."""
        self.listing.move_to_end(direction)
        return True

    def enter(self) -> None:
        """Use the selected item; if there is no room for list and details, show the item's details first."""
        if self.narrow and not self._detail_opened and self.listing.items:
            self.open_detail(True)
        else:
            self.use()

    def use(self) -> None:
        """Use the selected item, e.g. open the selected session. Pages override this method; here it does nothing."""

    @property
    def subject(self) -> object | None:
        """The object that the actions of the page act on: the selected item, unless a subclass overrides this."""
        return self.chosen

    def on_chosen(self, method: str) -> bool:
        """Call the method of this name with `subject`; return False if there is no subject."""
        subject = self.subject
        if subject is not None:
            getattr(self, method)(subject)
        return subject is not None

    def open_detail(self, opened: bool) -> None:
        """Show the details in place of the list if `opened` is True, otherwise show the list again."""
        self._detail_opened = opened
        self.fit()

    @on(Intent)
    def _on_intent(self, event: Intent) -> None:
        event.stop()
        if event.name in HEADER_ACTIONS:
            if event.name not in self.opens_above:
                self.leave()
            app = self.context.app
            # Run the action after this screen has closed, so that what it opens is not closed too.
            app.call_later(app.do, event.name, event.argument)
        else:
            self.run_intent(event.name, event.argument)

    def run_intent(self, name: str, argument: str) -> None:
        """Run the intent (name of an action, and its argument) of a part that the user clicked."""


class LinesScreen(FullScreen):
    """A screen of rows that scroll but cannot be selected: head, rows, footer.

    `scope` is the scope of the keys that a subclass adds.
    """

    DEFAULT_CSS = """
    LinesScreen { background: $s0; }
    LinesScreen PageHead { height: 3; }
    LinesScreen Lines { height: 1fr; margin: 0 0 0 2; overflow-x: hidden; scrollbar-size: 1 1; background: $s0; }
    LinesScreen #page-notice { display: none; }
    """
    key_methods = {
        "view_scroll": "scroll_rows",
        "view_line": ("scroll_rows", 1),
        "view_page": "scroll_screenful",
        "view_ends": "scroll_to_end",
        "view_copy": "copy",
        "view_close": "leave",
        "sheet_page": "scroll_page",
        "help": "open_help",
    }
    scope: ClassVar[Scope]

    def __init__(self, looks: Callable[[], Looks], name: str) -> None:
        super().__init__()
        self.looks_of = looks
        self.title_of_keys = name
        """The title of the sheet with the screen's keys."""
        self.head, self.footer = PageHead(looks), Footer(looks)
        self.lines, self.notice = Lines(looks), Notice(looks, id="page-notice")

    def compose(self) -> ComposeResult:
        yield from (self.head, self.lines, self.notice, self.footer)

    def key_scopes(self) -> Sequence[Scope]:
        return self.scope, "viewer", "sheet"

    def on_mount(self) -> None:
        self.footer.set_keys([*self.key_map.hints(self.scope), *self.key_map.hints("viewer")])

    def open_help(self) -> None:
        """Show the keys of the screen."""
        actions = [action for action in self.key_map.actions if action.scope in ("viewer", self.scope)]
        self.show_keys_of(self.title_of_keys, actions)

    def copy(self) -> None:
        """Copy the text of all rows."""
        self.copy_text("\n".join(strip.text.rstrip() for strip in self.lines.strips))

    def scroll_rows(self, count: int) -> None:
        self.lines.scroll_relative(y=count, animate=False, force=True)

    def scroll_screenful(self) -> None:
        self.scroll_rows(self.lines.size.height)

    def scroll_page(self, direction: int) -> None:
        self.scroll_rows(direction * self.lines.size.height)

    def scroll_to_end(self, direction: int) -> None:
        """Scroll to the first row if `direction` is -1, to the last if it is 1."""
        self.lines.scroll_to(y=0 if direction < 0 else len(self.lines.strips), animate=False, force=True)
