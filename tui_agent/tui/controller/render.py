"""Frames: which pane is given which view, and what the status line, the title and the prompt's row then say.

Invariant: called at most as often as the pump makes frames; panes paint only what differs.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.views import ALL, ViewName, Views
from tui_agent.protocol.base import text_preview
from tui_agent.tui import format as units
from tui_agent.tui.controller.faults import REPORT
from tui_agent.tui.modals.policy import PolicySheet
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.panes.status_text import status_of
from tui_agent.tui.prompt.box import PLACEHOLDER
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


class Frames:
    """Shows one session's views."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self._beats = 0
        self._told: object = None

    def show(self, changed: frozenset[ViewName]) -> None:
        """Hand the changed views to their panes."""
        if not changed:
            return
        app, views = self._live.app, self._live.views
        if self._live.config is not None:
            views.meter.compact_at(self._live.config.context.compact_at)
        guarded = self._live.faults.guarded
        self._live.faults.look()
        with app.batch_update():
            if "state" in changed:
                guarded("what is in force", self._take_state)
            self._look_again(changed)
            if changed & {"state", "meter"}:
                guarded("the header", self._show_header)
            if changed & {"todo", "trace", "meter"}:
                guarded("the side panes", self._show_sidebar)
            if changed & {"todo", "files"}:
                guarded("the strip of panes", lambda: self.show_strip(views))
            if "transcript" in changed:
                guarded("the chat", self._live.chat.show)
            guarded("the chat", self._live.chat.choose_page)
            guarded("the status line", self.show_status)
            if changed & {"state", "meter"}:
                guarded("the prompt", self._show_prompt)
        guarded("the approvals", lambda: self._live.asking.look(views.approvals.view()))
        guarded("the way back", self._live.rewinding.look)
        guarded("the demo's end", self._live.demo_end.look)
        guarded("the history of messages", self._live.keeping.take_prompts)

    def _take_state(self) -> None:
        self._live.sending.under_way = False
        self._live.beginning.refresh()
        self._live.defaults.look(self._live.state)

    def _show_header(self) -> None:
        self._live.app.header.set_views(self._live.state, self._live.views.meter.view())

    def _show_sidebar(self) -> None:
        app, views = self._live.app, self._live.views
        app.sidebar.set_views(views.todo.view(), views.trace.view(), views.meter.view(), app.clock())

    def _look_again(self, changed: frozenset[ViewName]) -> None:
        """An open sheet shows what is in force and known now."""
        for screen in self._live.app.screen_stack:
            if isinstance(screen, Viewer | PolicySheet) and screen.follows & changed:
                self._live.faults.guarded("the sheet", screen.follow)

    def show_figures(self, views: Views) -> None:
        """What is known of a session that is not open yet, beside its talk."""
        app, meter = self._live.app, views.meter.view()
        app.header.set_views(views.state.view(), meter)
        app.sidebar.set_views(views.todo.view(), views.trace.view(), meter, app.clock())
        self.show_strip(views)

    def show_strip(self, views: Views) -> None:
        """Tasks and files of a session, where there is no room for the side panes."""
        self._live.app.pane_strip.set_views(views.todo.view(), views.files.view())

    def show_all(self) -> None:
        """Every pane, from the views as they are."""
        self.show(ALL)

    def show_status(self) -> None:
        """State, what runs, and the keys that apply."""
        app, state = self._live.app, self._live.state
        stopped = self._stopped()
        if stopped is not None:
            app.status.set_view(stopped, app.clock())
            app.header.set_status(stopped)
            app.show_keys()
            return
        view = status_of(state, self._live.views.trace.view(), note=self._note(state))
        older = self._live.opening.older
        if older:
            view = view._replace(note=older) if view.what else view._replace(what=older)
        if faulty := self._live.faults.first:
            said = f"{faulty} lacks something: {REPORT}"
            view = view._replace(note=said) if view.what else view._replace(what=said)
        view = view._replace(below=self._live.chat.below)
        before = app.status.view.mood
        app.status.set_view(view, app.clock())
        app.header.set_status(view)
        app.show_keys()
        if before != view.mood:
            self._tell(before, view)

    def _note(self, state: SessionStateView) -> str:
        if self._live.app.shape.width < 150 or not state.run_id:
            return ""
        return f"{state.run_id}  {self._live.views.last_kind}"

    def _tell(self, before: str, view: StatusView) -> None:
        """Title always, a notice where nobody looks."""
        title = clean_line(self._live.state.title) or "tui-agent"
        mark = {"waiting": "? ", "running": "* ", "failed": "x "}.get(view.mood, "")
        self._live.app.terminal.title(f"{mark}{title}")
        if self._live.app.app_focus or self._live.views.seq <= self._live.seen_seq:
            return
        if view.mood == "waiting":
            self._live.app.terminal.notify(f"{title}: waiting for you, {view.what}")
        elif before == "running" and view.mood in ("ready", "failed", "stopped"):
            self._live.app.terminal.notify(f"{title}: {view.word}")

    def _show_prompt(self) -> None:
        app, meter, state = self._live.app, self._live.views.meter.view(), self._live.state
        if state.settings is None:
            return
        note = ""
        if meter.next_tokens:
            cost = (
                f", {units.money(meter.next_cost_usd, digits=2)}" if meter.next_cost_usd is not None else ""
            )
            note = f"next turn {units.about(meter.next_tokens)} tokens{cost}"
        if state.workspace:
            app.prompt.set_root(Path(state.workspace))
        waits_for = "the summary" if state.compacting else "your command" if state.shell is not None else ""
        after = waits_for or ("this turn" if state.busy else "")
        app.prompt.set_queue([text_preview(one.text) for one in state.queue], after=after)
        unconfined = not state.sandbox and bool(state.sandbox_why_not)
        app.prompt.set_state(
            state.settings.policy, note, running=state.busy, waits_for=waits_for, unconfined=unconfined
        )
        hint = PLACEHOLDER
        if not state.settings.model.model:
            hint = "Pick a model above, or type /model"
        elif state.last_turn_end == "model_error" and not state.busy:
            hint = "Enter tries again; or type to go on"
        if app.prompt.editor.placeholder != hint:
            app.prompt.editor.placeholder = hint

    def beat(self) -> None:
        """Twice a second: what runs blinks and counts."""
        self._beats += 1
        self._look_for_trouble()
        if self._live.app.status.view.mood == "running":
            now = self._live.app.clock()
            self._live.app.status.beat(now)
            if self._beats % 2 == 0:
                self._live.app.sidebar.beat(now)
        if self._beats % 2 == 0 and self._live.opening.older:
            self.show_status()

    def _stopped(self) -> StatusView | None:
        """What stands in the status line while the engine cannot go on."""
        live = self._live
        if live.session is not None and live.session.closed and not live.opening.under_way:
            return StatusView("failed", "engine ended", "your next message opens the session again")
        if live.halted_at == live.views.seq:
            return StatusView("failed", "not stored", "free some space; your next message tries again")
        return None

    def _look_for_trouble(self) -> None:
        """What the engine could not store is no event: it is told here, and its turn counts as stopped."""
        live = self._live
        trouble = live.session.trouble if live.session is not None else None
        if trouble is None or trouble is self._told:
            return
        self._told = trouble
        live.halted_at = live.views.seq
        live.sending.under_way = False
        live.app.say(f"{trouble.message} {trouble.hint}".strip(), "error")
        self.show_status()

    def looks_changed(self) -> None:
        """Another theme: what caches strips starts anew."""
        self._live.chat.looks_changed()
        self.show_all()
