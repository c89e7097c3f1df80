"""The app's main screen: its widgets, their sizes and styles, and the notices above the prompt.

Invariant: this module knows nothing of sessions.
"""

import os
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker, WorkerState
from textual.worker_manager import WorkerManager

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.engine_handle import EngineLink
from tui_agent.tui.keys_and_commands import Action
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.notice import Level, Notice
from tui_agent.tui.panes.side_strip import PaneStrip
from tui_agent.tui.panes.sidebar import Sidebar
from tui_agent.tui.panes.status_line import Status, StatusView
from tui_agent.tui.prompt.prompt import Prompt
from tui_agent.tui.screen_layout import Shape, shape
from tui_agent.tui.terminal.keyboard import BackgroundReported, KeyboardDriver
from tui_agent.tui.terminal.terminal import Terminal, edit_text
from tui_agent.tui.theme.first_frame import FirstLook, find_plugin_themes, first_look, named_theme
from tui_agent.tui.theme.theme import DEFAULT_THEME, LIGHT_THEME, Palette, textual_theme
from tui_agent.tui.widgets.footer import Footer
from tui_agent.tui.widgets.keymap import KeyMap, KeyScreen
from tui_agent.tui.widgets.lists import Intent, LinePane

if TYPE_CHECKING:  # loaded after the first paint
    from tui_agent.ports.session import AppSession
    from tui_agent.tui.cli_client import Ask
    from tui_agent.tui.panes.start import Start

Spawn = Callable[[SessionOptions], "AppSession"]

NOTICE_S = 8.0
"""Time for which a notice is shown, in seconds."""
BACKGROUND_S = 2.0
"""Maximum time to wait for the terminal's background colour, in seconds."""
KEY_S = 0.04
"""Time after a key press, in seconds, in which changes are painted at once."""
BURST_S = 0.01
"""Maximum time between two keys of a paste, in seconds."""
PAINT_S = 0.005
"""Minimum time between two paints caused by keys, in seconds."""


class MainScreen(Screen[None], inherit_bindings=False):
    """The main screen. The Tab key does not move the focus, and the effect of a key is painted at once."""

    # With Textual's own timer, a paint could wait up to 33 ms.

    AUTO_FOCUS = "#start, #editor"
    fast_until = 0.0
    fast_painted_at = 0.0
    typed_at = 0.0

    def on_screen_suspend(self) -> None:
        self._update_key_names()

    def on_screen_resume(self) -> None:
        self._update_key_names()

    def _update_key_names(self) -> None:
        """Redraw the prompt's note and the panes, because they name keys only while this screen is on top."""
        for prompt in self.query(Prompt):
            prompt.update_note()
        for pane in self.walk_children():
            if isinstance(pane, LinePane):
                pane.show()

    def request_fast_paint(self) -> None:
        """Paint the next changes without waiting for Textual's timer, because a key was pressed."""
        # If keys arrive faster than a person types, only the first key gets its own paint.
        now = time.monotonic()
        self.fast_until = now + KEY_S if now > self.typed_at + BURST_S else 0.0
        self.typed_at = now

    def on_idle(self) -> None:
        """Paint changed widgets at once if a key was pressed just now."""
        now = time.monotonic()
        if now > self.fast_until or now < self.fast_painted_at + PAINT_S or not self.is_current:
            return
        if self._dirty_widgets or self._layout_required or self._repaint_required:
            self.fast_painted_at = now
            self._on_timer_update()


class Workers(WorkerManager):
    """The app's background workers. Closes the coroutine of a worker that never starts, so that Python does not warn."""

    # Otherwise Python would warn on the terminal that the coroutine was never awaited.

    def add_worker(self, worker: Worker[object], start: bool = True, exclusive: bool = True) -> None:
        super().add_worker(worker, start, exclusive)
        work, task = worker._work, worker._task
        if task is not None and isinstance(work, Coroutine):
            task.add_done_callback(lambda _: work.close())


class Frame(App[int]):
    """The app's frame of widgets: header, chat area, strip, status, prompt, side panes, footer, menu and notice."""

    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True

    def __init__(
        self,
        options: SessionOptions,
        environ: Mapping[str, str] | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.environ = os.environ if environ is None else environ
        self.first: FirstLook = first_look(options, self.environ)
        self.looks = self.first.looks
        self.drops_key: Callable[[events.Key], bool] = lambda _: False
        """Function that returns True if a key must have no effect on the main screen."""
        super().__init__(driver_class=KeyboardDriver, ansi_color=self.first.mode != "full" or None)
        self._workers = Workers(self)
        theme = textual_theme(self.first.theme, self.first.mode)
        self.register_theme(theme)
        self.set_reactive(App.theme, theme.name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.options = options
        self.key_map = KeyMap()
        self.clock = clock
        self.start: Start | None = None
        """The start page; None until it is loaded."""
        self.sidebar_wanted = self.first.sidebar
        self.shape: Shape = shape(80, 24)
        self._shaped: tuple[Shape, bool] | None = None
        self.terminal = Terminal(self._write, self.environ)
        self._notice_timer: Timer | None = None
        self.background_asked_at = 0.0

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(id="main-screen")

    def compose(self) -> ComposeResult:
        self.prompt = Prompt(self.options.cwd, self.options.policy or "")
        self.editor = self.prompt.editor
        self.header, self.sidebar = Header(), Sidebar()
        self.pane_strip, self.status, self.footer = PaneStrip(), Status(), Footer()
        self.notice = Notice(id="notice")
        self.chat = Vertical(id="chat")
        if self.first.bare:
            # Imported here, so that only a start that shows this page loads it before the first paint.
            self.start = import_module("tui_agent.tui.panes.start").first_page(
                self.editor, str(self.options.cwd)
            )
            self.chat = Vertical(self.start, id="chat")
        yield self.header
        with Horizontal(id="middle"):
            with Vertical(id="main"):
                yield self.chat
                yield self.pane_strip
                yield self.status
                yield self.prompt
            yield self.sidebar
        yield self.footer
        yield self.prompt.menu
        yield self.notice

    @property
    def typed_at(self) -> float:
        """Time of the last key press on the main screen, in seconds of `time.monotonic`."""
        main = self.screen_stack[0]
        return main.typed_at if isinstance(main, MainScreen) else 0.0

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and isinstance(self.screen, MainScreen):
            if isinstance(event, events.Key) and self.drops_key(event):
                return
            self.screen.request_fast_paint()
        await super().on_event(event)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The app's actions, with the user's keys."""
        return self.key_map.actions

    def looks_changed(self) -> None:
        """Redraw the widgets that cache their rows, after a change of theme or symbols."""

    # -- sizes -----------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self.reshape(event.size.width, event.size.height)

    def reshape(self, width: int = 0, height: int = 0) -> None:
        """Lay out the widgets for a terminal size in cells, by default the current size."""
        width, height = width or self.size.width, height or self.size.height
        # A start page that offers models needs the space of the side panes.
        is_page = self.start is not None and bool(self.start.display) and self.start.content.needs_model
        now = shape(width, height, sidebar=self.sidebar_wanted and not is_page)
        if (now, is_page) == self._shaped:
            return
        self._shaped = (now, is_page)
        self.shape = now
        screen = self.screen_stack[0]
        # Set sizes here, not with CSS classes: a class on the screen restyles every widget in it.
        gap = (1, 0, 0, 0) if now.airy else 0
        for spaced in (self.chat, self.status, self.footer):
            spaced.styles.margin = gap
        self.prompt.styles.margin = 0 if now.tiny else (0, 2)
        screen.set_class(self.looks.symbols.name == "ascii", "-ascii")
        self.sidebar.display = now.sidebar > 0
        self.sidebar.styles.width = now.sidebar
        self.pane_strip.display = now.strip and not is_page
        self.status.display = not now.tiny
        self.footer.display = not now.tiny
        self.prompt.fit(now.prompt_rows, policy_row=now.policy_row)
        self.place_overlays()
        for pane in (self.header, self.status, self.footer, self.pane_strip, self.sidebar):
            pane.show()

    def toggle_sidebar(self) -> None:
        """Show or hide the side panes."""
        self.sidebar_wanted = not self.sidebar_wanted
        self.reshape()

    async def close_screens(self) -> None:
        """Close every screen above the main screen."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    def place_overlays(self) -> None:
        """Place the menu directly above the prompt, and the notice above the status line and the menu."""
        now = self.shape
        margin = 0 if now.tiny else 2
        below = self.prompt.height_now + (0 if now.tiny else 1 + (1 if now.airy else 0))
        width = max(4, now.main - 2 * margin)
        menu = self.prompt.menu
        covered = max(0 if now.tiny else 1, menu.rows if menu.display else 0)
        above = max(1, now.height - below - covered)
        for pane, rows, bottom in (
            (menu, menu.rows, now.height - below),
            (self.notice, self.notice.fit(width, above), above),
        ):
            if pane.display:
                rows = max(1, min(rows, bottom))
                pane.styles.width, pane.styles.height = width, rows
                pane.styles.offset = (margin, bottom - rows)

    # -- theme and symbols -----------------------------------------------------------------------------------------

    def plugin_themes(self) -> Sequence[tuple[str, Path]]:
        """Return the theme files of the user's plugins, each with its plugin's name."""
        return find_plugin_themes(self.options, self.environ)

    def use_theme(self, name: str) -> None:
        """Switch to the theme `name`; if the theme's file cannot be used, report why and change nothing."""
        try:
            file = named_theme(name, self.environ, self.plugin_themes)
        except ConfigError as fault:
            self.say(str(fault), "warning")
            return
        self.looks = self.looks._replace(palette=Palette(file, self.first.mode))
        self.first = self.first._replace(theme=file, looks=self.looks, is_theme_guessed=False)
        theme = textual_theme(file, self.first.mode)
        self.register_theme(theme)
        if self.theme == theme.name:
            self.refresh_css(animate=False)
        self.theme = theme.name
        for screen in self.screen_stack:
            for widget in screen.walk_children():
                widget.refresh()
        self.looks_changed()

    def ask_background(self) -> None:
        """Ask the terminal for its background if the user has chosen no theme."""
        if self.first.is_theme_guessed and self.first.mode == "full":
            self.background_asked_at = time.monotonic()
            self.terminal.ask_background()

    def on_background_reported(self, event: BackgroundReported) -> None:
        """Switch to the theme that fits the reported background.

        Ignore a late report, and any report if the user has chosen a theme.
        """
        event.stop()
        if self.first.is_theme_guessed and time.monotonic() < self.background_asked_at + BACKGROUND_S:
            self.use_theme(DEFAULT_THEME if event.is_dark else LIGHT_THEME)

    # -- notices -----------------------------------------------------------------------------------------------------

    def say(self, text: str, level: Level = "info", *, stays: bool = False) -> None:
        """Show a notice above the prompt for a few seconds.

        `stays`: True to show the notice until Esc or the next message.
        """
        self.notice.text, self.notice.level = text, level
        self.notice.key = self.key_map.key_of("open_block")
        self.notice.display = True
        self.place_overlays()
        self.notice.show()
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = None if stays or self.notice.cut else self.set_timer(NOTICE_S, self.hide_notice)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report an error that a worker raised; the app keeps running."""
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.report_error(event.worker.name, event.worker.error)

    def report_error(self, name: str, error: BaseException) -> str:
        """Show a notice about an error in background work, and return the notice's text."""
        # Imported here, since only an error needs this module.
        clean = import_module("tui_agent.session.fault_redaction").redact_text
        error_text = clean(repr(error), self.environ, self.options.cwd)
        notice = f"{name or 'Something'} failed: {error_text}. Run /doctor to see why."
        self.say(notice, "error")
        return notice

    def copy_text(self, text: str, say: Callable[[str, Level], object] | None = None) -> None:
        """Copy a text to the clipboard, and show a notice.

        `say`: function that shows the notice; by default on the main screen.
        """
        say = say or self.say
        if self.terminal.copy(text):
            lines = format_count(text.count("\n") + 1, "line")
            say(f"Copied {lines}.", "done")
        else:
            say("The text is too long for this terminal's clipboard. Export the session instead.", "warning")

    def show_policy(self, policy: str) -> None:
        """Show the policy with which the session will open."""
        self.header.set_policy_hint(policy)
        self.prompt.set_state(policy, lambda _: "", running=False)

    def set_status(self, view: StatusView) -> None:
        self.status.set_view(view, self.clock())
        self.header.set_status(view)

    def hide_notice(self) -> bool:
        """Hide the notice above the prompt; return False if there was none."""
        was_shown = bool(self.notice.display)
        self.notice.display = False
        return was_shown

    def edit_outside(self, text: str) -> str | None:
        """Let the user edit a text in their external editor. Return None on failure."""
        try:
            with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder, self.suspend():
                changed = edit_text(text, Path(folder), self.environ)
        except SuspendNotSupported:
            self.say("Cannot open an editor in this terminal.", "warning")
            return None
        self.refresh(layout=True)
        if changed is None:
            self.say("The editor failed. Your message is unchanged.", "warning")
        return changed

    def _write(self, text: str) -> None:
        driver = self._driver
        if driver is not None and not self.is_headless:
            driver.write(text)


def run_in_page(app: Frame) -> int:
    """Run an app in a browser page until the user quits; return the exit status.

    The page is connected through this process's standard input and output.
    """
    app.driver_class = import_module("textual.drivers.web_driver").WebDriver
    app.terminal = Terminal(app._write, {})  # a browser page has no title to restore, and answers no queries
    return app.run() or 0


class SessionApp(Frame, inherit_bindings=False):
    """Interface of the app for the controller, commands and screens."""

    session_id = ""
    first_prompt = ""
    answer = ""
    """The agent's last answer, printed after quitting."""
    has_quit = False
    """True if the user has quit."""
    handle: EngineLink | None = None
    """The engine process of the first session."""
    then: tuple[str, ...] = ()
    """Arguments for a run of `tui-agent` after the app has quit."""
    spawn: Spawn | None = None
    """Function that opens a session. If None, a new engine process is started."""
    outside: "Ask | None" = None
    """Runs `tui-agent` commands; None to run each command in a child process."""
    waiting_intents: list[Intent | Prompt.Submitted]
    """Actions and messages that wait for an open session."""

    quit_question: Screen[bool] | None = None
    """The sheet that asks whether to quit despite running work. None until it is first opened."""

    @abstractmethod
    def do(self, name: str, argument: str = "") -> None:
        """Run the action `name` of the app; before the session is open, queue it."""

    @abstractmethod
    def leave(self, reason: Literal["quit", "signal"] = "quit") -> None:
        """Close the session first, then the app."""

    @property
    def theme_name(self) -> str:
        return self.first.theme.name

    @property
    def shown_policy(self) -> str:
        """The policy in the row below the editor; empty until it is known."""
        return self.prompt.policy_row.policy

    def key_of(self, action: str) -> str:
        """Return the main key of an action, as printed on a keyboard; empty if there is none."""
        return self.key_map.key_of(action)

    def return_unsent(self) -> None:
        """Put the messages that wait for a session back into the prompt, and drop the waiting actions."""
        waiting, self.waiting_intents = self.waiting_intents, []
        if messages := [item for item in waiting if isinstance(item, Prompt.Submitted)]:
            self.prompt.give_back(messages)

    def leave_for(self, *words: str) -> None:
        """Quit the app, then run `tui-agent` with the arguments `words`."""
        self.then = words
        self.leave()

    def use_keys(self, actions: tuple[Action, ...]) -> None:
        """Use the keys of these actions, as configured by the user."""
        self.key_map = KeyMap(actions)
        self.prompt.actions = actions
        self.pane_strip.show()
        self.show_keys()

    def on_typing_burst(self) -> None:
        """Announce typed or pasted text to the open sheet, so that the letters do not answer the question."""
        if isinstance(self.screen, KeyScreen):
            self.screen.expect_text()

    @abstractmethod
    def show_keys(self) -> None:
        """Update the footer with the keys that work now."""
