"""The panes of a replay: chat, todo, trace, context and cost as they were at any event, above a timeline.

Invariant: the screen runs no model or tool and writes nothing.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui_agent.errors import TuiAgentError
from tui_agent.folds.replay_cursor import ReplayCursor
from tui_agent.folds.screen_folds import Views, describe_error
from tui_agent.folds.trace.timeline import build_timeline
from tui_agent.protocol.stored_text import BlobText
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.panes.context_bar import meter_style
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.notice import Level
from tui_agent.tui.panes.plugin_feed import PaneFeed, PanePlaces, find_panes
from tui_agent.tui.panes.plugin_sections import PluginSections
from tui_agent.tui.panes.side_strip import PaneStrip
from tui_agent.tui.panes.sidebar import Sidebar
from tui_agent.tui.panes.status_line import StatusView
from tui_agent.tui.screens.replay.playhead import Playhead, PlayheadScreen
from tui_agent.tui.screens.replay.replay_protocols import ReplayHost, ReplaySource
from tui_agent.tui.screens.replay.timeline_pane import Head, TimelinePane, rows_for
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.time_slice import Slices
from tui_agent.tui.transcript.blocks import draw_blocks
from tui_agent.tui.transcript.tool_rows import QUICK_S
from tui_agent.tui.transcript.transcript_messages import BlobWanted
from tui_agent.tui.transcript.widget import TranscriptWidget
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.rows import Part, with_intent
from tui_agent.tui.worker_errors import WorkerErrorReporter
from tui_agent.units import format_cost, format_percent, format_time_of_day

NOTICE_S = 8.0
"""Time for which a notice is shown, in seconds."""
MAX_BLOBS = 200
"""Maximum number of long texts to keep in memory."""
_ROLES: Final[dict[Level, Role]] = {"info": "t2", "done": "success", "warning": "warning", "error": "error"}
_NO_NOTICE: Final[tuple[str, Role]] = ("", "t2")


class ReplayHeader(Header):
    """The header of a replay."""

    total_cost: str = ""
    is_live: bool = False
    """True if the newest event of a log is shown, and the log can still grow."""
    broken_part: str = ""
    """Name of the first part of the screen that could not be drawn; empty if all parts were drawn."""

    def _right(self, width: int) -> list[Part]:
        palette = self.looks.palette
        gap: Part = ("   ", self.style())
        parts: list[Part] = [
            (" LIVE " if self.is_live else " REPLAY ", palette.style("on-accent", "accent", bold=True))
        ]
        if self.broken_part:
            parts += [gap, (f"{self.broken_part} is incomplete", self.style("error"))]
        elif width >= 80:
            note = "read only: runs no model and no tools" if width >= 140 else "read only"
            parts += [gap, (note, self.style("t2"))]
        state = self.state
        cost = "" if state is None else format_cost(state.cost_usd, state.cost_precision, short=True)
        if cost and width >= 50:
            parts += [gap, (cost, with_intent(self.style(), "cost"))]
            if self.total_cost and width >= 80:
                parts.append((f" of {self.total_cost}", self.style("t2")))
        if self.meter is not None and self.meter.window:
            number = meter_style(palette, self.meter, self.surface, bold=True)
            parts += [("  ", self.style()), (format_percent(self.meter.fraction).rjust(4), number)]
        return parts


class ReplayFaults:
    """Reports each error of a replay once, with `say` and in the header."""

    def __init__(self, header: ReplayHeader, say: Callable[[str, Level], None]) -> None:
        self._header = header
        self._say = say
        self._reported = set[tuple[str, str]]()

    def guard(self, name: str, draw: Callable[[], object]) -> None:
        """Call `draw` to draw the part `name` of the screen; report an error instead of raising it."""
        try:
            draw()
        except Exception as error:  # noqa: BLE001 - a supervisor: an error must not stop the other parts
            self._header.broken_part = self._header.broken_part or name
            fault = name, clean_line(describe_error(error))
            if fault not in self._reported:
                self._reported.add(fault)
                self.guard("the header", self._header.show)
                self._say(f"{name} could not be drawn: {fault[1]}", "error")

    def report_views(self, views: Views) -> None:
        """Report the events that a view could not apply."""
        for key, fault in views.faults.items():
            if key not in self._reported:
                self._reported.add(key)
                self._say(
                    f"{fault.view} could not use event {fault.seq}, {fault.kind}: {fault.error}", "error"
                )


class ReplayChat(WorkerErrorReporter, TranscriptWidget):
    """The transcript at any moment of a replay.

    `read`: returns the full content of a text outside the log.
    """

    can_focus = False

    def __init__(self, looks: Looks, read: Callable[[BlobText], Awaitable[str]], *, id: str) -> None:
        super().__init__(looks.palette, looks.symbols, resolve=self._find_text, now=self._now, id=id)
        self._views: Views | None = None
        self._texts: dict[str, str] = {}
        self._read_text = read

    def _now(self) -> float:
        # The live chat delays the rows of quick calls; a replay shows them at once.
        return 0.0 if self._views is None else self._views.last_event_time + QUICK_S

    def show(self, views: Views) -> None:
        new = views.transcript.view()
        if views is self._views:
            changed = views.transcript.drain()
        else:
            # After a jump, the views are other objects, which do not know what changed since the last drawing.
            old = self._views.transcript.view().entries if self._views is not None else ()
            pairs = zip(old, new.entries, strict=False)
            changed = [index for index, (was, now) in enumerate(pairs) if was is not now]
            views.transcript.drain()
        self._views = views
        self.set_view(new, changed)

    def _find_text(self, blob: BlobText) -> str | None:
        return self._texts.get(blob.blob_sha256)

    def on_blob_wanted(self, message: BlobWanted) -> None:
        message.stop()
        self.run_worker(self._fetch(message.blob), name="blob", exit_on_error=False)

    async def _fetch(self, blob: BlobText) -> None:
        self._texts[blob.blob_sha256] = await self._read_text(blob)
        while len(self._texts) > MAX_BLOBS:
            del self._texts[next(iter(self._texts))]
        self.blob_loaded(blob)


class MomentScreen(PlayheadScreen):
    """Shows the panes as they were at the event under the playhead. Subclasses add keys and actions.

    `to_seq`: the replay starts at this event; None for the last event.
    """

    DEFAULT_CSS = """
    MomentScreen { background: $s0; }
    MomentScreen #replay-body { height: 1fr; }
    MomentScreen #replay-left { width: 1fr; height: 1fr; }
    MomentScreen ReplayChat { height: 1fr; }
    MomentScreen TimelinePane { height: 7; }
    """

    def __init__(
        self,
        source: ReplaySource,
        host: ReplayHost,
        looks: Looks,
        *,
        to_seq: int | None = None,
        speed: float = 1.0,
    ) -> None:
        super().__init__()
        self.source, self.host = source, host
        self.header, self.sidebar, self.footer = ReplayHeader(), Sidebar(), Footer()
        self.pane_strip, self.pane = PaneStrip(), TimelinePane()
        self.chat = ReplayChat(looks, source.read_text, id="replay-chat")
        self.plugin_panes = PaneFeed(lambda: source.folder, self._find_panes, self._start, is_live=False)
        self.plugin_panes.changed.append(self.sidebar.show)
        self.sidebar.sections = PluginSections(
            self.plugin_panes,
            draw_blocks,
            lambda: self.views.metrics.sums if self.views is not None else None,
            lambda name: f"{self.key_map.key_of('replay_pane')} to open",
        )
        self.moments = ReplayCursor()
        self.playhead = Playhead(build_timeline(()), 0, speed)
        self.views: Views | None = None
        self.field: Field | None = None
        """The field for the text of a search while the user types; otherwise None."""
        self._to_seq, self._speed = to_seq, speed
        self._notice: tuple[str, Role] = ("loading …", "t2")
        self._faults = ReplayFaults(self.header, self.say)
        self._panes_opened = False
        """True if the side panes replace the chat, on a screen without room for both."""

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
        self.show_head()
        self.run_worker(self._read(), name="replay", exit_on_error=False)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.app.size
        shape = cast(Frame, self.app).shape
        self.sidebar.display = shape.sidebar > 0 or self._panes_opened
        self.sidebar.styles.width = shape.sidebar or "100%"
        self.query_one("#replay-left").display = not self.panes_replace_chat
        self.pane_strip.display = shape.strip
        self.pane.styles.height = rows_for(width, height)
        self.footer.display = not shape.tiny
        self.chat.styles.margin = (1, 0, 1, 0) if shape.airy else 0

    def toggle_panes(self) -> None:
        """Switch between the chat and the side panes if there is no room for both."""
        self._panes_opened = not self._panes_opened and not cast(Frame, self.app).shape.sidebar
        self._fit()
        self.show_head()

    @property
    def panes_replace_chat(self) -> bool:
        """True if the side panes are shown in place of the chat."""
        return self._panes_opened and not cast(Frame, self.app).shape.sidebar

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read the log, and build the timeline and the keyframes (stored views, for fast jumps), without blocking the keys."""
        try:
            records = await self.source.read_all()
        except TuiAgentError as fault:
            self.say(str(fault), "error")
            return
        line = await asyncio.to_thread(build_timeline, records)
        self.moments = ReplayCursor(records)
        await self._prepare()
        self._notice = _NO_NOTICE
        if not records:
            self.say("Nothing was recorded.")
            return
        place = len(records) - 1 if self._to_seq is None else self.moments.index_of(self._to_seq)
        self.playhead = Playhead(line, place, self._speed)
        self.header.total_cost = format_cost(*self.moments.total_cost, short=True)
        self.pane.set_line(line)
        self.show_place()

    async def _prepare(self) -> None:
        slices = Slices()
        while self.moments.build_keyframes(50):
            if await slices.turn():
                count = f"{self.moments.keyframed_count} of {len(self.moments)}"
                self._notice = (f"reading {count} events", "t2")
                self.show_head()

    @property
    def ready(self) -> bool:
        """True if the log is read. Events can then be shown."""
        return self.views is not None

    def _find_panes(self) -> PanePlaces:
        frame = cast(Frame, self.app)
        workspace = self.views.state.view().workspace if self.views is not None else ""
        return find_panes(frame.options, workspace or str(frame.options.cwd), frame.environ)

    def _start(self, work: Coroutine[object, object, None], name: str) -> None:
        self.run_worker(work, name=name, exit_on_error=False)

    # -- drawing ---------------------------------------------------------------------------------------------------

    @property
    def seq(self) -> int:
        """The sequence number of the shown event."""
        return self.moments.records[self.playhead.place].seq

    def show_beat(self, moved: bool) -> None:
        if moved:
            self.show_place()
        elif not self.playhead.playing:
            self.show_head()

    @property
    def is_live(self) -> bool:
        """True if the screen shows the newest event and follows the log."""
        return False

    def show_place(self) -> None:
        """Show all panes of the replay at the event under the playhead."""
        views = self.views = self.moments.views_at(self.seq)
        state, meter, todo = views.state.view(), views.meter.view(), views.todo.view()
        # The time of the shown event counts as the present, e.g. for the elapsed time of running calls.
        trace, files, now = views.trace.view(), views.files.view(), views.last_event_time
        status = StatusView("stopped", "replay", f"event {self.seq}")
        self.header.is_live = self.is_live
        guard = self._faults.guard
        with self.app.batch_update():
            guard("the header", lambda: self.header.set_views(state, meter))
            guard("the sidebar", lambda: self.sidebar.set_views(todo, trace, meter, now))
            guard("the pane strip", lambda: self.pane_strip.set_views(todo, files, files.line_counts))
            guard("the chat", lambda: self.chat.show(views))
            guard("the panes of plugins", lambda: self.plugin_panes.update(views.plugins, self.seq))
            self.show_head()
            guard("the header", lambda: self.header.set_status(status))
        self._faults.report_views(views)

    @abstractmethod
    def show_keys(self) -> None: ...

    def show_head(self) -> None:
        """Show the timeline with the playhead and the notice, and the keys."""
        self._faults.guard("the timeline", self._draw_head)

    def _draw_head(self) -> None:
        notice, role = self._notice
        head = Head(notice=notice, notice_role=role)
        if self.views is not None:
            self.show_keys()
            playhead = self.playhead
            head = head._replace(
                place=playhead.place,
                seq=self.seq,
                last_seq=self.moments.records[-1].seq,
                part=max(0, self.views.state.view().parts - 1),
                clock=format_time_of_day(self.views.last_event_time, digits=0),
                kind=self.views.last_kind,
                playing=playhead.playing,
                speed=playhead.speed,
                live=self.is_live,
                find=self._field_parts(),
            )
        self.pane.set_head(head)

    def _field_parts(self) -> tuple[Part, ...]:
        if self.field is None:
            return ()
        typed = self.field.parts(24, self.pane.pen, "text of an event")
        return (("find ", self.pane.style("t2")), *typed)

    def move(self, change: Callable[[Playhead], object]) -> None:
        self._notice = _NO_NOTICE
        super().move(change)

    def say(self, text: str, level: Level = "info") -> None:
        """Show a notice in the state row above the timeline, until the playhead is moved or some time passes."""
        notice = self._notice = (text, _ROLES[level])
        self.show_head()

        def hide() -> None:
            if self._notice is notice:
                self._notice = _NO_NOTICE
                self.show_head()

        self.set_timer(NOTICE_S, hide)
