"""What keys mean in a replay, and what can be begun from one of its moments: fork, revert, copy, export.

Invariant: what cannot be done here is neither offered nor named.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.folds.context.compacted_rows import ForgottenItem
from tui_agent.protocol.envelope import Envelope
from tui_agent.tui import format as units
from tui_agent.tui.actions import ACTIONS, Action
from tui_agent.tui.modals.fork_point import Spot, make, spot_at
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.note import Level
from tui_agent.tui.panes.todo import item_row
from tui_agent.tui.screens.compacted_items import NOTHING, TITLE, folded, head_of, rows, whole_of
from tui_agent.tui.screens.jobs import last_states, lasted
from tui_agent.tui.screens.replay.recording import Ways
from tui_agent.tui.screens.tree.fork import ask_where
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.modal_keys import small
from tui_agent.tui.widgets.rows import part

if TYPE_CHECKING:
    from tui_agent.tui.screens.replay.playhead import By
    from tui_agent.tui.screens.replay.screen import ReplayScreen

WIDE = 140
"""Columns from which on the footer has room for more words."""


LINES_OF_A_JOB = 8


class Wishes:
    """The keys of one replay."""

    def __init__(self, screen: "ReplayScreen", ways: Ways) -> None:
        self._screen = screen
        self._ways = ways
        self._keys: dict[str, Callable[[], None]] = {
            "left": lambda: self._go("event", forward=False),
            "right": lambda: self._go("event", forward=True),
            "shift+left": lambda: self._go("part", forward=False),
            "shift+right": lambda: self._go("part", forward=True),
            "ctrl+left": lambda: self._go("turn", forward=False),
            "ctrl+right": lambda: self._go("turn", forward=True),
            "left_square_bracket": lambda: self._go("marker", forward=False),
            "right_square_bracket": lambda: self._go("marker", forward=True),
            "home": lambda: screen.move(lambda head: head.to(0)),
            "end": lambda: screen.move(lambda head: head.to(head.last)),
            "space": lambda: screen.move(lambda head: head.toggle()),
            "plus": lambda: screen.move(lambda head: head.change_speed(1)),
            "equals_sign": lambda: screen.move(lambda head: head.change_speed(1)),
            "minus": lambda: screen.move(lambda head: head.change_speed(-1)),
            "slash": screen.find,
            "n": lambda: screen.find_next(forward=True),
            "N": lambda: screen.find_next(forward=False),
            "upper_n": lambda: screen.find_next(forward=False),
            "pageup": lambda: screen.chat.action_page(-1),
            "pagedown": lambda: screen.chat.action_page(1),
            "up": lambda: self._scroll(-1),
            "down": lambda: self._scroll(1),
            **dict.fromkeys(("f3", "f4", "f6"), screen.toggle_panes),
            "f2": self._todo,
            "d": self._files,
            "j": self._jobs,
            "a": lambda: self._work(self._put_away(), "put-away"),
            "f": self._fork,
            "w": self._what_if,
            "r": self._revert,
            "v": self._revert,
            "c": self._copy,
            "e": self._export,
            "f1": self.help,
            "escape": self._leave,
            "q": self._leave,
        }

    def take_key(self, key: str) -> None:
        """Do what the key means; nothing where it means nothing."""
        if key.isdigit():
            self._screen.move(lambda head: head.tenth(int(key)))
            return
        meant = self._keys.get(key) or self._keys.get(small(key))
        if meant is not None:
            meant()

    def take_intent(self, name: str) -> None:
        """What was pressed on a pane."""
        meant = {
            "help": "f1",
            "todo": "f2",
            "trace": "f3",
            "context": "f4",
            "diff": "d",
            "jobs": "j",
            "cost": "",
        }
        self.take_key(meant.get(name, ""))

    def offered(self) -> list[Action]:
        """The actions of a replay that can be done in this one, as they are called now."""
        cannot = {"replay_revert": self._ways.revert, "replay_what_if": self._ways.what_if}
        without = {name for name, way in cannot.items() if way is None}
        words = {"replay_play": "pause"} if self._screen.playhead.playing else {}
        if self._screen.app.size.width < WIDE:
            words |= {"replay_fork": "fork here", "replay_revert": "revert here"}
        return [
            one._replace(footer=words.get(one.name, one.footer))
            for one in ACTIONS
            if one.scope == "replay" and one.name not in without
        ]

    def _go(self, by: "By", *, forward: bool) -> None:
        self._screen.move(lambda head: head.go(by, forward=forward))

    def _scroll(self, rows: int) -> None:
        chat = self._screen.chat
        chat.viewport.scroll_to(chat.viewport.y + rows)
        chat.repaint()

    def _leave(self) -> None:
        if self._ways.leave is not None:
            self._ways.leave()
        else:
            self._screen.dismiss(None)

    def _spot(self) -> Spot | None:
        """The event that is shown, to go on from."""
        screen = self._screen
        if screen.views is None:
            return None
        entries, record = (
            screen.views.transcript.view().entries,
            screen.moments.records[screen.playhead.place],
        )
        return spot_at(screen.recording.id, entries, screen.views.state.view(), screen.seq, record)

    def _fork(self) -> None:
        """A new session that goes on from the event that is shown."""
        spot = self._spot()
        if spot is None:
            return
        if self._ways.fork is not None:
            self._ways.fork(spot, self._say)
        else:
            self._work(self._fork_at(spot), "fork")

    async def _fork_at(self, spot: Spot) -> None:
        wish = await ask_where(self._screen.app, lambda: self._screen.pane.looks, spot)
        if wish is None:
            return
        self._say(f"forking after event {spot.at_seq} …", "info")
        made = await make(self._ways.ask, spot, wish)
        said = f"Forked after event {spot.at_seq}: {self._ways.opens} {made.id} opens it."
        self._say(said if made.id else made.said, "done" if made.id else "error")

    def _what_if(self) -> None:
        """The same again from the event that is shown, with one thing changed."""
        spot = self._spot()
        if spot is not None and self._ways.what_if is not None:
            self._ways.what_if(spot, self._say)

    def _say(self, text: str, level: Level) -> None:
        roles: dict[Level, Role] = {"info": "t2", "done": "success", "warning": "warning", "error": "error"}
        self._screen.say(text, roles[level])

    def _revert(self) -> None:
        """The open session goes back to the event that is shown; how, is asked over the replay."""
        if self._ways.revert is not None and self._screen.ready:
            self._ways.revert(self._screen.seq, lambda: self._screen.app.call_later(self._close))

    def _close(self) -> None:
        self._screen.dismiss(None)

    def _copy(self) -> None:
        """What is selected in the chat, else the event as JSON."""
        screen = self._screen
        if not screen.ready:
            return
        record = screen.moments.records[screen.playhead.place]
        event = record.model_dump_json(indent=2) if isinstance(record, Envelope) else ""
        text = screen.chat.selected_text() or event
        done = bool(text) and self._ways.copy(text)
        screen.say("Copied." if done else "Nothing was copied.", "success" if done else "warning")

    def _export(self) -> None:
        """The session as a file for others."""
        self._work(self._export_all(), "export")

    async def _export_all(self) -> None:
        status, said = await self._ways.ask("sessions", "export", self._screen.recording.id)
        self._screen.say(clean_line(said.strip()), "error" if status else "success")

    def _files(self) -> None:
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
                    for words, role in units.changed_lines(one.added, one.removed, minus)
                ]
                rows.append(viewer.line(width, [part(one.path, viewer.style())], counts))
            return rows or viewer.say(width, "No file was changed yet.", "t3")

        screen.app.push_screen(Viewer(lambda: screen.pane.looks, f"Files at event {screen.seq}", draw))

    def _todo(self) -> None:
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

    def _jobs(self) -> None:
        """The background jobs as they were then, with the end of what they had printed."""
        screen = self._screen
        if screen.views is None:
            return
        jobs, now = screen.views.jobs.view().jobs, screen.views.last_at

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for job in reversed(jobs):
                stood = part(f"{job.outcome}, {units.elapsed(lasted(job, now))}", viewer.style("t2"))
                named = part(f"{job.job_id}  {job.command}", viewer.style(bold=True))
                rows += [viewer.line(width, [named], [stood])]
                for line in last_states(job.output)[-LINES_OF_A_JOB:]:
                    rows += viewer.say(width, line, "t3") if line.strip() else []
                rows.append(viewer.gap(width))
            return rows or viewer.say(width, "No background job yet.", "t3")

        screen.app.push_screen(Viewer(lambda: screen.pane.looks, f"Jobs at event {screen.seq}", draw))

    async def _put_away(self) -> None:
        """What was not in the context as it was said, by then; each can be read whole."""
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

    async def _read(self, item: ForgottenItem) -> None:
        screen = self._screen
        words = await whole_of(item, screen.recording.read_text)
        draw = partial(Viewer.say, text=words, role="t1")
        screen.app.push_screen(Viewer(lambda: screen.pane.looks, head_of(item), draw, plain=words))

    def _work(self, work: Coroutine[object, object, None], name: str) -> None:
        self._screen.run_worker(work, name=name, exit_on_error=False)

    def help(self) -> None:
        """Every key of a replay."""

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for action in self.offered():
                rows += viewer.pair(width, action.shown, action.help, names=27)
            return rows

        screen = self._screen
        screen.app.push_screen(Viewer(lambda: screen.pane.looks, "Replay", draw))
