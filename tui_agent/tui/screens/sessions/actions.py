"""The questions that the list of sessions asks the command line, and the actions that begin from it.

Invariant: of each kind one question goes on at a time, the newest, and the answer to an older one is never shown; what
changes or removes something is done by the command line, and what cannot be undone is asked about.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual.worker import WorkType

from tui_agent.protocol.commands import Rename
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.cli_client import JsonRow, beside_json, json_rows, run_export
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.fork_point import ForkPoint
from tui_agent.tui.panes.note import Level
from tui_agent.tui.screens.page import Page
from tui_agent.tui.screens.replay.live_log import look_on
from tui_agent.tui.screens.sessions.rows import Hit, Row, hits_of, rows_of
from tui_agent.tui.screens.sessions.table import SessionsHead
from tui_agent.tui.screens.tree.fork import fork
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.field import Field
from tui_agent.units import format_bytes

STILL_S = 0.15
"""So long nothing is typed, or nobody moves, before something is asked."""
SLOW_S = 1.5
"""From here on it is said why an answer takes its time."""
NOTHING_FOUND = 1
"""With this status the search ends where it finds nothing, and where it ended well but for that."""
LEAST = 2
"""Letters from which on the texts are searched: one letter is in all of them."""


class SessionsPage(Page):
    """The list that asks, shows the answers, and begins actions."""

    top: SessionsHead
    answers: "SessionQueries"

    @property
    def text(self) -> str:
        """Return the text that is searched for."""
        raise NotImplementedError

    @property
    def chosen(self) -> Row | None:
        """Return the session under the cursor."""
        raise NotImplementedError

    def show_lines(self, chosen: str = "") -> None:
        """Filter, sort and draw; the chosen session stays chosen."""
        raise NotImplementedError

    def sum_up(self) -> None:
        """Show the sums of all sessions."""
        raise NotImplementedError


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

    def _beside(self, work: WorkType[None], group: str) -> None:
        """Run work beside the screen; it replaces the running work of its group."""
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
            self._screen.workers.cancel_group(self._screen, "search")

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


class SessionActions:
    """The keys of one list that do something to the chosen session."""

    def __init__(self, screen: SessionsPage) -> None:
        self._screen = screen
        self._context = screen.context
        self._renaming: Row | None = None
        self._comparing: Row | None = None
        self._found = Field()
        """What was typed into the search, while the field is for a name."""
        self.looked_for = ""
        """What was looked for, while the field is for a name."""

    @property
    def title(self) -> str:
        """What the list is for, where not only for opening."""
        return f"   compare {self._comparing.name} with …" if self._comparing is not None else ""

    @property
    def _replays(self) -> str:
        return self._screen.key_map.key_of("sessions_replay")

    @property
    def renaming(self) -> bool:
        """Whether a name is typed."""
        return self._renaming is not None

    def stop_comparing(self) -> bool:
        """Choose no second session any more; False where none was to be chosen."""
        was, self._comparing = self._comparing, None
        self._screen.show_head()
        return was is not None

    # -- looking ---------------------------------------------------------------------------------------------------

    def open(self, row: Row) -> None:
        """Go on with it, or compare it where that was begun."""
        if self._comparing is not None:
            first, self._comparing = self._comparing, None
            self._screen.show_head()
            if first.id == row.id:
                self._screen.say("These are the same session. Choose another one to compare with.", "warning")
            else:
                self._compared(first, row)
            return
        if row.other_version:
            self._screen.say(
                "Another version of tui-agent wrote this session; this one cannot open it.", "warning"
            )
            return
        self._screen.dismiss(None)
        if row.id != self._context.app.session_id:
            self._context.act("open_session", row.id)

    def replay(self, row: Row) -> None:
        """Show it as it was at any event."""
        look_on(self._context, Path(row.path))

    def compare(self, row: Row) -> None:
        """Choose another one to compare it with."""
        self._comparing = row
        self._screen.show_head()
        key = self._screen.key_map.key_of
        self._screen.say(
            f"Choose the other session; {key('sessions_open')} compares, {key('sessions_leave')} stops."
        )

    def _compared(self, first: Row, second: Row) -> None:
        self._context.act("compare", f"{first.id} {second.id}")

    # -- what the command line does --------------------------------------------------------------------------------

    def _ask(self, what: str, *words: str, then: Callable[[str], None]) -> None:
        async def ask() -> None:
            status, said = await self._context.ask(*words)
            if status:
                self._screen.say(clean_line(" ".join(said.split())) or f"{what} failed.", "error")
            else:
                then(said)

        self._screen.run_worker(ask(), name=what, group="deed", exit_on_error=False)

    def fork(self, row: Row) -> None:
        """At its end, and where it is to work is asked, as everywhere."""
        if row.other_version or row.damaged:
            self._screen.say(
                f"This session cannot be gone on with here. {self._replays} replays it.", "warning"
            )
            return
        spot = ForkPoint(
            session=row.id,
            at_seq=row.events - 1,
            workspace=row.workspace,
            entry_text=row.name,
            model=row.model,
        )
        fork(self._context, spot, self._forked)

    def _forked(self, text: str, level: Level) -> None:
        on_top = self._screen.is_attached
        (self._screen if on_top else self._context.app).say(text, level)
        if on_top and level == "done":
            self._screen.answers.read()

    def export(self, row: Row) -> None:
        """Write it as a page; that goes on where the list is left meanwhile."""
        folder = self._context.work_folder
        wanted = "sessions", "export", row.id, "--format", "html", "--json", "--cwd", folder

        async def write() -> None:
            said, level = await run_export(self._context.ask, *wanted)
            (self._screen if self._screen.is_attached else self._context.app).say(said, level)

        self._screen.say(f"Writing the session as html to {clean_line(folder)} …")
        self._context.worker(write(), "export")

    def remove(self, row: Row) -> None:
        """Delete it, after a question."""
        if row.id == self._context.app.session_id:
            self._screen.say(
                "This session is open here. /new or another one first; then it can be deleted.", "warning"
            )
            return
        if row.open:
            self._screen.say("Another window holds this session. Close it there first.", "warning")
            return
        forks = sum(other.parent == row.id for other in self._screen.answers.rows)
        kept = (
            "A fork of it keeps what it took. " if forks == 1 else f"Its {forks} forks keep what they took. "
        )
        said = (
            f"{row.name}, {format_count(row.events, 'event')}, {format_bytes(row.size)} of log, with its texts and checkpoints.",
            f"{kept * (forks > 0)}Files of the workspace stay as they are. This cannot be undone.",
        )

        def answered(yes: bool | None) -> None:
            if yes:
                self._ask(
                    "Deleting",
                    "sessions",
                    "rm",
                    row.id,
                    "--yes",
                    "--json",
                    then=lambda said: self._removed(row),
                )

        sheet = Confirm(
            self._screen.looks_of,
            "Delete this session?",
            said,
            yes=("confirm_yes", "delete it for good"),
            no="keep it",
        )
        self._context.app.push_screen(sheet, answered)

    def _removed(self, row: Row) -> None:
        self._screen.say(f"{row.name} is gone.", "done")
        self._screen.answers.read()

    # -- a name ----------------------------------------------------------------------------------------------------

    def rename(self, row: Row) -> None:
        """Type another name for it."""
        top = self._screen.top
        self.looked_for = top.field.text.strip()
        self._renaming, self._found = row, top.field
        top.field, top.asked, top.typing = Field(row.title), "new name", True
        top.said = ""
        self._screen.show_keys()
        top.show()

    def end_renaming(self, *, keep: bool) -> None:
        """Give the field back to the search, and the session the name that was typed where it is to be kept."""
        row, top = self._renaming, self._screen.top
        title = top.field.text.strip()
        self._renaming = None
        top.field, top.asked, top.typing = self._found, "", False
        self._screen.show_keys()
        top.show()
        if row is not None and keep and title and title != row.title:
            self._named(row, title)

    def _named(self, row: Row, title: str) -> None:
        def renamed(said: str) -> None:
            self._screen.say(f"Renamed it to {title}.", "done")
            self._screen.answers.read(row.id)

        if row.id == self._context.app.session_id and self._context.session is not None:
            self._context.submit(Rename(title=title))
            self._screen.answers.renamed(row.id, title)
            self._screen.say(f"Renamed it to {title}.", "done")
        else:
            self._ask("Renaming", "sessions", "rename", row.id, title, then=renamed)
