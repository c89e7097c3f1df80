"""All sessions: found as you type, sorted, by day, with what is known of the chosen one; from here they are opened,
replayed, forked, compared, exported, renamed and removed.

Invariant: nothing here reads a store; every answer comes from the command line, beside the screen, and one that is no
longer wanted is thrown away. A key waits for none of them.
"""

from collections.abc import Sequence

from textual import events, on
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.screens.page import OPENS
from tui_agent.tui.screens.sessions.actions import SessionActions, SessionQueries, SessionsPage
from tui_agent.tui.screens.sessions.detail import Detail
from tui_agent.tui.screens.sessions.rows import (
    SORTS,
    Line,
    Row,
    Sort,
    arranged,
    matching,
)
from tui_agent.tui.screens.sessions.table import (
    RowPainter,
    SessionListing,
    SessionsHead,
    SessionsHeader,
    rows_for,
)
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.keymap import claims_key
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.rows import part
from tui_agent.units import format_bytes, format_cost


class SessionsFrame(SessionsPage):
    """The search, the sessions and their details, as they are drawn."""

    scope = "sessions"
    use_action = "sessions_open"
    detail_word = "more about it"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.painter = RowPainter(self.looks_of)
        self.header = self.sums = SessionsHeader(self.looks_of)
        self.head = self.top = SessionsHead(self.looks_of)
        self.listing = self.sessions = SessionListing(self.looks_of, self.draw_row)
        self.top.columns = self.painter.heads
        self.deeds = SessionActions(self)
        self.answers = SessionQueries(self)
        self.here_only = False

    def on_mount(self) -> None:
        self.painter.here = self.context.app.session_id
        self.answers.read()

    def show_keys(self) -> None:
        """The footer of what the keys mean now."""
        if self.deeds.renaming:
            hint = self.key_map.hint
            names = [hint("field_use", "keep this name"), hint("field_leave", "leave it as it was")]
            self.footer.set_keys(names)
            return
        scope: Scope = "sessions_find" if self.top.typing else "sessions"
        folder = "all folders" if self.here_only else "this folder only"
        words = {"sessions_place": folder, "sessions_folder": folder}
        if self.narrow and not self._open:
            words |= dict.fromkeys(("sessions_open", "sessions_use"), self.detail_word)
        hints = self.key_map.hints(scope)
        self.footer.set_keys([hint._replace(word=words.get(hint.action, hint.word)) for hint in hints])

    def _fit(self) -> None:
        super()._fit()
        width, height = self.app.size
        self.head.styles.height = rows_for(height)
        if not self.narrow:
            self.detail.styles.width = 54 if width >= 160 else 50 if width >= 120 else 40

    def sum_up(self) -> None:
        """Show the sums of all sessions."""
        spent = [row.cost for row in self.answers.rows if row.cost is not None]
        sums = [
            format_count(len(self.answers.rows), "session"),
            format_cost(sum(spent), digits=2) if spent else "",
        ]
        self.sums.set_sums(
            [word for word in (*sums, format_bytes(sum(row.size for row in self.answers.rows))) if word]
        )

    @property
    def text(self) -> str:
        """What is looked for."""
        return self.top.field.text.strip() if not self.top.asked else self.deeds.looked_for

    def typed(self) -> None:
        """Another text is looked for: names at once, texts when the typing rests."""
        self.answers.search(self.text)
        self.show_lines()

    # -- showing ---------------------------------------------------------------------------------------------------

    def show_lines(self, chosen: str = "") -> None:
        """Filter, sort and draw; the chosen session stays chosen."""
        place = str(self.context.app.options.cwd) if self.here_only else ""
        self.painter.now = self.context.app.clock()
        self.painter.words = self.text.split()
        found = matching(self.answers.rows, self.text, self.answers.hits, place)
        self.painter.folders = len({row.workspace for row in found}) > 1 or not self.here_only
        lines = arranged(found, self.painter.sort, self.painter.now) or self._nothing()
        held = chosen or (self.sessions.chosen.id if self.sessions.chosen else "")
        self.sessions.set_lines(lines, held)
        self._count = len(found)
        self.show_head()
        self.show_detail()

    _count = 0

    def _nothing(self) -> list[Line]:
        if self.text:
            still = "" if not self.top.said else " in a name yet"
            clears = self.key_map.key_of("sessions_clear")
            said = f'Nothing matches "{clean_line(self.text)}"{still}. {clears} clears.'
        elif self.answers.rows:
            said = f"No sessions of this folder. {self.key_map.key_of('sessions_place')} shows all."
        else:
            said = self.answers.said
        return [Line(group=said)]

    def show_head(self) -> None:
        """Title, counts and columns."""
        self.top.title = [
            ("Sessions", self.top.style(bold=True)),
            (self.deeds.title, self.top.style("accent")),
        ]
        every = len(self.answers.rows)
        count = f"{self._count} of {every}" if self._count != every else str(every) if every else ""
        self.top.right = [part(count, self.top.style("t2"))]
        self.top.show()

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        return self.painter.line(self.sessions.lines[at], width, chosen=chosen and at == self.sessions.at)

    @property
    def chosen(self) -> Row | None:
        """The session under the cursor."""
        return self.sessions.chosen

    def detail_rows(self, width: int) -> list[Strip]:
        row = self.chosen
        if row is None:
            return []
        detail = Detail(self.looks_of(), width, self.painter.words, self.painter.now)
        return detail.draw(row, self.answers.hits.get(row.id), self.answers.preview(row))


class SessionsScreen(SessionsFrame):
    """The controller opens what is chosen. Keys are in the registry, scopes `sessions` and `sessions_find`."""

    key_methods = {
        "sessions_open": "enter",
        "sessions_use": "enter",
        "sessions_row": "move",
        "sessions_choose": "move",
        "sessions_replay": ("on_chosen", "replay"),
        "sessions_fork": ("on_chosen", "fork"),
        "sessions_compare": ("on_chosen", "compare"),
        "sessions_export": ("on_chosen", "export"),
        "sessions_rename": ("on_chosen", "rename"),
        "sessions_delete": ("on_chosen", "remove"),
        "sessions_search": "type_search",
        "sessions_place": "switch_folder",
        "sessions_folder": "switch_folder",
        "sessions_sort": "sort_next",
        "sessions_leave": "clear_or_leave",
        "sessions_clear": "clear_or_leave",
        "field_use": ("end_renaming", True),
        "field_leave": ("end_renaming", False),
    }

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event) and not self.run_key(event.key):
            self._type(event)

    def key_scopes(self) -> Sequence[Scope]:
        if self.deeds.renaming:
            return ("field",)
        return ("sessions_find", "rows") if self.top.typing else super().key_scopes()

    def _type(self, event: events.Key) -> None:
        """Type into the field, for the search or for a name."""
        if self.top.typing and self.top.field.key(event.key, event.character):
            if self.deeds.renaming:
                self.top.show()
            else:
                self.typed()

    def on_chosen(self, method: str) -> bool:
        """Do something to the session under the cursor; False where there is none."""
        if self.chosen is not None:
            getattr(self.deeds, method)(self.chosen)
        return self.chosen is not None

    def end_renaming(self, keep: bool) -> None:
        """Keep the name that is typed, or leave it as it was."""
        self.deeds.end_renaming(keep=keep)

    def move(self, direction: int) -> None:
        if not self._detail_alone:
            self._look(typing=False)
        super().move(direction)

    def move_page(self, direction: int) -> None:
        if not self._detail_alone:
            self._look(typing=False)
        super().move_page(direction)

    def move_to_end(self, direction: int) -> bool:
        """Choose the first or the last session; a field that is typed in keeps the key."""
        if not self.top.typing:
            super().move_to_end(direction)
        return not self.top.typing

    def switch_folder(self) -> None:
        """Show only the sessions of this folder, or all."""
        self.here_only = not self.here_only
        self.show_keys()
        self.show_lines()

    def type_search(self) -> None:
        """Type into the search."""
        self._look(typing=True)

    def sort_next(self) -> None:
        """Sort by the next property."""
        self.sort_by(SORTS[(SORTS.index(self.painter.sort) + 1) % len(SORTS)])

    def open_help(self) -> None:
        """Every key of the list."""

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for action in self.context.app.actions:
                if action.scope == "sessions":
                    rows += viewer.pair(width, action.shown, action.help)
            rows += [viewer.gap(width)]
            return rows + viewer.say(
                width, "What you type is searched for; Up or Down, and letters mean these keys.", "t3"
            )

        self.app.push_screen(Viewer(self.looks_of, "Sessions", draw))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._look(typing=True)
        self.top.field.insert(event.text)
        self.typed()

    def _look(self, *, typing: bool) -> None:
        """Letters are typed, or mean something."""
        if typing != self.top.typing:
            self.top.typing = typing
            self.show_keys()
            self.top.show()

    def clear_or_leave(self) -> None:
        """Close the detail, stop comparing, clear the search; else leave."""
        if self._detail_alone:
            self._turn(False)
        elif self.deeds.stop_comparing():
            return
        elif self.top.field.text:
            self.top.field.text, self.top.field.at = "", 0
            self._look(typing=True)
            self.typed()
        else:
            self.dismiss(None)

    def sort_by(self, sort: Sort) -> None:
        """Sort by this."""
        self.painter.sort = sort
        self.show_lines()
        self.say(f"Sorted by {sort}.")

    def use(self) -> None:
        """Enter: open the chosen session; where there is none, a new one."""
        if self.chosen is not None:
            self.deeds.open(self.chosen)
        elif not self.answers.rows:
            self.dismiss(None)

    def take_intent(self, name: str, argument: str) -> None:
        if name == "sort" and argument in SORTS:
            self.sort_by(next(sort for sort in SORTS if sort == argument))

    @on(Intent)
    def _pressed(self, event: Intent) -> None:
        """A press on the field types into it."""
        if event.name not in OPENS and event.name == "find":
            event.stop()
            self._look(typing=True)
