"""L7: the full-screen app: the frame that is painted first, its sizes, its keys, its looks.

Invariant: importing this module loads textual and light modules only. Everything that knows sessions is in `live`,
which is imported once, by name, after the first paint; what is typed before that is kept.
"""

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from tui_agent.config.options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.tui.actions import ACTIONS, QUIT, Action, Scope, footer
from tui_agent.tui.first_look import FirstLook, first_look, named_theme
from tui_agent.tui.palette import Palette
from tui_agent.tui.panes.base import Intent, Looks
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.note import Level, Note
from tui_agent.tui.panes.sidebar import Sidebar
from tui_agent.tui.panes.start import Start
from tui_agent.tui.panes.status import Status, StatusView
from tui_agent.tui.panes.strip import PaneStrip
from tui_agent.tui.prompt.box import PLACEHOLDER, Prompt
from tui_agent.tui.shape import Shape, shape
from tui_agent.tui.terminal import Terminal, catch_signals, edit_text, farewell, release_signals
from tui_agent.tui.theme import textual_theme

if TYPE_CHECKING:
    from tui_agent.session.engine_handle import EngineHandle
    from tui_agent.tui.live import AppSession, Live
    from tui_agent.tui.outside import Ask

Spawn = Callable[[SessionOptions], "AppSession"]
NOTE_S = 8.0
TWICE_S = 1.5


class MainScreen(Screen[None]):
    """The main screen; nothing in it moves the focus by Tab."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab,shift+tab", "app.do('none')", show=False)]
    AUTO_FOCUS = "#editor"


class AgentApp(App[int]):
    """The app. `spawn` opens a session (tests inject their own)."""

    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"do('{action.name}')", show=False, priority=key != "escape", id=action.name)
        for action in ACTIONS
        if action.scope in ("app", "transcript") and action.name != "scroll"
        for key in action.keys
    ]

    def __init__(
        self,
        options: SessionOptions,
        *,
        spawn: Spawn | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        outside: "Ask | None" = None,
        watch_themes: bool = False,
    ) -> None:
        self.environ = os.environ if environ is None else environ
        self.first: FirstLook = first_look(options, self.environ)
        self.looks = self.first.looks
        super().__init__(ansi_color=self.first.mode != "full")
        theme = textual_theme(self.first.theme, self.first.mode)
        self.register_theme(theme)
        self.set_reactive(App.theme, theme.name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.options = options
        self.spawn = spawn
        self.clock = clock
        self.first_prompt = options.prompt or ""
        self.outside = outside
        self.watch_themes = watch_themes
        self.handle: EngineHandle | None = None
        self.session_id = ""
        self.then: tuple[str, ...] = ()
        """Words for the product's command line, to go on with after leaving."""
        self.actions: tuple[Action, ...] = ACTIONS
        self.sidebar_wanted = True
        self.shape: Shape = shape(80, 24)
        self._shaped: tuple[Shape, bool] | None = None
        self.live: Live | None = None
        self.answer = ""
        self.left = False
        self.waiting_intents: list[Intent | Prompt.Sent] = []
        self._last_stop = 0.0
        self.terminal = Terminal(self._write, self.environ)

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(id="main-screen")

    def compose(self) -> ComposeResult:
        looks: Callable[[], Looks] = lambda: self.looks  # noqa: E731 - handed to every pane
        self.prompt = Prompt(looks, self.options.cwd)
        self.header, self.sidebar = Header(looks), Sidebar(looks)
        self.pane_strip, self.status, self.footer = PaneStrip(looks), Status(looks), Footer(looks)
        self.note = Note(looks, id="note")
        self.chat = Vertical(id="chat")
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
        yield self.note

    def on_mount(self) -> None:
        if threading.current_thread() is threading.main_thread():
            catch_signals(self.leave_by_signal)
        self.prompt.use(self.actions)
        self.prompt.editor.placeholder = PLACEHOLDER
        policy = self.options.policy or "ask"
        self.prompt.set_state(policy, "", running=False)
        self.header.policy_hint = policy
        self.reshape()
        self.show_keys()
        self.prompt.editor.focus()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        gc.freeze()
        gc.enable()
        self.run_worker(self._go_live(), name="live", exit_on_error=False)

    async def _go_live(self) -> None:
        # In a thread, so that keys typed meanwhile are shown.
        live = await asyncio.to_thread(import_module, "tui_agent.tui.live")
        self.live = live.Live(self)
        await self.live.run()

    # -- sizes -----------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self.reshape(event.size.width, event.size.height)

    def reshape(self, width: int = 0, height: int = 0) -> None:
        """Lay out for the present size."""
        width, height = width or self.size.width, height or self.size.height
        beginning = self.live is not None and self.live.chat.beginning
        now = shape(width, height, sidebar=self.sidebar_wanted and not beginning)
        if (now, beginning) == self._shaped:
            return
        self._shaped = (now, beginning)
        self.shape = now
        screen = self.screen_stack[0]
        # Set here and not by classes: a class on the screen styles every widget in it again.
        gap = (1, 0, 0, 0) if now.airy else 0
        for spaced in (self.chat, self.status, self.footer):
            spaced.styles.margin = gap
        self.prompt.styles.margin = 0 if now.tiny else (0, 2)
        screen.set_class(self.looks.symbols.name == "ascii", "-ascii")
        self.sidebar.display = now.sidebar > 0
        self.sidebar.styles.width = now.sidebar
        self.pane_strip.display = now.strip and not beginning
        self.status.display = not now.tiny
        self.footer.display = not now.tiny
        self.prompt.fit(now.prompt_rows, policy_row=now.policy_row)
        self.place_overlays()
        for pane in (self.header, self.status, self.footer, self.pane_strip, self.sidebar):
            pane.show()

    def place_overlays(self) -> None:
        """Put the menu directly above the prompt, a note above the status line, in their columns."""
        now = self.shape
        margin = 0 if now.tiny else 2
        below = self.prompt.height_now + (0 if now.tiny else 1 + (1 if now.airy else 0))
        width = max(4, now.main - 2 * margin)
        status = 0 if now.tiny else 1
        for pane, rows, bottom in (
            (self.prompt.menu, self.prompt.menu.rows, now.height - below),
            (self.note, len(self.note.lines(width)), now.height - below - status),
        ):
            if pane.display:
                rows = max(1, min(rows, bottom))
                pane.styles.width, pane.styles.height = width, rows
                pane.styles.offset = (margin, bottom - rows)

    @on(Prompt.MenuChanged)
    def _menu_changed(self) -> None:
        if self.prompt.menu.display and self.note.display:
            self.note.display = False
        self.place_overlays()
        self.show_keys()

    # -- looks -----------------------------------------------------------------------------------------------------

    def wear(self, look: FirstLook) -> None:
        """Draw everything with this theme, these symbols."""
        self.looks = look.looks
        theme = textual_theme(look.theme, look.mode)
        self.register_theme(theme)
        if self.theme == theme.name:
            self.refresh_css(animate=False)
        self.theme = theme.name
        self.repaint()

    def wear_theme(self, name: str) -> None:
        """Another theme, live; where its file cannot be used everything stays and the reason is said."""
        try:
            theme = named_theme(name, self.environ)
        except ConfigError as fault:
            self.say(str(fault), "warning")
            return
        looks = replace(self.looks, palette=Palette(theme, self.first.mode))
        self.first = replace(self.first, theme=theme, looks=looks)
        self.wear(self.first)

    def repaint(self) -> None:
        """Everything anew: after another theme."""
        for screen in self.screen_stack:
            for widget in screen.walk_children():
                widget.refresh()
        if self.live is not None:
            self.live.looks_changed()

    # -- intents ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the main screen are dead while something lies over it, but for Ctrl+C."""
        if action == "do" and len(self.screen_stack) > 1:
            return parameters[:1] == ("copy_or_stop",)
        return super().check_action(action, parameters)

    def action_do(self, name: str) -> None:
        """A key of the registry."""
        if name == "none":
            return
        if name == "copy_or_stop":
            self.copy_or_stop()
        elif name == "stop":
            self.stop()
        else:
            self.do(name)

    def do(self, name: str, argument: str = "") -> None:
        """Carry out an action of the registry; before the session is open it waits."""
        if name == "quit":
            self.leave()
        elif self.live is None or self.live.opening:
            self.waiting_intents.append(Intent(name, argument))
        else:
            self.live.act(name, argument)

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        self.do(event.name, event.argument)

    @on(Start.Focused)
    def _start_focused(self, event: Start.Focused) -> None:
        event.stop()
        focused = self.live is not None and self.live.chat.start.has_focus
        self.prompt.set_class(focused, "-quiet")
        self.show_keys()

    @on(Prompt.Sent)
    def _sent(self, event: Prompt.Sent) -> None:
        event.stop()
        self.hush()
        if self.live is None or self.live.opening:
            self.waiting_intents.append(event)
            self.prompt.editor.load_text("")
            self.status.set_view(
                StatusView("opening", "opening", "your message goes out as soon as it is open"), self.clock()
            )
        else:
            self.live.sent(event.text, event.how)

    @on(Prompt.Drafted)
    def _drafted(self, event: Prompt.Drafted) -> None:
        event.stop()
        if self.live is not None:
            self.live.drafted()

    def stop(self) -> None:
        """Esc: close what is open, else interrupt."""
        if self.prompt.close_menu() or self.hush():
            return
        if self.live is not None:
            self.live.escape()

    def copy_or_stop(self) -> None:
        """Ctrl+C: copy what is selected, else interrupt, twice in a row leave."""
        selected = self.screen.get_selected_text() or self.prompt.editor.selected_text
        if selected:
            self.copy_text(selected)
            return
        now = time.monotonic()
        again = now - self._last_stop < TWICE_S
        self._last_stop = now
        if again:
            self.leave()
            return
        interrupted = self.live is not None and self.live.interrupt()
        what = "Interrupted." if interrupted else "Nothing runs."
        self.say(f"{what} Ctrl+C again leaves; the session is kept.")

    def copy_text(self, text: str) -> None:
        """Into the clipboard."""
        lines = text.count("\n") + 1
        if self.terminal.copy(text):
            self.say(f"Copied {lines} {'line' if lines == 1 else 'lines'}.", "done")
        else:
            self.say(
                "That is too long for this terminal's clipboard. /session names the log's file.", "warning"
            )

    def edit_outside(self, text: str) -> str | None:
        """Let the user's editor change a text; None where nothing came of it."""
        try:
            with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder, self.suspend():
                changed = edit_text(text, Path(folder), self.environ)
        except SuspendNotSupported:
            self.say("This terminal cannot be given to an editor.", "warning")
            return None
        self.refresh(layout=True)
        if changed is None:
            self.say("The editor gave nothing back; the message is as it was.", "warning")
        return changed

    def remap(self, actions: tuple[Action, ...], keys: Mapping[str, str]) -> None:
        """Use the user's keys."""
        self.actions = actions
        self.set_keymap(dict(keys))
        self.prompt.use(actions)
        self.show_keys()

    # -- words -----------------------------------------------------------------------------------------------------

    def say(self, text: str, level: Level = "info") -> None:
        """A short word above the prompt; it goes after a while."""
        self.note.text, self.note.level = text, level
        self.note.display = True
        self.place_overlays()
        self.note.show()
        said = text
        self.set_timer(NOTE_S, lambda: self.hush() if self.note.text == said else None)

    def hush(self) -> bool:
        """Take the word away; False where there was none."""
        was = bool(self.note.display)
        self.note.display = False
        return was

    def show_keys(self) -> None:
        """The footer of what applies now."""
        running = self.live is not None and self.live.running
        asked = self.live.asking.scope if self.live is not None else None
        scopes: tuple[Scope, ...] = ("app", "prompt", "transcript")
        if asked is not None:
            scopes = (asked,)
        elif self.prompt.menu.display:
            scopes = ("menu",)
        elif self.live is not None and self.live.chat.start.has_focus:
            scopes = ("start", "app")
        keys = footer(self.actions, scopes, running=running)
        if len(scopes) > 1 and not running:
            keys.append((QUIT.shown, QUIT.footer))
        self.footer.set_keys(keys)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What breaks beside the screen is said on it, and the app lives."""
        if event.state is WorkerState.ERROR:
            self.say(
                f"{event.worker.name or 'Something'} broke: {event.worker.error!r}. /doctor looks why.",
                "error",
            )

    # -- leaving ---------------------------------------------------------------------------------------------------

    def leave(self, reason: str = "quit") -> None:
        """Close the session in order, then the app."""
        if self.left:
            self.exit(0)
            return
        self.left = True
        self.run_worker(self._leave(reason), name="leave", exit_on_error=False)

    def leave_by_signal(self, number: int) -> None:
        """SIGTERM, SIGHUP: as `leave`, with the status that shells expect."""
        self.return_status = 128 + number
        self.leave("signal")

    return_status = 0

    async def _leave(self, reason: str) -> None:
        if self.live is not None:
            self.status.set_view(
                StatusView("opening", "leaving", "the session is being closed"), self.clock()
            )
            await self.live.close(reason)
        self.terminal.restore()
        if threading.current_thread() is threading.main_thread():
            release_signals()
        self.exit(self.return_status)

    def _write(self, text: str) -> None:
        driver = self._driver
        if driver is not None and not self.is_headless:
            driver.write(text)


def run_app(
    options: SessionOptions,
    *,
    spawn: Spawn | None = None,
    handle: "EngineHandle | None" = None,
) -> int:
    """Draw the app until the user leaves; the exit status.

    `handle` is an engine's process that was started before this module was loaded; it is used for the first session.
    """
    # What start-up makes lives as long as the app: collecting it before the first paint would only cost time.
    gc.disable()
    app = AgentApp(options, spawn=spawn, watch_themes=True)
    app.handle = handle
    status = app.run(mouse=app.first.mouse)
    words = farewell(app.session_id, app.answer)
    if words and not app.then:
        sys.stdout.write(words + "\n")
        sys.stdout.flush()
    if app.then:
        return subprocess.call([sys.executable, "-m", "tui_agent", *app.then])
    return status if status is not None else 0
