"""L7: all sessions: found as you type, sorted, by day, with what is known of the chosen one; from here they are opened,
replayed, forked, compared, exported, renamed and removed.

Invariant: nothing here reads a store; every answer comes from the command line, beside the screen, and one that is no
longer wanted is thrown away. A key waits for none of them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on
from textual.strip import Strip

from tui_agent.tui import units
from tui_agent.tui.actions import Scope, footer
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.outside import JsonRow, json_rows
from tui_agent.tui.panes.base import Intent
from tui_agent.tui.rows import part
from tui_agent.tui.screens.page import OPENS, Page
from tui_agent.tui.screens.sessions_deeds import Deeds
from tui_agent.tui.screens.sessions_detail import Detail
from tui_agent.tui.screens.sessions_head import SessionsHead, SessionsHeader, rows_for
from tui_agent.tui.screens.sessions_list import RowPainter, SessionListing
from tui_agent.tui.screens.sessions_rows import (
    SORTS,
    Hit,
    Line,
    Row,
    Sort,
    arranged,
    hits_of,
    matching,
    rows_of,
)
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

STILL_S = 0.15
"""So long nothing is typed, or nobody moves, before something is asked."""
SLOW_S = 1.5
"""From here on it is said why an answer takes its time."""
LEAST = 2
"""Letters from which on the texts are searched: one letter is in all of them."""


class SessionsScreen(Page):
    """`Live` opens what is chosen. Keys are in the registry, scopes `sessions` and `sessions_find`."""

    scope = "sessions"
    AUTO_FOCUS = "SessionListing"
    DEFAULT_CSS = """
    SessionsScreen SessionListing {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1; background: $s0;
    }
    """

    def __init__(self, live: "Live") -> None:
        super().__init__(live)
        self.painter = RowPainter(self.looks_of)
        self.header = self.sums = SessionsHeader(self.looks_of)
        self.head = self.top = SessionsHead(self.looks_of)
        self.listing = self.sessions = SessionListing(self.looks_of, self.draw_row)
        self.top.columns = self.painter.heads
        self.deeds = Deeds(self)
        self.rows: Sequence[Row] = ()
        self.hits: Mapping[str, Hit] = {}
        self.hits_for = ""
        """The text that the hits are of."""
        self.said = "Reading the sessions …"
        """What stands in place of an empty list."""
        self.here_only = False
        self._shown: dict[str, tuple[float, JsonRow]] = {}
        self._asked_at = 0

    def on_mount(self) -> None:
        super().on_mount()
        self.painter.here = self.live.app.session_id
        self.read()
        self.set_timer(SLOW_S, self._slow)

    def _slow(self) -> None:
        if not self.rows and self.said.startswith("Reading"):
            self.said = "Reading the sessions' logs: there is no list of them yet, or an old one …"
            self.show_lines()

    def show_keys(self) -> None:
        """The footer of what the keys mean now."""
        scope: Scope = "sessions_find" if self.top.typing else "sessions"
        keys = footer(self.live.app.actions, (scope,), running=False)
        words = {"Tab": "all folders" if self.here_only else "this folder only"}
        if self.narrow and not self._open:
            words["Enter"] = "more about it"
        self.footer.set_keys([(key, words.get(key, word)) for key, word in keys])

    def _fit(self) -> None:
        super()._fit()
        width, height = self.app.size
        self.head.styles.height = rows_for(height)
        if not self.narrow:
            self.detail.styles.width = 54 if width >= 160 else 50 if width >= 120 else 40

    # -- asking ----------------------------------------------------------------------------------------------------

    def read(self, chosen: str = "") -> None:
        """Ask for the list (again)."""
        self._beside(partial(self._read, chosen), "list")

    def _beside(self, work: Callable[[], Coroutine[None, None, object]], group: str) -> None:
        """Do it beside the screen, in place of what of its group still goes on."""
        self.run_worker(work, name=group, group=group, exclusive=True, exit_on_error=False)  # type: ignore[arg-type]  # of a result that nobody takes

    async def _read(self, chosen: str) -> None:
        status, said = await self.live.ask("sessions", "list", "--all", "--json")
        self.rows = await asyncio.to_thread(rows_of, said)
        self.said = "No sessions yet. Enter starts one; tui-agent demo shows one."
        if status:
            self.said = "The sessions could not be listed."
            self.say(clean_line(" ".join(said.split())) or self.said, "error")
        self._shown.clear()
        self.show_lines(chosen)
        self._sum_up()

    def renamed(self, session: str, title: str) -> None:
        """A session got a name of which its log will tell."""
        folded = f"{title}\n{session}".casefold()
        self.rows = [
            replace(row, title=title, folded=folded) if row.id == session else row for row in self.rows
        ]
        self.show_lines()

    def _sum_up(self) -> None:
        spent = [row.cost for row in self.rows if row.cost is not None]
        sums = [units.plural(len(self.rows), "session"), units.money(sum(spent), digits=2) if spent else ""]
        self.sums.set_sums([word for word in (*sums, units.size(sum(row.size for row in self.rows))) if word])

    @property
    def text(self) -> str:
        """What is looked for."""
        return self.top.field.text.strip() if not self.top.asked else self.deeds.looked_for

    def typed(self) -> None:
        """Another text is looked for: names at once, texts when the typing rests."""
        if not self.text.startswith(self.hits_for) or not self.hits_for:
            self.hits, self.hits_for = {}, ""
        text = self.text
        wanted = len(text) >= LEAST
        self.top.said = "searching …" if wanted else ""
        self.show_lines()
        if wanted:
            self._beside(partial(self._search, text), "search")
        else:
            self.workers.cancel_group(self, "search")

    async def _search(self, text: str) -> None:
        await asyncio.sleep(STILL_S)  # a pause in typing, cut short by the next key
        slow = self.set_timer(SLOW_S, lambda: self._tell("searching: all texts are read once …", text))
        try:
            status, said = await self.live.ask(
                "sessions", "search", "--sessions", "--all", "--json", "--", text
            )
        finally:
            slow.stop()
        hits = await asyncio.to_thread(hits_of, said)
        if text != self.text:
            return
        self.hits, self.hits_for = hits, text
        self.top.said = ""
        if status and said.strip():
            self.say(clean_line(" ".join(said.split())), "error")
        self.show_lines()

    def _tell(self, said: str, text: str) -> None:
        if text == self.text:
            self.top.said = said
            self.top.show()

    # -- showing ---------------------------------------------------------------------------------------------------

    def show_lines(self, chosen: str = "") -> None:
        """Filter, sort and draw; the chosen session stays chosen."""
        place = str(self.live.app.options.cwd) if self.here_only else ""
        self.painter.now = self.live.app.clock()
        self.painter.words = self.text.split()
        found = matching(self.rows, self.text, self.hits, place)
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
            said = f'Nothing matches "{clean_line(self.text)}"{still}. Esc clears.'
        elif self.rows:
            said = "No sessions of this folder. Tab shows all."
        else:
            said = self.said
        return [Line(group=said)]

    def show_head(self) -> None:
        """Title, counts and columns."""
        self.top.title = [
            ("Sessions", self.top.style(bold=True)),
            (self.deeds.title, self.top.style("accent")),
        ]
        every = len(self.rows)
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
        known = self._shown.get(row.id)
        shown = known[1] if known is not None and known[0] == row.updated else None
        if shown is None:
            self._beside(partial(self._preview, row), "preview")
        words = self.painter.words
        return Detail(self.looks_of(), width, words, self.painter.now).draw(row, self.hits.get(row.id), shown)

    async def _preview(self, row: Row) -> None:
        await asyncio.sleep(STILL_S)  # who only passes by asks nothing
        _, said = await self.live.ask("sessions", "preview", row.id, "--json")
        shown = next(iter(json_rows(said)), None)
        if shown is not None:
            self._shown[row.id] = (row.updated, shown)
            if self.chosen is not None and self.chosen.id == row.id:
                self.show_detail()

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            return
        event.stop()
        event.prevent_default()
        if self._open and self.narrow and event.key in ("up", "down", "pageup", "pagedown", "escape", "q"):
            super().on_key(event)
        elif self.deeds.take_key(event):
            return
        elif event.key in ("up", "down", "pageup", "pagedown"):
            self._look(typing=False)
            self.sessions.take_key(event.key)
        elif event.key == "tab":
            self.here_only = not self.here_only
            self.show_keys()
            self.show_lines()
        elif event.key == "f1":
            self.help()
        elif event.key == "escape":
            self._escape()
        elif event.key == "enter":
            self._enter()
        elif self.top.typing:
            if self.top.field.key(event.key, event.character):
                self.typed()
        else:
            self.take_key(event.key)

    def help(self) -> None:
        """Every key of the list."""

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for action in self.live.app.actions:
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

    def _escape(self) -> None:
        if self.top.field.text:
            self.top.field.text, self.top.field.at = "", 0
            self._look(typing=True)
            self.typed()
        else:
            self.dismiss(None)

    def take_key(self, key: str) -> None:
        match key:
            case "slash" | "backspace":
                self._look(typing=True)
            case "home" | "end":
                self.sessions.take_key(key)
            case "s":
                self.sort_by(SORTS[(SORTS.index(self.painter.sort) + 1) % len(SORTS)])
            case _:
                self.deeds.begin(key)

    def sort_by(self, sort: Sort) -> None:
        """Sort by this."""
        self.painter.sort = sort
        self.show_lines()
        self.say(f"Sorted by {sort}.")

    def use(self) -> None:
        """Enter: open the chosen session; where there is none, a new one."""
        if self.chosen is not None:
            self.deeds.open(self.chosen)
        elif not self.rows:
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
