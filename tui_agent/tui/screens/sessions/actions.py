"""What is begun from the list of sessions: open, replay, fork, compare, export, rename, remove.

Invariant: what changes or removes something is done by the command line, and what cannot be undone is asked about.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events

from tui_agent.protocol.commands import Rename
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui import format as units
from tui_agent.tui.commands.export import folder_of, written
from tui_agent.tui.controller.read_only import look_on
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.fork_point import Spot
from tui_agent.tui.panes.note import Level
from tui_agent.tui.screens.sessions.rows import Row
from tui_agent.tui.screens.tree.fork import fork
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.field import Field

if TYPE_CHECKING:
    from tui_agent.tui.screens.sessions.screen import SessionsScreen


class Deeds:
    """The keys of one list that do something to the chosen session."""

    def __init__(self, screen: "SessionsScreen") -> None:
        self._screen = screen
        self._live = screen.live
        self._renaming: Row | None = None
        self._comparing: Row | None = None
        self._found = Field()
        """What was typed into the search, while the field is for a name."""
        self.looked_for = ""
        """What was looked for, while the field is for a name."""
        self._keys: dict[str, Callable[[Row], None]] = {
            "r": self._replay,
            "f": self._fork,
            "c": self._compare,
            "x": self._export,
            "n": self._rename,
            "delete": self._remove,
        }

    @property
    def title(self) -> str:
        """What the list is for, where not only for opening."""
        return f"   compare {self._comparing.name} with …" if self._comparing is not None else ""

    def begin(self, key: str) -> None:
        """Do what the key means to the chosen session; nothing where it means nothing."""
        deed, row = self._keys.get(key), self._screen.chosen
        if deed is not None and row is not None:
            deed(row)

    def take_key(self, event: events.Key) -> bool:
        """Keys while a name is typed, or a second session is chosen."""
        if self._renaming is not None:
            self._type(self._renaming, event)
            return True
        if self._comparing is not None and event.key == "escape":
            self._comparing = None
            self._screen.show_head()
            return True
        return False

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
            self._screen.say("A newer version wrote this session. R replays it.", "warning")
            return
        self._screen.dismiss(None)
        if row.id != self._live.app.session_id:
            self._live.act("open_session", row.id)

    def _replay(self, row: Row) -> None:
        look_on(self._live, Path(row.path))

    def _compare(self, row: Row) -> None:
        self._comparing = row
        self._screen.show_head()
        self._screen.say("Choose the other session; Enter compares, Esc stops.")

    def _compared(self, first: Row, second: Row) -> None:
        self._live.act("compare", f"{first.id} {second.id}")

    # -- what the command line does --------------------------------------------------------------------------------

    def _ask(self, what: str, *words: str, then: Callable[[str], None]) -> None:
        async def ask() -> None:
            status, said = await self._live.ask(*words)
            if status:
                self._screen.say(clean_line(" ".join(said.split())) or f"{what} failed.", "error")
            else:
                then(said)

        self._screen.run_worker(ask(), name=what, group="deed", exit_on_error=False)

    def _fork(self, row: Row) -> None:
        """At its end, and where it is to work is asked, as everywhere."""
        if row.newer or row.damaged:
            self._screen.say("This session cannot be gone on with here. R replays it.", "warning")
            return
        spot = Spot(
            session=row.id, at_seq=row.events - 1, workspace=row.workspace, after=row.name, model=row.model
        )
        fork(self._live, spot, self._forked)

    def _forked(self, text: str, level: Level) -> None:
        on_top = self._screen.is_attached
        (self._screen if on_top else self._live.app).say(text, level)
        if on_top and level == "done":
            self._screen.answers.read()

    def _export(self, row: Row) -> None:
        """Write it as a page; that goes on where the list is left meanwhile."""
        folder = folder_of(self._live)
        wanted = "sessions", "export", row.id, "--format", "html", "--json", "--cwd", folder

        async def write() -> None:
            said, level = await written(self._live, *wanted)
            (self._screen if self._screen.is_attached else self._live.app).say(said, level)

        self._screen.say(f"Writing the session as html to {clean_line(folder)} …")
        self._live.worker(write(), "export")

    def _remove(self, row: Row) -> None:
        if row.id == self._live.app.session_id:
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
            f"{row.name}, {counted(row.events, 'event')}, {units.size(row.size)} of log, with its texts and checkpoints.",
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
            self._screen.looks_of, "Delete this session?", said, yes=("y", "delete it for good"), no="keep it"
        )
        self._live.app.push_screen(sheet, answered)

    def _removed(self, row: Row) -> None:
        self._screen.say(f"{row.name} is gone.", "done")
        self._screen.answers.read()

    # -- a name ----------------------------------------------------------------------------------------------------

    def _rename(self, row: Row) -> None:
        top = self._screen.top
        self.looked_for = top.field.text.strip()
        self._renaming, self._found = row, top.field
        top.field, top.asked, top.typing = Field(row.title), "new name", True
        top.said = ""
        self._screen.footer.set_keys([("Enter", "keep this name"), ("Esc", "leave it as it was")])
        top.show()

    def _type(self, row: Row, event: events.Key) -> None:
        top = self._screen.top
        if event.key not in ("enter", "escape"):
            top.field.key(event.key, event.character)
            top.show()
            return
        title = top.field.text.strip()
        self._renaming = None
        top.field, top.asked, top.typing = self._found, "", False
        self._screen.show_keys()
        top.show()
        if event.key == "enter" and title and title != row.title:
            self._named(row, title)

    def _named(self, row: Row, title: str) -> None:
        def renamed(said: str) -> None:
            self._screen.say(f"It is called {title} now.", "done")
            self._screen.answers.read(row.id)

        if row.id == self._live.app.session_id and self._live.session is not None:
            self._live.submit(Rename(title=title))
            self._screen.answers.renamed(row.id, title)
            self._screen.say(f"It is called {title} now.", "done")
        else:
            self._ask("Renaming", "sessions", "rename", row.id, title, then=renamed)
