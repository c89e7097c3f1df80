"""What is begun from the list of sessions: open, replay, fork, compare, export, rename, remove.

Invariant: what changes or removes something is done by the command line, and what cannot be undone is asked about.
"""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Protocol

from tui_agent.protocol.commands import Rename
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.cli_client import run_export
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.fork_point import Spot
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.note import Level
from tui_agent.tui.screens.replay.live_log import look_on
from tui_agent.tui.screens.sessions.head import SessionsHead
from tui_agent.tui.screens.sessions.queries import SessionQueries
from tui_agent.tui.screens.sessions.rows import Row
from tui_agent.tui.screens.tree.fork import fork
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.keymap import KeyMap
from tui_agent.units import format_bytes


class ActionsPage(Protocol):
    """The list that the actions are begun from."""

    context: AppContext
    top: SessionsHead
    answers: SessionQueries
    footer: Footer
    looks_of: Callable[[], Looks]

    @property
    def key_map(self) -> KeyMap: ...
    @property
    def chosen(self) -> Row | None: ...
    @property
    def is_attached(self) -> bool: ...

    def say(self, text: str, level: Level = "info") -> None: ...
    def show_head(self) -> None: ...
    def show_keys(self) -> None: ...
    def dismiss(self, result: None = None) -> object: ...
    def run_worker(
        self, work: Coroutine[object, object, None], name: str, group: str, *, exit_on_error: bool
    ) -> object: ...


class SessionActions:
    """The keys of one list that do something to the chosen session."""

    def __init__(self, screen: ActionsPage) -> None:
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
        if row.newer:
            self._screen.say(f"A newer version wrote this session. {self._replays} replays it.", "warning")
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
        if row.newer or row.damaged:
            self._screen.say(
                f"This session cannot be gone on with here. {self._replays} replays it.", "warning"
            )
            return
        spot = Spot(
            session=row.id, at_seq=row.events - 1, workspace=row.workspace, after=row.name, model=row.model
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
            f"{row.name}, {counted(row.events, 'event')}, {format_bytes(row.size)} of log, with its texts and checkpoints.",
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
