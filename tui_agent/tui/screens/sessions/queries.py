"""What the list of sessions asks the command line: the list, a search, a preview.

Invariant: of each kind one question goes on at a time, the newest; what came of an older one is never shown.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from textual.timer import Timer
from textual.worker import WorkType

from tui_agent.tui.cli_client import JsonRow, beside_json, json_rows
from tui_agent.tui.context import AppContext
from tui_agent.tui.panes.note import Level
from tui_agent.tui.screens.sessions.head import SessionsHead
from tui_agent.tui.screens.sessions.rows import Hit, Row, hits_of, rows_of
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.keymap import KeyMap

STILL_S = 0.15
"""So long nothing is typed, or nobody moves, before something is asked."""
SLOW_S = 1.5
"""From here on it is said why an answer takes its time."""
NOTHING_FOUND = 1
"""With this status the search ends where it finds nothing, and where it ended well but for that."""
LEAST = 2
"""Letters from which on the texts are searched: one letter is in all of them."""


class SessionsPage(Protocol):
    """The list that asks, and shows what comes back."""

    top: SessionsHead

    @property
    def key_map(self) -> KeyMap: ...
    @property
    def context(self) -> AppContext: ...
    @property
    def text(self) -> str: ...
    @property
    def chosen(self) -> Row | None: ...

    def say(self, text: str, level: Level = "info") -> None: ...
    def show_lines(self, chosen: str = "") -> None: ...
    def show_detail(self) -> None: ...
    def sum_up(self) -> None: ...
    def cancel_search(self) -> None: ...
    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer: ...
    def run_worker(
        self, work: WorkType[object], *, name: str, group: str, exclusive: bool, exit_on_error: bool
    ) -> object: ...


class SessionQueries:
    """What is known of all sessions. `said` stands in place of an empty list."""

    def __init__(self, screen: SessionsPage) -> None:
        self._screen = screen
        self._ask = screen.context.ask
        self.rows: Sequence[Row] = ()
        self.hits: Mapping[str, Hit] = {}
        self.said = "Reading the sessions …"
        self._hits_for = ""
        self._previews: dict[str, tuple[float, JsonRow]] = {}

    def _beside(self, work: Callable[[], Coroutine[None, None, object]], group: str) -> None:
        """Do it beside the screen, in place of what of its group still goes on."""
        screen = self._screen
        screen.run_worker(work, name=group, group=group, exclusive=True, exit_on_error=False)

    # -- the list --------------------------------------------------------------------------------------------------

    def read(self, chosen: str = "") -> None:
        """Ask for the list (again), and choose this session."""
        self._beside(partial(self._read, chosen), "list")

    async def _read(self, chosen: str) -> None:
        slow = self._screen.set_timer(SLOW_S, self._slow)
        try:
            status, said = await self._ask("sessions", "list", "--all", "--json")
        finally:
            slow.stop()
        self.rows = await asyncio.to_thread(rows_of, said)
        opens = self._screen.key_map.key_of("sessions_use")
        self.said = f"No sessions yet. {opens} starts one; tui-agent demo shows one."
        if status:
            self.said = "The sessions could not be listed."
            self._screen.say(clean_line(" ".join(said.split())) or self.said, "error")
        self._previews.clear()
        self._screen.show_lines(chosen)
        self._screen.sum_up()

    def _slow(self) -> None:
        if not self.rows:
            self.said = "Reading the sessions' logs: there is no list of them yet, or an old one …"
            self._screen.show_lines()

    def renamed(self, session: str, title: str) -> None:
        """A session got a name of which its log will tell."""
        folded = f"{title}\n{session}".casefold()
        self.rows = [
            replace(row, title=title, folded=folded) if row.id == session else row for row in self.rows
        ]
        self._screen.show_lines()

    # -- the search ------------------------------------------------------------------------------------------------

    def search(self, text: str) -> None:
        """Another text is looked for: what was found for its beginning stays until the answer is there."""
        if not self._hits_for or not text.startswith(self._hits_for):
            self.hits, self._hits_for = {}, ""
        if len(text) >= LEAST:
            self._screen.top.said = "searching …"
            self._beside(partial(self._search, text), "search")
        else:
            self._screen.top.said = ""
            self._screen.cancel_search()

    async def _search(self, text: str) -> None:
        await asyncio.sleep(STILL_S)  # a pause in typing, cut short by the next key
        slow = self._screen.set_timer(SLOW_S, self._tell)
        try:
            status, said = await self._ask("sessions", "search", "--sessions", "--all", "--json", "--", text)
        finally:
            slow.stop()
        hits = await asyncio.to_thread(hits_of, said)
        if text != self._screen.text:
            return
        self.hits, self._hits_for = hits, text
        self._screen.top.said = ""
        if words := beside_json(said):
            self._screen.say(clean_line(words), "error" if status > NOTHING_FOUND else "warning")
        self._screen.show_lines()

    def _tell(self) -> None:
        self._screen.top.said = "searching: what is new is read once …"
        self._screen.top.show()

    # -- one session -----------------------------------------------------------------------------------------------

    def preview(self, row: Row) -> JsonRow | None:
        """What is known of a session; it is asked for where nothing is, and shown when it comes."""
        known = self._previews.get(row.id)
        if known is not None and known[0] == row.updated:
            return known[1]
        self._beside(partial(self._preview, row), "preview")
        return None

    async def _preview(self, row: Row) -> None:
        await asyncio.sleep(STILL_S)  # who only passes by asks nothing
        _, said = await self._ask("sessions", "preview", row.id, "--json")
        shown = next(iter(json_rows(said)), None)
        if shown is not None:
            self._previews[row.id] = (row.updated, shown)
            chosen = self._screen.chosen
            if chosen is not None and chosen.id == row.id:
                self._screen.show_detail()
