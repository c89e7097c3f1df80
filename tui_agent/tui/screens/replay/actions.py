"""What keys mean in a replay, and what can be begun from one of its moments: fork, revert, copy, export.

Invariant: what cannot be done here is neither offered nor named.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from textual.strip import Strip

from tui_agent.folds.context.compacted_rows import MessageRow
from tui_agent.folds.replay_cursor import ReplayCursor
from tui_agent.folds.views import Views
from tui_agent.protocol.envelope import Envelope
from tui_agent.tui.actions import Action
from tui_agent.tui.modals.fork_point import ForkPoint, fork_point_at, make_fork
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.note import Level
from tui_agent.tui.panes.todo import item_row
from tui_agent.tui.screens.compacted_items import NOTHING, TITLE, folded, head_of, rows, whole_of
from tui_agent.tui.screens.jobs import last_states, lasted
from tui_agent.tui.screens.replay.chat import ReplayChat
from tui_agent.tui.screens.replay.pane import TimelinePane
from tui_agent.tui.screens.replay.playhead import PlayheadScreen
from tui_agent.tui.screens.replay.recording import Recording, Ways
from tui_agent.tui.screens.tree.fork import ask_where
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import part
from tui_agent.units import format_elapsed, format_line_changes

WIDE = 140
"""Columns from which on the footer has room for more words."""


LINES_OF_A_JOB = 8


class ReplayPage(PlayheadScreen):
    """The replay that the actions are done in."""

    chat: ReplayChat
    pane: TimelinePane
    recording: Recording
    moments: ReplayCursor
    views: Views | None

    @property
    def seq(self) -> int:
        """Return the event that is shown."""
        raise NotImplementedError

    def say(self, text: str, role: Role = "accent") -> None:
        """Show a short message in the line's state row for a while."""
        raise NotImplementedError

    def toggle_panes(self) -> None:
        """Show the side panes in place of the chat, where there is no room for both; and back."""
        raise NotImplementedError


class ReplayActions:
    """What can be done from one replay."""

    def __init__(self, screen: ReplayPage, ways: Ways) -> None:
        self._screen = screen
        self._ways = ways

    def take_intent(self, name: str) -> None:
        """Carry out what was pressed on a pane."""
        meant: dict[str, Callable[[], object]] = {
            "help": self.open_help,
            "todo": self.show_todo,
            "trace": self._screen.toggle_panes,
            "context": self._screen.toggle_panes,
            "diff": self.show_files,
            "jobs": self.show_jobs,
        }
        if name in meant:
            meant[name]()

    def offered(self) -> list[Action]:
        """The actions of a replay that can be done in this one, as they are called now."""
        cannot = {"replay_revert": self._ways.revert, "replay_what_if": self._ways.what_if}
        without = {name for name, way in cannot.items() if way is None}
        words = {"replay_play": "pause"} if self._screen.playhead.playing else {}
        if self._screen.app.size.width < WIDE:
            words |= {"replay_fork": "fork here", "replay_revert": "revert here"}
        return [
            one._replace(footer=words.get(one.name, one.footer))
            for one in self._screen.key_map.actions
            if one.scope == "replay" and one.name not in without
        ]

    def scroll(self, rows: int) -> None:
        """Scroll the chat."""
        chat = self._screen.chat
        chat.viewport.scroll_to(chat.viewport.y + rows)
        chat.repaint()

    def leave(self) -> None:
        """Leave the replay."""
        if self._ways.leave is not None:
            self._ways.leave()
        else:
            self._screen.dismiss(None)

    def _spot(self) -> ForkPoint | None:
        """The event that is shown, to go on from."""
        screen = self._screen
        if screen.views is None:
            return None
        entries, record = (
            screen.views.transcript.view().entries,
            screen.moments.records[screen.playhead.place],
        )
        return fork_point_at(screen.recording.id, entries, screen.views.state.view(), screen.seq, record)

    def fork(self) -> None:
        """A new session that goes on from the event that is shown."""
        spot = self._spot()
        if spot is None:
            return
        if self._ways.fork is not None:
            self._ways.fork(spot, self._say)
        else:
            self._work(self._fork_at(spot), "fork")

    async def _fork_at(self, spot: ForkPoint) -> None:
        wish = await ask_where(self._screen.app.push_screen_wait, lambda: self._screen.pane.looks, spot)
        if wish is None:
            return
        self._say(f"forking after event {spot.at_seq} …", "info")
        made = await make_fork(self._ways.ask, spot, wish)
        said = f"Forked after event {spot.at_seq}: {self._ways.opens} {made.id} opens it."
        self._say(said if made.id else made.fault, "done" if made.id else "error")

    def what_if(self) -> None:
        """The same again from the event that is shown, with one thing changed."""
        spot = self._spot()
        if spot is not None and self._ways.what_if is not None:
            self._ways.what_if(spot, self._say)

    def _say(self, text: str, level: Level) -> None:
        roles: dict[Level, Role] = {"info": "t2", "done": "success", "warning": "warning", "error": "error"}
        self._screen.say(text, roles[level])

    def revert(self) -> None:
        """The open session goes back to the event that is shown; how, is asked over the replay."""
        if self._ways.revert is not None and self._screen.ready:
            self._ways.revert(self._screen.seq, lambda: self._screen.app.call_later(self._close))

    def _close(self) -> None:
        self._screen.dismiss(None)

    def copy(self) -> None:
        """What is selected in the chat, else the event as JSON."""
        screen = self._screen
        if not screen.ready:
            return
        record = screen.moments.records[screen.playhead.place]
        event = record.model_dump_json(indent=2) if isinstance(record, Envelope) else ""
        text = screen.chat.selected_text() or event
        done = bool(text) and self._ways.copy(text)
        screen.say("Copied." if done else "Nothing was copied.", "success" if done else "warning")

    def export(self) -> None:
        """The session as a file for others."""
        self._work(self._export_all(), "export")

    async def _export_all(self) -> None:
        status, said = await self._ways.ask("sessions", "export", self._screen.recording.id)
        self._screen.say(clean_line(said.strip()), "error" if status else "success")

    def show_files(self) -> None:
        """The files that were changed by then."""
        screen = self._screen
        if screen.views is None:
            return
        files = screen.views.files.view().files
        minus = screen.pane.looks.symbols.minus

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for one in files:
                counts = [
                    part(f" {words}", viewer.style(role))
                    for words, role in format_line_changes(one.added, one.removed, minus)
                ]
                rows.append(viewer.line(width, [part(one.path, viewer.style())], counts))
            return rows or viewer.say(width, "No file was changed yet.", "t3")

        screen.app.push_screen(Viewer(lambda: screen.pane.looks, f"Files at event {screen.seq}", draw))

    def show_todo(self) -> None:
        """The whole list as it was then."""
        screen = self._screen
        if screen.views is None:
            return
        todo = screen.views.todo.view()

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows = [item_row(item, 0, viewer.looks, width, "s3") for item in todo.items]
            return rows or viewer.say(width, "No tasks yet.", "t3")

        done = f"{todo.done}/{len(todo.items)} done" if todo.items else ""
        screen.app.push_screen(
            Viewer(lambda: screen.pane.looks, f"Todo at event {screen.seq}", draw, right=done)
        )

    def show_jobs(self) -> None:
        """The background jobs as they were then, with the end of what they had printed."""
        screen = self._screen
        if screen.views is None:
            return
        jobs, now = screen.views.jobs.view().jobs, screen.views.last_event_time

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for job in reversed(jobs):
                stood = part(f"{job.outcome}, {format_elapsed(lasted(job, now))}", viewer.style("t2"))
                named = part(f"{job.job_id}  {job.command}", viewer.style(bold=True))
                rows += [viewer.line(width, [named], [stood])]
                for line in last_states(job.output)[-LINES_OF_A_JOB:]:
                    rows += viewer.say(width, line, "t3") if line.strip() else []
                rows.append(viewer.gap(width))
            return rows or viewer.say(width, "No background job yet.", "t3")

        screen.app.push_screen(Viewer(lambda: screen.pane.looks, f"Jobs at event {screen.seq}", draw))

    def show_put_away(self) -> None:
        """What was not in the context as it was said, by then; each can be read whole."""
        self._work(self._put_away(), "put-away")

    async def _put_away(self) -> None:
        screen = self._screen
        if not screen.ready:
            return
        seq, known = screen.seq, screen.moments.records[: screen.playhead.place + 1]
        view = await asyncio.to_thread(folded, known)

        def chosen(value: str | None) -> None:
            if value is not None:
                self._work(self._read(view.items[int(value)]), "message")

        title = f"{TITLE}, at event {seq}"
        picker = Picker(lambda: screen.pane.looks, title, rows(view), empty=NOTHING)
        screen.app.push_screen(picker, chosen)

    async def _read(self, item: MessageRow) -> None:
        screen = self._screen
        words = await whole_of(item, screen.recording.read_text)
        draw = partial(Viewer.say, text=words, role="t1")
        screen.app.push_screen(Viewer(lambda: screen.pane.looks, head_of(item), draw, plain=words))

    def _work(self, work: Coroutine[object, object, None], name: str) -> None:
        self._screen.run_worker(work, name=name, exit_on_error=False)

    def open_help(self) -> None:
        """Every key of a replay."""

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for action in self.offered():
                rows += viewer.pair(width, action.shown, action.help, names=27)
            return rows

        screen = self._screen
        screen.app.push_screen(Viewer(lambda: screen.pane.looks, "Replay", draw))
