"""The actions at the shown event of a replay: fork, revert, copy, export, sheets of files, todos, jobs and messages.

Invariant: the screen shows only actions that are available in a replay.
"""

import asyncio
from pathlib import Path
from typing import cast

from tui_agent.folds.context.compacted_rows import MessageRow
from tui_agent.folds.screen_folds import Views
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import Action, footer
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.modals.export_form import export_to_chosen_place
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.fork_request import ForkPoint, fork_point_at, make_fork, workplaces_for
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import DrawBody, Viewer
from tui_agent.tui.panes.plugin_sections import pane_title
from tui_agent.tui.panes.todo import item_rows, progress
from tui_agent.tui.screens.compacted_items import (
    EMPTY,
    TITLE,
    compacted_rows,
    message_title,
    read_compacted,
    read_message,
)
from tui_agent.tui.screens.jobs import elapsed_s, final_lines
from tui_agent.tui.screens.plugin_pane import PluginPaneScreen
from tui_agent.tui.screens.replay.moment_screen import MomentScreen
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part
from tui_agent.units import NO_LINES, format_elapsed, format_line_changes

MIN_WIDTH_FOR_LONG_WORDS = 140
"""Minimum width of the screen, in cells, for longer words in the footer."""
MAX_JOB_LINES = 8


class EventActions(MomentScreen):
    """The replay screen with its actions; subclasses add the search and the keys that move the playhead."""

    def offered_actions(self) -> list[Action]:
        """Return the replay's available actions with their footer labels."""
        optional = {"replay_revert": self.host.revert, "replay_what_if": self.host.what_if}
        words = {"replay_play": "pause"} if self.playhead.playing else {}
        if self.panes_replace_chat:
            words["replay_leave"] = "close panes"
        if self.app.size.width < MIN_WIDTH_FOR_LONG_WORDS:
            words |= {"replay_fork": "fork here", "replay_revert": "revert here"}
        return [
            action._replace(footer=words.get(action.name, action.footer))
            for action in self.key_map.actions
            if action.scope == "replay" and optional.get(action.name, True) is not None
        ]

    def show_keys(self) -> None:
        self.footer.set_keys(footer(self.offered_actions(), ("replay",), running=False))

    def open_help(self) -> None:
        self.show_keys_of("Replay", self.offered_actions())

    def leave(self) -> None:
        """Close the side panes if they replace the chat; otherwise close the replay."""
        if self.panes_replace_chat:
            self.toggle_panes()
        elif self.host.leave is not None:
            self.host.leave()
        else:
            super().leave()

    # -- other sessions --------------------------------------------------------------------------------------------

    async def _fork_point(self) -> ForkPoint | None:
        """Return the fork point at the shown event; None if nothing is shown yet."""
        if self.views is None:
            return None
        entries, records = self.views.transcript.view().entries, self.moments.records
        state, read = self.views.state.view(), self.source.read_text
        return await fork_point_at(self.source.id, entries, state, self.seq, records, read)

    def fork(self) -> None:
        """Create a session that continues from the shown event."""
        self._start(self._fork_here(), "fork")

    async def _fork_here(self) -> None:
        point = await self._fork_point()
        if point is None:
            return
        if self.host.fork is not None:
            self.host.fork(point, self.say)
            return
        form = ForkForm(point, await workplaces_for(point, "fork"))
        request = await self.app.push_screen_wait(form)
        if request is None:
            return
        self.say("Forking …")
        result = await make_fork(self.host.ask, point, request)
        if result.id:
            self._show_fork(f"{self.host.opens} {result.id}", result.note)
        else:
            self.say(result.fault, "error")

    def _show_fork(self, command: str, note: str) -> None:
        """Show the command that opens the fork."""
        # A notice could cut the command off.
        self.say("Forked.", "done")

        def draw(facts: Facts) -> None:
            facts.text("This command opens the fork:")
            facts.gap()
            facts.text(command, bold=True)
            if note:
                facts.gap()
                facts.text(note, "t2")

        self.app.push_screen(Viewer("Forked", draw, plain=command))

    def what_if(self) -> None:
        """Create a session that continues from the shown event with one change."""
        self._start(self._what_if_here(), "what if")

    async def _what_if_here(self) -> None:
        point = await self._fork_point()
        if point is not None and self.host.what_if is not None:
            self.host.what_if(point, self.say)

    def revert(self) -> None:
        """Ask how to revert the open session to the shown event."""
        if self.host.revert is not None and self.ready:
            self.host.revert(self.seq, lambda: self.app.call_later(self.dismiss, None))

    def copy(self) -> None:
        """Copy the selected text; if nothing is selected, copy the shown event as JSON."""
        if not self.ready:
            return
        record = self.moments.records[self.playhead.place]
        event = record.model_dump_json(indent=2) if isinstance(record, Envelope) else ""
        text = self.chat.selected_text() or event
        if text:
            self.copy_text(text)

    def export(self) -> None:
        if self.views is None:
            return
        form = export_to_chosen_place(
            cast(Frame, self.app),
            self.host.ask,
            "Export this session as html",
            Path(self.views.state.view().workspace),
            ("sessions", "export", self.source.id),
            self.say,
        )
        self._start(form, "export")

    def show_pane(self, name: str = "") -> None:
        """Show a plugin's pane at the shown event; without a name, let the user choose."""
        if not self.ready:
            return
        panes = self.plugin_panes.panes
        if not name and len(panes) == 1:
            name = next(iter(panes))
        if name in panes:
            self.app.push_screen(PluginPaneScreen(self.plugin_panes, name))
        else:
            items = [Item(pane, pane_title(pane)) for pane in panes]
            empty = "No plugin offered a pane in this session."
            picker = Picker("Panes of plugins", items, empty=empty)
            self.app.push_screen(picker, lambda pane: self.show_pane(pane) if pane else None)

    # -- sheets ----------------------------------------------------------------------------------------------------

    def _open_sheet(self, title: str, draw: DrawBody, empty: str, right: str = "") -> None:
        title = f"{title} at event {self.seq}"
        self.app.push_screen(Viewer(title, draw, right=right, empty=empty))

    def show_sheet(self, name: str) -> None:
        """Open the sheet `files`, `todo` or `jobs` with the session's state at the shown event."""
        if self.views is not None:
            getattr(self, f"_show_{name}")(self.views)

    def _show_files(self, views: Views) -> None:
        files, minus = views.files.view().files, self.looks.symbols.minus

        def draw(facts: Facts) -> None:
            for file in files:
                changes = format_line_changes(file.added, file.removed, minus)
                counts = [
                    part(f" {words}", facts.style(role)) for words, role in changes or ((NO_LINES, "t3"),)
                ]
                if file.changes > 1:  # the sum of the changes is not the net change
                    counts = [part(f" {format_count(file.changes, 'edit')}", facts.style("t3"))]
                facts.line([part(file.path, facts.style())], counts)

        self._open_sheet("Files", draw, "No files changed yet.")

    def _show_todo(self, views: Views) -> None:
        todo = views.todo.view()

        def draw(facts: Facts) -> None:
            for item in todo.items:
                facts.rows += item_rows(item, 0, facts.looks, facts.width, "s3")

        self._open_sheet("Todo", draw, "No tasks yet.", progress(todo))

    def _show_jobs(self, views: Views) -> None:
        jobs, now = views.jobs.view().jobs, views.last_event_time

        def draw(facts: Facts) -> None:
            for job in reversed(jobs):
                state = f"{job.outcome}, {format_elapsed(elapsed_s(job, now))}"
                name = part(f"{job.job_id}  {job.command}", facts.style(bold=True))
                facts.line([name], [part(state, facts.style("t2"))])
                for line in final_lines(job.output)[-MAX_JOB_LINES:]:
                    if line.strip():
                        facts.text(line, "t3")
                facts.gap()

        self._open_sheet("Jobs", draw, "No background jobs yet.")

    def show_compacted_messages(self) -> None:
        """List the messages that were shortened or summarised up to the shown event."""
        if self.ready:
            self._start(self._list_compacted_messages(), "put-away")

    async def _list_compacted_messages(self) -> None:
        seq, records = self.seq, self.moments.records[: self.playhead.place + 1]
        view = await asyncio.to_thread(read_compacted, records)

        def read(value: str | None) -> None:
            if value is not None:
                self._start(self._show_message(view.items[int(value)]), "message")

        self.app.push_screen(Picker(f"{TITLE}, at event {seq}", compacted_rows(view), empty=EMPTY), read)

    async def _show_message(self, item: MessageRow) -> None:
        text = await read_message(item, self.source.read_text)
        title = message_title(item)
        self.app.push_screen(Viewer(title, lambda facts: facts.text(text), plain=text))
