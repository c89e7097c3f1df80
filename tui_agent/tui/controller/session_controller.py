"""Controller of the open session: holds its views, submits commands to the engine, and reacts to keys.

Invariant: `app` imports this module once, after the first paint.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings import layers
from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.settings.settings import Config, ModelProfile
from tui_agent.errors import ConfigError
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.jobs import JobsView, mark_jobs_lost
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.session import AppSession
from tui_agent.protocol.commands import (
    MAX_OUTPUT_COLUMNS,
    MIN_OUTPUT_COLUMNS,
    Command,
    SetOutputWidth,
)
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import Ask, CommandLine, words_of
from tui_agent.tui.controller.chat import Chat
from tui_agent.tui.controller.choice_keeper import ChoiceKeeper
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.demo_guide import DemoGuide
from tui_agent.tui.controller.disk_changes import DiskChanges
from tui_agent.tui.controller.drafts import DraftKeeper
from tui_agent.tui.controller.event_pump import Pump
from tui_agent.tui.controller.interruption import Interruption
from tui_agent.tui.controller.pane_updates import PaneUpdater
from tui_agent.tui.controller.prompt_submitter import PromptSubmitter
from tui_agent.tui.controller.questions import OpenQuestions
from tui_agent.tui.controller.rewind import RewindActions
from tui_agent.tui.controller.screen_errors import FaultReporter
from tui_agent.tui.controller.session_reader import SessionReader
from tui_agent.tui.controller.session_switcher import SessionSwitcher
from tui_agent.tui.controller.start_page import StartPage
from tui_agent.tui.controller.startup import configure, watch_themes
from tui_agent.tui.controller.status_command import StatusCommand
from tui_agent.tui.controller.trust import TrustDialog
from tui_agent.tui.keys_and_commands import BY_NAME
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.plugin_feed import PaneFeed, find_panes
from tui_agent.tui.panes.plugin_sections import PluginSections
from tui_agent.tui.prompt.symbol_search import search_index
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.transcript.blocks import draw_blocks
from tui_agent.tui.transcript.style import output_columns
from tui_agent.tui.widgets.sheet import Sheet

OVERLAYS = ("help", "todo", "trace", "context")
"""Actions whose keys also work while a sheet is open."""
BEAT_S = 0.5


@cache
def _handlers() -> Mapping[str, Callable[[AppContext, str], object]]:
    """Return the handler of each action. The first call imports many modules."""
    handlers = import_module("tui_agent.tui.commands.handlers")
    return cast(Mapping[str, Callable[[AppContext, str], object]], handlers.HANDLERS)


class SessionController:
    """The open session, and the app's reactions to its events and to the user."""

    def __init__(self, app: SessionApp) -> None:
        self.app = app
        self.editor = app.editor
        self.ask: Ask = app.outside or CommandLine(app.options, app.environ)
        self.config: Config | None = None
        self.views = Views()
        self.session: AppSession | None = None
        self.pump: Pump | None = None
        self.folder: Path | None = None
        self.sessions: SessionSwitcher = SessionSwitcher(self)
        self.faults = FaultReporter(self)
        self.reader = SessionReader(self)
        self.disk_changes: DiskChanges = DiskChanges(self)
        self.drafts = DraftKeeper(self)
        self.choices = ChoiceKeeper(self)
        self.keys: ApiKeys = ApiKeys(self)
        self.chat = Chat(self, lambda: self.panes.show_status())
        self.questions = OpenQuestions(self)
        self.rewind: RewindActions = RewindActions(self)
        self.submitter = PromptSubmitter(self)
        self.interruption = Interruption(self)
        self.start_page = StartPage(self)
        self._trust = TrustDialog(self)
        self.plugin_panes = PaneFeed(
            lambda: self.folder, lambda: find_panes(app.options, self.work_folder, app.environ), self.worker
        )
        self.plugin_panes.changed.append(app.sidebar.show)
        app.sidebar.sections = PluginSections(
            self.plugin_panes, draw_blocks, lambda: self.views.metrics.sums, "/pane {}".format
        )
        self.panes: PaneUpdater = PaneUpdater(
            self,
            after_frame=(
                ("the approvals", lambda: self.questions.update(self.views.approvals.view())),
                ("undo and redo", self.rewind.update),
                ("the status command", StatusCommand(self).update),
                ("the demo", DemoGuide(self).update),
                ("the history of messages", self.drafts.take_prompts),
                (
                    "the panes of plugins",
                    lambda: self.plugin_panes.update(self.views.plugins, self.views.seq),
                ),
            ),
        )
        self._sent_output_width: tuple[AppSession, int] | None = None
        self.storage_fault_seq = -2
        """Sequence number of the newest event at the time of a storage error; -2 if there was no error."""
        self.seen_seq = -1
        """Sequence number of the newest event when the log was opened; later events are announced as new."""

    # -- opening and closing ---------------------------------------------------------------------------------------

    async def run(self, *, choose: bool, watch: bool) -> None:
        """Read the configuration, ask for trust in the folder's own files, open the session, and run until it ends.

        - `choose`: True to open the session list over the chat
        - `watch`: True to redraw when the theme's file changes
        """
        configure(self)
        await self.chat.mount()
        self.app.prompt.find_symbols = search_index(self.ask, self.app.options.data_dir)
        self.start_page.show_early()
        self.worker(self.start_page.complete(), "start page")
        self.app.set_interval(BEAT_S, self.panes.beat)
        if not await self._trust.ask():
            return
        if choose:
            self.act("sessions")
        await self.sessions.open(self.app.options)
        # In a thread, because the handlers import many modules that the first screen does not need.
        await asyncio.to_thread(_handlers)
        if watch:
            self.worker(watch_themes(self), "themes")

    def forget_session(self) -> None:
        """Forget the state of the session before, because another session was opened."""
        # The events of each session are numbered from 0, so the numbers mean other events now.
        self.storage_fault_seq = -2
        self.faults.begin()
        self.rewind.begin_session()
        self.disk_changes.begin_session()

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionStateView:
        """The session's state. If no engine is connected, the state lists no background jobs."""
        state = self.views.state.view()
        return replace(state, jobs=()) if state.jobs and not self.is_connected else state

    @property
    def jobs(self) -> JobsView:
        view = self.views.jobs.view()
        is_lost = bool(view.running) and not self.is_connected
        return mark_jobs_lost(view, self.views.last_event_time) if is_lost else view

    @property
    def is_connected(self) -> bool:
        return self.session is not None and not self.session.is_closed

    @property
    def is_running(self) -> bool:
        """True while a turn or one of the user's shell commands runs."""
        return self.is_connected and self.state.is_busy and self.storage_fault_seq != self.views.seq

    @property
    def has_failed(self) -> bool:
        """True if the newest turn ended because the model did not answer."""
        return self.is_connected and not self.is_running and self.state.last_turn_end == "model_error"

    @property
    def has_model(self) -> bool:
        """True if a model is set."""
        settings = self.state.settings
        return settings is not None and bool(settings.model.model)

    @property
    def profiles(self) -> Mapping[str, ModelProfile]:
        return self.config.models if self.config is not None else {}

    @property
    def work_folder(self) -> str:
        """The session's work folder, or the folder where the app was started if no session is open."""
        return self.state.workspace or str(self.app.options.cwd)

    @property
    def place(self) -> list[str]:
        options = self.app.options
        plugins = [("--plugin-dir", folder) for folder in options.plugin_dirs]
        return [*words_of([("--cwd", self.work_folder), *plugins]), *(["--no-plugins"] * options.no_plugins)]

    def submit(self, command: Command) -> None:
        """Submit a command to the engine."""
        if self.sessions.must_reopen:
            self.app.say("The engine stopped. Send a message to open the session again.", "warning")
            return
        if self.session is None:
            self.app.say("No session is open. /new starts one, /sessions lists the others.", "warning")
            return
        # First the width, because the command may start a program whose output is wrapped for it.
        self.send_output_width()
        self.session.submit(command)
        self.choices.note_work(command)

    def send_output_width(self) -> None:
        """Tell the engine the width of program output on the screen."""
        shown = output_columns(self.app.shape.main)
        columns = min(max(shown, MIN_OUTPUT_COLUMNS), MAX_OUTPUT_COLUMNS)
        if self.session is not None and self._sent_output_width != (self.session, columns):
            self._sent_output_width = self.session, columns
            self.session.submit(SetOutputWidth(columns=columns))

    # -- actions of the user ---------------------------------------------------------------------------------------

    def act(self, name: str, argument: str = "") -> None:
        """Run the app's action `name`; if the action is not available now, tell the user why."""
        handler = _handlers().get(name)
        if handler is None:
            return
        action = BY_NAME.get(name)
        if action is not None and action.ground and self.is_running:
            running = "Your command" if self.state.shell is not None else "A turn"
            key = self.app.key_of("stop")
            self.app.say(f"{running} is running. Press {key} to stop it, then try again.", "warning")
            return
        # A sheet that an action opened closes with the same key (see `run_over_sheet`).
        below = self.app.screen
        handler(self, argument.strip())
        shown = self.app.screen
        if (
            isinstance(shown, Sheet)
            and shown is not below
            and (name in OVERLAYS or isinstance(shown, Viewer))
        ):
            shown.opened_by = name

    def works_over_sheet(self, name: str) -> bool:
        """Return True if the key of the action `name` works while the top sheet or page is open."""
        if name not in OVERLAYS or self.sessions.under_way:
            return False
        top, under = self.app.screen, self.app.screen_stack[1:-1]
        if isinstance(top, TraceScreen):
            return name != "trace"
        return isinstance(top, Sheet) and bool(top.opened_by) and not under

    def run_over_sheet(self, name: str) -> None:
        """Close the open sheet, then run the action `name`.

        If the action `name` opened the sheet, only close the sheet.
        """
        top = self.app.screen
        if isinstance(top, Sheet):
            top.close()
            if top.opened_by == name:
                return
        self.act(name)

    def show_trust(self) -> None:
        """Show the configuration files in the folder, and the decisions to trust or ignore them."""
        self.worker(self._trust.show(), "trust")

    # -- background work -------------------------------------------------------------------------------------------

    def worker(self, work: Coroutine[object, object, object], name: str) -> object:
        """Run a coroutine in the background; report its error instead of raising it."""
        return self.app.run_worker(work, name=name, exit_on_error=False)


class ApiKeys:
    """The API keys that the app can use, including keys that the user enters in the app."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    def names(self) -> frozenset[str]:
        """Return the names of all non-empty environment variables, and of the variables that saved or typed keys set."""
        app, config = self._host.app, self._host.config
        names = frozenset(name for name, value in app.environ.items() if value)
        if config is None:
            return names
        typed = {name for name, _ in app.options.typed_keys}
        try:
            variables = layers.merge_environment(app.options, app.environ)
            return Keys(variables, config.paths.secrets).names() | typed
        except ConfigError as fault:
            app.say(str(fault), "warning")
            return names | typed

    def ask_with(self, variable: str, key: str) -> Ask:
        """Return a function that runs `tui-agent` with the environment variable `variable` set to `key`."""
        app = self._host.app
        return app.outside or CommandLine(_with_key(app.options, variable, key), app.environ)

    async def use(self, variable: str, key: str, model: str, base_url: str) -> bool:
        """Use an API key until the app quits, and reopen the session with `model`. Return False if the session could
        not be opened.

        `variable`: the environment variable of the key.
        """
        host, app = self._host, self._host.app
        host.ask = self.ask_with(variable, key)
        app.options = _with_key(app.options, variable, key)
        host.start_page.expect_model(model)
        return await host.sessions.reopen(model, base_url)


def _with_key(options: SessionOptions, variable: str, key: str) -> SessionOptions:
    # A key entered now wins over one in the environment, which evidently did not work.
    return replace(options, typed_keys=tuple({**dict(options.typed_keys), variable: key}.items()))
