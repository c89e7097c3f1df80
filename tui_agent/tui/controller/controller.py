"""The app's second half: the session, its views, and everything that knows the protocol.

Invariant: imported once, after the first paint (`app` names it; nothing else imports it before). It submits commands
and hands views on; what the screen looks like is the panes' matter.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker

from tui_agent.config.settings import Config
from tui_agent.folds.session.jobs import JobsView, without_engine
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.views import Views
from tui_agent.protocol.commands import Command, Interrupt, SetPolicy
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.actions import BY_NAME
from tui_agent.tui.cli_client import Ask, command_line
from tui_agent.tui.controller.blobs import Reading
from tui_agent.tui.controller.chat import Chat
from tui_agent.tui.controller.default_model import Defaults
from tui_agent.tui.controller.demo import DemoEnd
from tui_agent.tui.controller.drafts import Keeping
from tui_agent.tui.controller.faults import Faults
from tui_agent.tui.controller.pump import Pump
from tui_agent.tui.controller.questions import Asking
from tui_agent.tui.controller.render import Frames
from tui_agent.tui.controller.rewind import Rewinding
from tui_agent.tui.controller.session_port import AppSession
from tui_agent.tui.controller.sessions import Opening
from tui_agent.tui.controller.startup import Beginning, configure, watch_themes
from tui_agent.tui.controller.submit import Sending
from tui_agent.tui.controller.trust import Trusting
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.prompt.symbol_index import of_index
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.app import AgentApp

OVERLAYS = ("help", "todo", "trace", "context")
"""Actions whose keys also apply over a sheet to read."""
BEAT_S = 0.5
TWICE_S = 0.6
"""Within so many seconds a second Esc means both."""


@cache
def _handlers() -> "Mapping[str, Callable[[Live, str], None]]":
    found: Mapping[str, Callable[[Live, str], None]] = import_module(
        "tui_agent.tui.commands.registry"
    ).HANDLERS
    return found


class Live:
    """One session at a time, and the app's reaction to it."""

    def __init__(self, app: "AgentApp") -> None:
        self.app = app
        self.ask: Ask = app.outside or command_line(app.options, app.environ)
        self.config: Config | None = None
        self.views = Views()
        self.session: AppSession | None = None
        self.pump: Pump | None = None
        self.folder: Path | None = None
        self.opening: Opening = Opening(self)
        self.faults = Faults(self)
        self.chat = Chat(app, self)
        self.asking = Asking(app, self)
        self.frames = Frames(self)
        self.keeping = Keeping(self)
        self.reading = Reading(self)
        self.rewinding: Rewinding = Rewinding(self)
        self.sending = Sending(self)
        self.beginning = Beginning(self)
        self.defaults = Defaults(self)
        self.demo_end = DemoEnd(self)
        self.trusting = Trusting(self)
        self._escaped_at = 0.0
        self._told_unconfined = False
        self.halted_at = -2
        """The newest event when the engine could not store the next one: its turn has stopped there."""
        self.seen_seq = -1
        """What stood in the log when it was opened: nothing of it is news."""

    # -- opening and closing ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read the configuration, ask about the folder's own files, open the session, and stay."""
        configure(self)
        await self.chat.mount()
        self.app.prompt.find_symbols = of_index(self.ask, self.app.options.data_dir)
        self.beginning.early()
        self.worker(self.beginning.look(), "start page")
        self.app.set_interval(BEAT_S, self.frames.beat)
        if not await self.trusting.ask():
            return
        if self.app.choose:
            self.act("sessions")
        await self.opening.open(self.app.options)
        # Both load much that no first screen needs; whoever is quicker with a command waits for the rest of it.
        await asyncio.to_thread(_handlers)
        if self.app.watch_themes:
            self.worker(watch_themes(self), "themes")

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionStateView:
        """The session's state; without an engine no job runs."""
        state = self.views.state.view()
        return replace(state, jobs=()) if state.jobs and not self.connected else state

    @property
    def jobs(self) -> JobsView:
        """The background jobs; without an engine none of them runs."""
        view = self.views.jobs.view()
        return view if self.connected or not view.running else without_engine(view, self.views.last_at)

    @property
    def connected(self) -> bool:
        """Whether a session is open and its engine lives."""
        return self.session is not None and not self.session.closed

    @property
    def running(self) -> bool:
        """Whether a turn runs, or a command of the user's own."""
        return self.connected and self.state.busy and self.halted_at != self.views.seq

    @property
    def failed(self) -> bool:
        """Whether the newest turn ended because the model did not answer."""
        return self.connected and not self.running and self.state.last_turn_end == "model_error"

    @property
    def has_model(self) -> bool:
        """Whether a model is set."""
        settings = self.state.settings
        return settings is not None and bool(settings.model.model)

    def submit(self, command: Command) -> None:
        """Hand a command to the engine."""
        if self.session is not None and self.session.closed:
            self.app.say("The engine's process ended. Enter on a message opens the session again.", "warning")
            return
        if self.session is None:
            self.app.say("No session is open. /new starts one, /sessions shows the others.", "warning")
            return
        self.session.submit(command)

    # -- what the user wants ---------------------------------------------------------------------------------------

    def act(self, name: str, argument: str = "") -> None:
        """Carry out an action of the registry, or say why not now."""
        handler = _handlers().get(name)
        if handler is None:
            return
        action = BY_NAME.get(name)
        if action is not None and action.ground and self.running:
            said = action.slash or action.shown
            what = "Your command" if self.state.shell is not None else "A turn"
            self.app.say(f"{what} is running. {said} can be used after it; Esc stops it.", "warning")
            return
        below = self.app.screen
        handler(self, argument.strip())
        shown = self.app.screen
        if isinstance(shown, Viewer) and shown is not below:
            shown.opened_by = name

    def lays_over(self, name: str) -> bool:
        """Whether a key of the main screen applies to the sheet, or the page, that lies over it now."""
        if name not in OVERLAYS or self.opening.under_way:
            return False
        top, under = self.app.screen, self.app.screen_stack[1:-1]
        if isinstance(top, TraceScreen):
            return name != "trace"
        return isinstance(top, Viewer) and bool(top.opened_by) and not under

    def lay_over(self, name: str) -> None:
        """Show this in place of the sheet that is open; its own key closes it."""
        top = self.app.screen
        if isinstance(top, Viewer):
            top.close()
            if top.opened_by == name:
                return
        self.act(name)

    def escape(self) -> None:
        """Esc with nothing open: leave what is selected in the chat, else interrupt; twice when idle goes back."""
        if self.chat.escape() or self.interrupt():
            return
        now = time.monotonic()
        before, self._escaped_at = self._escaped_at, now
        if now - before < TWICE_S and self.connected and not self.app.prompt.editor.text:
            self._escaped_at = 0.0
            self.act("revert")

    def interrupt(self) -> bool:
        """Stop the turn; False where none runs."""
        if not self.running:
            return False
        self.submit(Interrupt())
        return True

    def set_policy(self, name: str) -> None:
        """Use another policy."""
        if name not in POLICIES:
            return
        self.submit(SetPolicy(policy=name))
        why_not = self.state.sandbox_why_not
        if name == "accept-edits" and why_not and not self.state.sandbox and not self._told_unconfined:
            self._told_unconfined = True
            said = f"accept-edits asks about commands here: nothing confines them. {clean_line(why_not)}"
            self.app.say(said, "warning")

    # -- work beside the screen ------------------------------------------------------------------------------------

    def worker(self, work: object, name: str) -> "Worker[object]":
        """Run a coroutine beside the screen; a fault in it is said, not thrown."""
        return self.app.run_worker(work, name=name, exit_on_error=False)  # type: ignore[arg-type]
