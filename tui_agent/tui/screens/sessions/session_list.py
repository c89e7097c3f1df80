"""The list of sessions: loaded and searched by `tui-agent sessions`, filtered during typing, with a preview.

Invariant: this module reads no session log: it runs `tui-agent sessions`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from textual.strip import Strip

from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import non_json_text, read_rows
from tui_agent.tui.screens.search_page import SearchPage
from tui_agent.tui.screens.sessions.detail import Preview, SessionDetail
from tui_agent.tui.screens.sessions.session_rows import (
    ListLine,
    SearchHit,
    SessionRow,
    arrange_rows,
    filter_rows,
    parse_hits,
    parse_sessions,
)
from tui_agent.tui.screens.sessions.session_table import SessionsHeader, SessionTable
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Pen
from tui_agent.units import format_bytes, format_cost

PAUSE_S = 0.15
"""Pause in typing before a request is sent, in seconds."""
SLOW_S = 1.5
"""Time to wait for an answer before the user sees the reason for the delay, in seconds."""
EXIT_NOTHING_FOUND = 1
"""Exit status of `tui-agent sessions search` if there is no match."""
MIN_SEARCH_CHARS = 2
"""Minimum length of a search in the sessions' texts, in characters."""


class SessionsPage(SearchPage[ListLine]):
    """The list of sessions with search and details; the subclass `SessionsScreen` adds actions on sessions."""

    scope = "sessions"
    find_scope = "sessions_find"
    use_action = "sessions_open"
    narrow_footer_word = "details"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.table = SessionTable()
        self.header = self.sums = SessionsHeader()
        self.top.hint = "searches names and all text"
        self.listing.can_choose = lambda line: line.row is not None
        self.listing.key = lambda line: line.key
        self.here_only = False
        self.rows: Sequence[SessionRow] = ()
        self.is_listed = False
        """True after the list was loaded for the first time."""
        self.hits: Mapping[str, SearchHit] = {}
        self._hits_for = ""
        """The search whose matches are in `hits`."""
        self.search_field = self.top.field
        self._status = "Loading the sessions …"
        """Text shown in the list while there are no sessions to show."""
        self.listing.empty_text = self._status
        self._previews: dict[str, tuple[float, Preview]] = {}
        """Maps a session's id to (time, preview). The preview includes changes up to this time."""
        self._count = 0
        """Number of listed sessions."""

    def on_mount(self) -> None:
        self.table.open_session = self.context.app.session_id
        self.read()
        if self.text:
            self.show_typed()

    @property
    def text(self) -> str:
        """The text to search for; unchanged while the user renames a session."""
        return self.search_field.text.strip()

    @property
    def subject(self) -> SessionRow | None:
        return self.chosen.row if self.chosen is not None else None

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self, chosen: str = "") -> None:
        """Load or reload the list, and select the session with the id `chosen`."""
        self.start_worker(partial(self._read, chosen), "list")

    async def _read(self, chosen: str) -> None:
        slow = self.set_timer(SLOW_S, self._show_slow_list)
        try:
            status, output = await self.context.ask("sessions", "list", "--all", "--json")
        finally:
            slow.stop()
        self.rows = await asyncio.to_thread(parse_sessions, output)
        self.is_listed = True
        key = self.key_map.key_of("sessions_use")
        self._status = f"No sessions yet. {key} starts one. Or try: tui-agent demo"
        if status:
            self._status = "The sessions could not be listed."
            self.say(clean_line(" ".join(output.split())) or self._status, "error")
        self._previews.clear()
        self.show_lines(chosen)
        usage = NO_USAGE.with_costs((row.cost_usd, row.cost_precision) for row in self.rows)
        sums = (
            format_count(len(self.rows), "session"),
            format_cost(usage.cost_usd, usage.cost_precision, short=True),
            f"{format_bytes(sum(row.size_bytes for row in self.rows))} of logs",
        )
        self.sums.set_sums([text for text in sums if text])

    def _show_slow_list(self) -> None:
        if not self.rows:
            self._status = "Reading the logs, because the list of sessions is missing or old …"
            self.show_lines()

    def set_title(self, session: str, title: str) -> None:
        """Show the new title of a session before the list is loaded again."""
        self.rows = [replace(row, title=title) if row.id == session else row for row in self.rows]
        self.show_lines()

    def show_typed(self) -> None:
        """Search the names at once, and the texts after a pause in typing."""
        text = self.text
        # While the user extends a search, its matches stay in the list until the new ones are known.
        if not self._hits_for or not text.startswith(self._hits_for):
            self.hits, self._hits_for = {}, ""
        if len(text) >= MIN_SEARCH_CHARS:
            self.top.status = "searching …"
            self.start_worker(partial(self._search, text), "search")
        else:
            self.top.status = ""
            self.workers.cancel_group(self, "search")
        self.show_lines()

    async def _search(self, text: str) -> None:
        await asyncio.sleep(PAUSE_S)  # The next key cancels the worker during this pause.
        slow = self.set_timer(SLOW_S, self._show_slow_search)
        try:
            status, output = await self.context.ask(
                "sessions", "search", "--sessions", "--all", "--json", "--", text
            )
        finally:
            slow.stop()
        hits = await asyncio.to_thread(parse_hits, output)
        if text != self.text:
            return
        self.hits, self._hits_for = hits, text
        self.top.status = ""
        if warning := non_json_text(output):
            self.say(clean_line(warning), "error" if status > EXIT_NOTHING_FOUND else "warning")
        self.show_lines()

    def _show_slow_search(self) -> None:
        self.top.status = "searching: reading new logs first …"
        self.top.show()

    async def _read_preview(self, row: SessionRow) -> None:
        await asyncio.sleep(PAUSE_S)  # Load nothing for sessions that the cursor only passes over.
        _, output = await self.context.ask("sessions", "preview", row.id, "--json")
        for preview in read_rows(Preview, output)[:1]:
            self._previews[row.id] = (row.updated, preview)
            if self.subject is not None and self.subject.id == row.id:
                self.show_detail()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        super().fit()
        width = self.app.size.width
        if not self.narrow:
            self.detail.styles.width = 54 if width >= 160 else 50 if width >= 120 else 40

    def show_lines(self, chosen: str = "") -> None:
        """Filter, sort and draw the list.

        `chosen`: id of the session to select; empty to keep the selection.
        """
        folder = str(self.context.app.options.cwd) if self.here_only else ""
        table = self.table
        table.now, table.words = self.context.app.clock(), self.text.split()
        shown = filter_rows(self.rows, self.text, self.hits, folder)
        table.folders = len({row.workspace for row in shown}) > 1 or not self.here_only
        self.listing.empty_text = self._empty_text()
        self.listing.set_items(arrange_rows(shown, table.sort, table.now), held=chosen or None)
        self._count = len(shown)
        self.show_head()
        self.show_detail()

    def _empty_text(self) -> str:
        key_of = self.key_map.key_of
        if self.text:
            if self.top.status or not self.is_listed:
                return f'Searching for "{clean_line(self.text)}" …'
            return f'Nothing matches "{clean_line(self.text)}". {key_of("sessions_clear")} clears the search.'
        if self.rows:
            return f"No sessions in this folder. {key_of('sessions_place')} shows all."
        return self._status

    def show_head(self) -> None:
        """Show the title, the counts and the column names."""
        total = len(self.rows)
        count = f"{self._count} of {total}" if self._count != total else str(total or "")
        self.head.show_title("Sessions", count)

    def column_names(self, width: int) -> Strip:
        return self.table.draw_heads(width, self.pen)

    def draw_row(self, item: ListLine, width: int, line: Pen) -> Strip:
        return self.table.draw_line(item, width, line)

    def draw_detail(self, facts: Facts, row: SessionRow) -> None:
        updated, preview = self._previews.get(row.id, (None, None))
        if updated != row.updated:
            preview = None
            self.start_worker(partial(self._read_preview, row), "preview")
        SessionDetail(facts, self.table.words, self.table.now).draw(row, self.hits.get(row.id), preview)
