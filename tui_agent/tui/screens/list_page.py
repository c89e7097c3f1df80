"""A full screen with a list and the details of the selected item: title, columns, rows, details pane on the right.

Invariant: header and footer stay in place, even when the details replace the list.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, ClassVar, Generic

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.strip import Strip
from textual.worker import WorkType

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import Action, KeyHint
from tui_agent.tui.modals.viewer import Viewer, show_full_notice
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.notice import MAX_ROWS, Level, Notice
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.keymap import KeyScreen
from tui_agent.tui.widgets.lists import (
    ChoiceList,
    HasLooks,
    Intent,
    ItemT,
    LinePane,
    Lines,
    ScrollsLines,
    post_intent,
)
from tui_agent.tui.widgets.rows import Column, Part, Pen, column_names, part, row, with_intent
from tui_agent.tui.worker_errors import WorkerErrorReporter

MIN_WIDTH_FOR_DETAIL = 100
MIN_HEIGHT_FOR_HEADS = 24
"""Minimum height of the terminal, in rows, for empty rows between the title and the column names."""
NOTICE_S = 10.0
"""Time for which a notice is shown, in seconds."""
HEADER_ACTIONS = ("help", "context", "cost", "model", "policy", "agent", "jobs")
"""Actions of the main screen for clicks in the header."""


class FullScreen(HasLooks, KeyScreen, WorkerErrorReporter, Screen[None]):
    """A screen that covers the main screen."""

    notice: Notice
    _notice_number = 0

    def say(self, text: str, level: Level = "info") -> None:
        """Show a notice for some seconds; a cut-off notice stays until the user opens it."""
        self._notice_number += 1
        number, notice = self._notice_number, self.notice
        notice.text, notice.level = text, level
        notice.display = True
        notice.styles.height = notice.fit(self.app.size.width, MAX_ROWS)
        notice.show()
        notice.refresh()
        # The timer of an older notice must not hide a newer one.
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

        self.app.push_screen(Viewer(title, draw))


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
    """The details pane on the right side of a list page."""

    def __init__(self, draw: Callable[[], None]) -> None:
        super().__init__(id="page-detail")
        self._draw = draw

    def on_resize(self) -> None:
        self._draw()

    def on_click(self, event: events.Click) -> None:
        post_intent(self, event)


def fill_header(header: Header, context: AppContext) -> None:
    """Show the open session's branch, status, model and cost in the header of a screen."""
    header.set_branch(context.app.header.branch)
    header.set_status(context.app.header.status)
    header.set_views(context.state, context.views.meter.view())


class PageFrame(FullScreen, Generic[ItemT]):
    """A list page (title, list and details); the subclass `Page` handles its keys."""

    AUTO_FOCUS = "ChoiceList"
    use_action: ClassVar[str]
    """Name of the page's main action. This action calls `use`."""
    narrow_footer_word: ClassVar[str] = "show"
    """The footer's word for the main action, while a narrow screen hides the details."""
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

    follow_s: ClassVar[float] = 0.0
    """Time between two calls of `follow`, in seconds; 0 if the page does not follow the session."""
    first_column: ClassVar[str] = ""
    columns: ClassVar[Sequence[Column]] = ()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self.header, self.footer = Header(), Footer()
        self.left = Vertical(id="page-left")
        self.head = PageHead()
        self.head.columns = self.column_names
        self.listing: ChoiceList[ItemT] = ChoiceList(self.draw_row)
        self.detail = Detail(self.show_detail)
        self.notice = Notice(id="page-notice")
        self._detail_opened = False
        """True if the details replace the list, on a screen without room for both."""
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
        if self.follow_s:
            self.follow()
            self.set_interval(self.follow_s, self.follow)
        self.notice.key = self.key_map.key_of("whole_note")
        self.show_session()
        self.footer.set_class(self.context.app.shape.airy, "-airy")
        self.fit()

    def on_resize(self) -> None:
        self.fit()
        self.show_head()

    def show_session(self) -> None:
        """Show the open session's branch, status, model and cost in the header."""
        fill_header(self.header, self.context)

    def show_keys(self) -> None:
        """Show the page's available keys in the footer."""
        self.footer.set_keys(self.usable_hints(self.key_map.hints(self.scope), {self.use_action}))

    def usable_hints(self, hints: Sequence[KeyHint], use_actions: Set[str]) -> list[KeyHint]:
        """Leave out the keys that do nothing in an empty list, and name what the others do in a narrow terminal.

        `use_actions`: the actions that open the selected item.
        """
        actions = self.key_map.actions
        moves = {action.name for action in actions if action.method == "move"}
        if not self.listing.items:
            on_items = {action.name for action in actions if action.method[:1] == ("on_chosen",)}
            hints = [hint for hint in hints if hint.action not in {*use_actions, *moves, *on_items}]
        words = dict.fromkeys(moves, "scroll") if self.detail_alone else {}
        if self.narrow and not self._detail_opened:
            words = dict.fromkeys(use_actions, self.narrow_footer_word)
        return [hint._replace(word=words.get(hint.action, hint.word)) for hint in hints]

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
        """Return True if the values differ from those of the previous call."""
        old, self._state = self._state, state
        return state != old

    # -- for subclasses to define ----------------------------------------------------------------------------------

    def draw_row(self, item: ItemT, width: int, line: Pen) -> Strip:
        """Draw an item's row with the pen `line`. By default, the row is blank."""
        return Strip.blank(width)

    def follow(self) -> None:
        """Show what has changed; the page calls this every `follow_s` seconds."""

    def column_names(self, width: int) -> Strip:
        """Draw the names of the list's columns."""
        return column_names(self.first_column, self.columns, width, self.looks)

    @property
    def subject(self) -> Any:
        """The object of the page's details and actions: by default the selected item, if there is one."""
        return self.chosen

    @abstractmethod
    def draw_detail(self, facts: Facts, subject: Any) -> None:
        """Add rows with the details of `subject`."""

    def fill_detail(self, facts: Facts) -> None:
        """Add the rows of the details pane."""
        if self.subject is not None:
            self.draw_detail(facts, self.subject)

    @abstractmethod
    def show_head(self) -> None:
        """Set the title, the counts and the column names at the top of the page."""

    # -- for subclasses to use -------------------------------------------------------------------------------------

    def filter_parts(self, title: str, names: Iterable[tuple[str, int]], chosen: int) -> list[Part]:
        """Return a title and the names of filters with their counts, as clickable parts of a row.

        `chosen`: index of the filter in use, which is underlined.
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
            facts = Facts(self.looks, width - 1)
            self.fill_detail(facts)
            self.detail.set_rows(facts.rows, facts.style(), keep=False)


class Page(PageFrame[ItemT]):
    """A list page with its keys; subclasses draw the rows and the details.

    `scope`: the scope of the subclass's own keys.
    """

    opens_above: ClassVar[frozenset[str]] = frozenset()
    """Actions that open something above this page. All other actions of header and footer close the page first."""

    @on(ChoiceList.Chosen)
    def _on_chosen(self, event: ChoiceList.Chosen) -> None:
        event.stop()
        self.show_detail()

    @on(ChoiceList.Used)
    def _on_used(self, event: ChoiceList.Used) -> None:
        event.stop()
        self.enter()

    def close_detail_or_leave(self) -> None:
        """Close the page. But if the details replace the list, return to the list instead."""
        if self.detail_alone:
            self.open_detail(False)
        else:
            self.leave()

    def show_whole_note(self) -> bool:
        """If a notice is cut off, show its full text; otherwise return False."""
        shown = show_full_notice(self.context, self.notice)
        if shown:
            self.hide_notice()
        return shown

    def open_help(self) -> None:
        """Close the page, and open the app's help."""
        self.leave()
        self.context.app.do("help")

    def move(self, direction: int) -> None:
        """Select the row below (`direction` 1) or above (-1). If only the details are shown, scroll them."""
        if self.detail_alone:
            self.detail.scroll_relative(y=direction, animate=False, force=True)
        else:
            self.listing.move(direction)

    def move_page(self, direction: int) -> None:
        """Move by a page in the list. If only the details are shown, scroll them."""
        if self.detail_alone:
            self.move(direction * self.detail.size.height)
        else:
            self.listing.move_page(direction)

    def move_to_end(self, direction: int) -> bool:
        """Select the first row (`direction` -1) or the last row (1).

        A subclass can return False instead, if the key should do something else now.
        """
        self.listing.move_to_end(direction)
        return True

    def enter(self) -> None:
        """Run the page's main action, or first show the details if they are hidden."""
        if self.narrow and not self._detail_opened and self.listing.items:
            self.open_detail(True)
        else:
            self.on_chosen("use")

    def use(self, subject: Any) -> None:
        """Run the page's main action on `subject`; pages override this method."""

    def on_chosen(self, method: str) -> bool:
        """Call the page's method named `method` with the page's `subject`; return False if there is no subject."""
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
        """Handle a click that stands for the action `name`. By default, do nothing."""


class LinesScreen(ScrollsLines, FullScreen):
    """A screen of rows that scroll but cannot be selected: head, rows, footer.

    `scope`: the scope of a subclass's own keys.
    """

    DEFAULT_CSS = """
    LinesScreen { background: $s0; }
    LinesScreen PageHead { height: 3; }
    LinesScreen Lines { height: 1fr; margin: 0 0 0 2; overflow-x: hidden; scrollbar-size: 1 1; background: $s0; }
    LinesScreen #page-notice { display: none; }
    """
    key_methods = {"view_close": "leave"}

    def __init__(self, name: str) -> None:
        super().__init__()
        self.title_of_keys = name
        """The title of the sheet with the screen's keys."""
        self.head, self.footer = PageHead(), Footer()
        self.scrolled, self.notice = Lines(), Notice(id="page-notice")

    def compose(self) -> ComposeResult:
        yield from (self.head, self.scrolled, self.notice, self.footer)

    def on_mount(self) -> None:
        self.footer.set_keys([*self.key_map.hints(self.scope), *self.key_map.hints("viewer")])

    def open_help(self) -> None:
        """Show the keys of the screen."""
        actions = [action for action in self.key_map.actions if action.scope in ("viewer", self.scope)]
        self.show_keys_of(self.title_of_keys, actions)

    def copy(self) -> None:
        """Copy the text of all rows."""
        self.copy_text("\n".join(strip.text.rstrip() for strip in self.scrolled.strips))
