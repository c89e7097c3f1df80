"""A recorded session as it was at any event: chat, todo, trace, context and cost, over a line to move on.

Invariant: nothing here runs a model or a tool or writes; a key folds a bounded number of events, however long the log.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui_agent.errors import TuiAgentError
from tui_agent.folds.replay_cursor import ReplayCursor
from tui_agent.folds.trace.timeline import build_timeline
from tui_agent.folds.views import Views, describe_error
from tui_agent.tui.actions import Scope, footer
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.meter import meter_style
from tui_agent.tui.panes.side_strip import PaneStrip
from tui_agent.tui.panes.sidebar import Sidebar
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.screens.replay.actions import ReplayActions, ReplayPage
from tui_agent.tui.screens.replay.chat import ReplayChat
from tui_agent.tui.screens.replay.pane import Head, LinePlace, TimelinePane, rows_for
from tui_agent.tui.screens.replay.playhead import Playhead
from tui_agent.tui.screens.replay.recording import Recording, Ways, search
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.keymap import claims_key
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.rows import Part, doing
from tui_agent.units import format_cost, format_percent

if TYPE_CHECKING:
    from tui_agent.tui.main_screen import Frame


class ReplayHeader(Header):
    """Never says a policy: nothing can happen here."""

    total_cost: float | None = None
    lacks: str = ""
    """The part of the screen that could not be drawn, the first of them."""

    def _right(self, width: int) -> list[Part]:
        palette = self.looks.palette
        parts: list[Part] = [(" REPLAY ", palette.rich("on-accent", "accent", bold=True))]
        said = "read only: no model, no tool runs" if width >= 140 else "read only" if width >= 80 else ""
        if self.lacks:
            parts += [("   ", self.style()), (f"{self.lacks} lacks something", self.style("error"))]
        elif said:
            parts += [("   ", self.style()), (said, self.style("t2"))]
        cost = "" if self.state is None else format_cost(self.state.totals.cost_usd)
        if cost and width >= 50:
            parts += [("   ", self.style()), (cost, doing(self.style(), "cost"))]
            if self.total_cost is not None and width >= 80:
                parts.append((f" of {format_cost(self.total_cost)}", self.style("t2")))
        if self.meter is not None and self.meter.window:
            number = meter_style(palette, self.meter, self.surface, bold=True)
            parts += [("  ", self.style()), (format_percent(self.meter.fraction).rjust(4), number)]
        return parts


class ReplayFaults:
    """Of one replay; `say` puts a short word where the user looks."""

    def __init__(self, header: ReplayHeader, say: Callable[[str, Role], None]) -> None:
        self._header = header
        self._say = say
        self._told = set[tuple[str, str]]()

    def guarded(self, what: str, draw: Callable[[], object]) -> None:
        """Draw a part of the screen; where it fails, that is said once, and the others are drawn."""
        try:
            draw()
        except Exception as error:  # noqa: BLE001 - a supervisor: a part that breaks takes no other with it
            self._header.lacks = self._header.lacks or what
            words = clean_line(describe_error(error))
            if (what, words) in self._told:
                return
            self._told.add((what, words))
            self.guarded("the header", self._header.show)
            self._say(f"{what} could not be drawn: {words}", "error")

    def look(self, views: Views) -> None:
        """Say what a pane lacks, once for each."""
        for key, fault in views.faults.items():
            if key not in self._told:
                self._told.add(key)
                self._say(f"{fault.view} lacks event {fault.seq}, {fault.kind}: {fault.error}", "error")


SLICE_S = 0.008
SAID_S = 8.0


class ReplayFrame(ReplayPage):
    """The panes as they were at the event under the head, and the head that moves."""

    DEFAULT_CSS = """
    ReplayFrame { background: $s0; }
    ReplayFrame #replay-body { height: 1fr; }
    ReplayFrame #replay-left { width: 1fr; height: 1fr; }
    ReplayFrame ReplayChat { height: 1fr; }
    ReplayFrame TimelinePane { height: 7; }
    """

    def __init__(
        self,
        recording: Recording,
        ways: Ways,
        looks: Callable[[], Looks],
        *,
        to_seq: int | None = None,
        speed: float = 1.0,
    ) -> None:
        super().__init__()
        self.recording = recording
        self.wishes = ReplayActions(self, ways)
        self.header, self.sidebar, self.footer = ReplayHeader(looks), Sidebar(looks), Footer(looks)
        self.pane_strip, self.pane = PaneStrip(looks), TimelinePane(looks)
        self.chat = ReplayChat(looks(), recording.read_text, id="replay-chat")
        self.moments = ReplayCursor()
        self.playhead = Playhead(build_timeline(()), 0, speed)
        self.views: Views | None = None
        self._to_seq, self._speed = to_seq, speed
        self._said: tuple[str, Role] = ("reading …", "t2")
        self._asking: Field | None = None
        self._wanted = ""
        self._faults = ReplayFaults(self.header, self.say)
        self._panes = False

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="replay-body"):
            with Vertical(id="replay-left"):
                yield self.chat
                yield self.pane_strip
            yield self.sidebar
        yield self.pane
        yield self.footer

    def on_mount(self) -> None:
        self._fit()
        self._show_head()
        self.run_worker(self._read(), name="replay", exit_on_error=False)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.app.size
        shape = cast("Frame", self.app).shape
        self.sidebar.display = shape.sidebar > 0 or self._panes
        self.sidebar.styles.width = shape.sidebar or "100%"
        self.chat.display = shape.sidebar > 0 or not self._panes
        self.pane_strip.display = shape.strip
        self.pane.styles.height = rows_for(width, height)
        self.footer.display = not shape.tiny
        self.chat.styles.margin = (1, 0, 1, 0) if shape.airy else 0

    def toggle_panes(self) -> None:
        """Todo, trace and context in place of the chat, where there is no room for both; and back."""
        self._panes = not self._panes and not cast("Frame", self.app).shape.sidebar
        self._fit()

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read the log, make the line, and fold it for its keyframes; keys are answered meanwhile."""
        try:
            records = await self.recording.read_all()
        except TuiAgentError as fault:
            self.say(str(fault), "error")
            return
        line = await asyncio.to_thread(build_timeline, records)
        self.moments = ReplayCursor(records)
        await self._prepare()
        self._said = ("", "t2")
        if not records:
            self.say("Nothing was recorded.", "t2")
            return
        place = len(records) - 1 if self._to_seq is None else self.moments.index_of(self._to_seq)
        self.playhead = Playhead(line, place, self._speed)
        self.header.total_cost = self.moments.total_cost
        self.pane.set_line(line)
        self.show_moment()

    async def _prepare(self) -> None:
        until = time.perf_counter() + SLICE_S
        while self.moments.build_keyframes(50):
            if time.perf_counter() > until:
                self._said = (f"reading {self.moments.keyframed_count} of {len(self.moments)} events", "t2")
                self._show_head()
                # Keys and paints get their turn; this gives way, it waits for nothing.
                await asyncio.sleep(0)
                until = time.perf_counter() + SLICE_S

    @property
    def ready(self) -> bool:
        """Whether there is a moment to show."""
        return self.views is not None

    # -- showing ---------------------------------------------------------------------------------------------------

    @property
    def seq(self) -> int:
        """The event that is shown."""
        return self.moments.records[self.playhead.place].seq

    def show_place(self) -> None:
        self.show_moment()

    def show_beat(self, moved: bool) -> None:
        if moved:
            self.show_moment()
        elif not self.playhead.playing:
            self._show_head()

    def show_moment(self) -> None:
        """Every pane, as it was at the head."""
        views = self.views = self.moments.views_at(self.seq)
        state, meter = views.state.view(), views.meter.view()
        with self.app.batch_update():
            self._faults.guarded("the header", lambda: self.header.set_views(state, meter))
            self._faults.guarded(
                "the sidebar",
                lambda: self.sidebar.set_views(
                    views.todo.view(), views.trace.view(), meter, views.last_event_time
                ),
            )
            self._faults.guarded(
                "the strip of panes", lambda: self.pane_strip.set_views(views.todo.view(), views.files.view())
            )
            self._faults.guarded("the chat", lambda: self.chat.show(views))
            self._show_head()
            status = StatusView("stopped", "replay", f"event {self.seq}")
            self._faults.guarded("the header", lambda: self.header.set_status(status))
        self._faults.look(views)

    def _show_head(self) -> None:
        self._faults.guarded("the timeline", self._draw_head)

    def _draw_head(self) -> None:
        if self.views is None:
            self.pane.set_head(Head(said=self._said[0], said_role=self._said[1]))
            return
        self.footer.set_keys(footer(self.wishes.offered(), ("replay",), running=False))
        head, records = self.playhead, self.moments.records
        part = self.views.state.view().parts
        self.pane.set_head(
            Head(
                place=head.place,
                seq=self.seq,
                last_seq=records[-1].seq,
                part=max(0, part - 1),
                clock=time.strftime("%H:%M:%S", time.localtime(self.views.last_event_time)),
                kind=self.views.last_kind,
                playing=head.playing,
                speed=head.speed,
                said=self._said[0],
                said_role=self._said[1],
                asked=self._asked(),
            )
        )

    def _asked(self) -> tuple[Part, ...]:
        if self._asking is None:
            return ()
        style, quiet = self.pane.style(), self.pane.style("t3")
        cursor = self.pane.looks.palette.rich("s1", "t1")
        typed = self._asking.parts(24, style, cursor, "text of an event", quiet)
        return (("find ", self.pane.style("t2")), *typed)

    def say(self, text: str, role: Role = "accent") -> None:
        """A short word in the line's state row; it goes after a while."""
        said = self._said = (text, role)
        self._show_head()
        self.set_timer(SAID_S, lambda: self._hush(said))

    def _hush(self, said: tuple[str, Role]) -> None:
        if self._said is said:
            self._said = ("", "t2")
            self._show_head()

    # -- moving ----------------------------------------------------------------------------------------------------

    @on(LinePlace)
    def _dragged(self, event: LinePlace) -> None:
        event.stop()
        self.move(lambda head: head.to(event.place))

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        """A span that is pressed leads to where it began."""
        event.stop()
        name, _, index = f"{event.name} {event.argument}".partition(" ")
        if name == "span" and self.views is not None and index.isdigit():
            seq = self.views.trace.view().spans[int(index)].first_seq
            self.move(lambda head: head.to(self.moments.index_of(seq)))
        else:
            self.wishes.take_intent(event.name)


class ReplayScreen(ReplayFrame):
    """Keys are in the registry, scope `replay`. `place_wanted` is the seq to begin at; None is the last."""

    key_methods = {
        "replay_play": ("move", Playhead.toggle),
        "replay_event": ("go", "event"),
        "replay_part": ("go", "part"),
        "replay_turn": ("go", "turn"),
        "replay_marker": ("go", "marker"),
        "replay_ends": "go_to_end",
        "replay_tenth": "go_to_tenth",
        "replay_speed": "change_speed",
        "replay_find": "find",
        "replay_again": "find_again",
        "replay_panes": "toggle_panes",
        "replay_scroll": ("do", "scroll"),
        "replay_page": "scroll_page",
        "replay_todo": ("do", "show_todo"),
        "replay_files": ("do", "show_files"),
        "replay_jobs": ("do", "show_jobs"),
        "replay_put_away": ("do", "show_put_away"),
        "replay_fork": ("do", "fork"),
        "replay_what_if": ("do", "what_if"),
        "replay_revert": ("do", "revert"),
        "replay_copy": ("do", "copy"),
        "replay_export": ("do", "export"),
        "replay_leave": ("do", "leave"),
        "help": ("do", "open_help"),
        "field_use": ("end_find", True),
        "field_leave": ("end_find", False),
    }

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event) and not self.run_key(event.key) and self._asking is not None:
            self._asking.key(event.key, event.character)
            self._show_head()

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of replays, or of the field while a text is asked for."""
        return ("replay",) if self._asking is None else ("field",)

    def do(self, name: str, *arguments: int) -> None:
        """Carry out one of the replay's actions."""
        getattr(self.wishes, name)(*arguments)

    def go_to_tenth(self, tenth: int) -> None:
        """Go that many tenths along the line."""
        self.move(lambda head: head.tenth(tenth))

    def scroll_page(self, direction: int) -> None:
        """Scroll the chat by a page."""
        self.chat.action_page(direction)

    def find(self) -> None:
        """Ask for a text to look for."""
        if self.ready:
            self._asking = Field(self._wanted)
            self._show_head()

    def end_find(self, look: bool) -> None:
        """Close the field, and look for what was typed where that is meant."""
        field, self._asking = self._asking, None
        if field is not None and look and field.text.strip():
            self._wanted = field.text
            self.find_next(forward=True)
        self._show_head()

    def find_again(self, direction: int) -> None:
        """To the next event that was looked for, or the one before."""
        self.find_next(forward=direction < 0)

    def find_next(self, *, forward: bool) -> None:
        """To the next event, or the one before, that holds what was looked for."""
        if self._wanted and self.ready:
            self.run_worker(
                self._find(forward), name="find", exclusive=True, group="find", exit_on_error=False
            )

    async def _find(self, forward: bool) -> None:
        place = self.playhead.place
        found = await asyncio.to_thread(search, self.moments.records, self._wanted, place, forward=forward)
        if found is None:
            self.say(
                f'No event {"after" if forward else "before"} this one holds "{self._wanted}".', "warning"
            )
        else:
            self.move(lambda head: head.to(found))
