"""The screen with all sessions: find, open, replay, fork, compare, export, rename and delete them.

Invariant: `tui-agent sessions` makes every change and deletion.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from tui_agent.protocol.commands import Rename
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.panes.notice import Level
from tui_agent.tui.screens.replay.live_log import open_live_replay
from tui_agent.tui.screens.sessions.session_list import SessionsPage
from tui_agent.tui.screens.sessions.session_rows import SORTS, SessionRow, Sort
from tui_agent.tui.screens.tree.fork import fork_session
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.field import Field
from tui_agent.units import format_bytes


class SessionsScreen(SessionsPage):
    """The list of sessions with its actions."""

    def __init__(self, context: AppContext, text: str = "") -> None:
        super().__init__(context)
        self.search_field.insert(text)
        self._renaming: SessionRow | None = None
        self._comparing: SessionRow | None = None
        """The first session of a comparison, while the user selects the second; otherwise None."""

    # -- keys ------------------------------------------------------------------------------------------------------

    def key_scopes(self) -> Sequence[Scope]:
        return ("field",) if self._renaming is not None else super().key_scopes()

    def show_keys(self) -> None:
        if self._renaming is not None:
            hint = self.key_map.hint
            self.footer.set_keys(
                [hint("field_use", "save this name"), hint("field_leave", "keep the old name")]
            )
            return
        words = {"sessions_place": "all", "sessions_folder": "all folders"} if self.here_only else {}
        use_actions = {"sessions_open", "sessions_use"}
        if self.is_listed and not self.rows:  # Enter starts the first session.
            words |= dict.fromkeys(use_actions, "new session")
            use_actions = set()
        hints = self.key_map.hints("sessions_find" if self.top.typing else "sessions")
        hints = [hint._replace(word=words.get(hint.action, hint.word)) for hint in hints]
        self.footer.set_keys(self.usable_hints(hints, use_actions))

    def show_head(self) -> None:
        super().show_head()
        if self._comparing is not None:
            title = f"   compare {self._comparing.name} with …"
            self.top.title = [*self.top.title, (title, self.style("accent"))]
            self.top.show()

    def type_key(self, key: str, character: str | None) -> bool:
        """Type into the field, for a search or for the new name of a session."""
        is_typed = self.top.typing and self.top.field.type_key(key, character)
        if is_typed and self._renaming is None:
            self.show_typed()
        self.top.show()
        return is_typed

    def move(self, direction: int) -> None:
        # Moving in the list leaves the search field; scrolling the details does not.
        self.set_typing(self.top.typing and self.detail_alone)
        super().move(direction)

    def move_page(self, direction: int) -> None:
        self.set_typing(self.top.typing and self.detail_alone)
        super().move_page(direction)

    def switch_folder(self) -> None:
        """Switch between the sessions of the work folder and all sessions."""
        self.here_only = not self.here_only
        self.show_keys()
        self.show_lines()

    def open_help(self) -> None:
        actions = [action for action in self.key_map.actions if action.scope == "sessions"]
        note = (
            f"Type to search. After {self.key_map.label('sessions_choose')}, letters run the actions below."
        )
        self.show_keys_of("Sessions", actions, note)

    def clear_or_leave(self) -> None:
        """Go back: close the details, stop comparing, or clear the search. If none of these applies, close the screen."""
        if self.detail_alone:
            self.open_detail(False)
        elif self._comparing is not None:
            self._comparing = None
            self.show_head()
        elif self.top.field.text:
            self.top.field.type_key("end", None)
            self.top.field.type_key("ctrl+u", None)
            self.set_typing(True)
            self.show_typed()
        else:
            self.leave()

    def sort_by(self, sort: Sort | None = None) -> None:
        """Sort by the property `sort`, by default the property after the current one."""
        self.table.sort = sort or SORTS[(SORTS.index(self.table.sort) + 1) % len(SORTS)]
        self.show_lines()
        self.say(f"Sorted by {'last use' if self.table.sort == 'used' else self.table.sort}.")

    def run_intent(self, name: str, argument: str) -> None:
        if name == "sort" and argument in SORTS:
            self.sort_by(SORTS[SORTS.index(argument)])

    # -- actions ---------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Open the selected session or show its details; close the screen if there are no sessions.

        While the list is still being read, do nothing: Enter is meant for a session that is about to appear.
        """
        if self.rows:
            super().enter()
        elif self.is_listed:
            self.leave()

    def use(self, row: SessionRow) -> None:
        """Open the selected session. If the user is choosing a session to compare, compare both instead."""
        first = self._comparing
        if first is not None:
            self._comparing = None
            self.show_head()
            if first.id == row.id:
                self.say("These are the same session. Choose another session to compare with.", "warning")
            else:
                self.context.act("tree", f"compare {first.id} {row.id}")
        elif row.other_version:
            self.say(
                "Another version of tui-agent wrote this session. This version cannot open it.", "warning"
            )
        else:
            self.leave()
            if row.id != self.context.app.session_id or self.context.sessions.must_reopen:
                self.context.act("open_session", row.id)

    @property
    def _replay_key(self) -> str:
        return self.key_map.key_of("sessions_replay")

    def replay(self, row: SessionRow) -> None:
        open_live_replay(self.context, Path(row.path))

    def compare(self, row: SessionRow) -> None:
        """Let the user choose another session to compare with the session in `row`."""
        self._comparing = row
        self.show_head()
        open_key, leave_key = map(self.key_map.key_of, ("sessions_open", "sessions_leave"))
        self.say(f"Choose the other session; {open_key} compares, {leave_key} cancels.")

    def _run(self, task: str, *words: str, then: Callable[[], None]) -> None:
        """Run `tui-agent` with the arguments `words`, then call `then`; show an error instead if the command fails."""

        async def run() -> None:
            status, output = await self.context.ask(*words)
            if status:
                self.say(clean_line(" ".join(output.split())) or f"{task} failed.", "error")
            else:
                then()

        self.run_worker(run(), name=task, group="action", exit_on_error=False)

    def _say_anywhere(self, text: str, level: Level) -> None:
        """Show a notice on this screen or, if it was closed, on the main screen."""
        (self if self.is_attached else self.context.app).say(text, level)

    def fork(self, row: SessionRow) -> None:
        if row.other_version or row.damaged:
            self.say(f"This session cannot be continued here. {self._replay_key} replays it.", "warning")
            return

        def report(text: str, level: Level) -> None:
            self._say_anywhere(text, level)
            if self.is_attached and level == "done":
                self.read()

        fork_session(self.context, Path(row.path), row.last_seq, row.name, report)

    def export(self, row: SessionRow) -> None:
        """Export the session as HTML."""
        form = export_to_chosen_place(
            self.context.app,
            self.context.ask,
            f"Export {row.name} as html",
            Path(self.context.work_folder),
            ("sessions", "export", row.id),
            self._say_anywhere,
        )
        self.context.worker(form, "export")

    def delete(self, row: SessionRow) -> None:
        if row.id == self.context.app.session_id:
            self.say("This session is open here. Open another session first, or use /new.", "warning")
            return
        if row.open:
            self.say("This session is open in another window. Close the session there first.", "warning")
            return
        forks = sum(other.parent == row.id for other in self.rows)
        forks_note = f"The session's {forks} forks keep their own copies of its events. " if forks else ""
        if forks == 1:
            forks_note = "The session's fork keeps its own copy of the events. "
        size = f"{format_count(row.events, 'event')}, a log of {format_bytes(row.size_bytes)}"
        paragraphs = (
            f"{row.name} ({size}), with its stored texts and checkpoints.",
            f"{forks_note}The files in the workspace do not change. This cannot be undone.",
        )

        def report() -> None:
            self.say(f"Deleted {row.name}.", "done")
            self.read()

        def delete(yes: bool | None) -> None:
            if yes:
                self._run("Deleting", "sessions", "rm", row.id, "--yes", "--json", then=report)

        sheet = Confirm(
            "Delete this session?",
            paragraphs,
            yes=("confirm_yes", "delete it permanently"),
            no="keep it",
        )
        self.context.app.push_screen(sheet, delete)

    def rename(self, row: SessionRow) -> None:
        top = self.top
        self._renaming = row
        top.field, top.label, top.typing, top.status = Field(row.title), "new name", True, ""
        self.show_keys()
        top.show()

    def end_typing(self, keep: bool) -> None:
        """Stop renaming, and use the field for the search again.

        `keep`: True to save the new name.
        """
        row, top, title = self._renaming, self.top, self.top.field.text.strip()
        self._renaming = None
        top.field, top.label, top.typing = self.search_field, "", False
        self.show_keys()
        top.show()
        if row is None or not keep or title in ("", row.title):
            return

        def report() -> None:
            self.say(f"Renamed the session to {title}.", "done")
            self.read(row.id)

        # The log of the open session can only be written by its own engine.
        if row.id == self.context.app.session_id and self.context.session is not None:
            self.context.submit(Rename(title=title))
            self.set_title(row.id, title)
            self.say(f"Renamed the session to {title}.", "done")
        else:
            self._run("Renaming", "sessions", "rename", row.id, title, then=report)
