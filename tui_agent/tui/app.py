"""The full-screen app: handles keys and actions, and quits.

Invariant: importing this module loads only Textual and light modules.
"""

import asyncio
import gc
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual import events, on
from textual.message import Message

from tui_agent.config.paths import is_session_stored
from tui_agent.config.session_options import SessionOptions
from tui_agent.session.engine_handle import EngineLink
from tui_agent.tui.keys_and_commands import KeyHint, Scope, command_word, footer, is_shell_line
from tui_agent.tui.main_screen import SessionApp, Spawn, run_in_page
from tui_agent.tui.panes.policy import policy_after
from tui_agent.tui.panes.status_line import StatusView
from tui_agent.tui.prompt.prompt import PLACEHOLDER, Prompt
from tui_agent.tui.terminal.terminal import (
    CLOSE_S,
    HANGUP_STATUS,
    HangupWatch,
    catch_signals,
    farewell,
    print_farewell,
    release_signals,
    schedule_forced_exit,
)
from tui_agent.tui.widgets.keymap import KeyScreen
from tui_agent.tui.widgets.lists import Intent

if TYPE_CHECKING:  # loaded after the first paint
    from tui_agent.tui.cli_client import Ask
    from tui_agent.tui.controller.session_controller import SessionController

GC_THRESHOLDS = 20_000, 20, 20
"""Thresholds of the garbage collector. They are higher than Python's defaults, so the collector runs less often."""
# Events create few reference cycles, so fewer collections suffice.
TWICE_S = 1.5
"""Maximum time between the two presses of Ctrl+C that quit, in seconds."""


class AgentApp(SessionApp, inherit_bindings=False):
    """The full-screen app."""

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
        super().__init__(options, environ, clock)
        self.spawn = spawn
        self.first_prompt = options.prompt or ""
        self.outside = outside
        self.watch_themes = watch_themes
        self.choose = False
        """True if the list of sessions opens at the start."""
        self.controller: SessionController | None = None
        self.waiting_intents = []
        self._last_stop = 0.0
        self._runs_shell_line = False
        """True if the footer says that Enter runs the shell command in the prompt."""

    def on_mount(self) -> None:
        if threading.current_thread() is threading.main_thread():
            catch_signals(self.leave_by_signal)
            if not self.is_headless and sys.__stdin__ is not None and sys.__stdin__.isatty():
                self.hangup = HangupWatch(
                    sys.__stdin__.fileno(), partial(self.leave_by_signal, signal.SIGHUP)
                )
                self.hangup.start()
        self.prompt.actions = self.actions
        self.prompt.editor.refuse = partial(self.say, level="warning")
        self.editor.placeholder = PLACEHOLDER
        policy = self.options.policy or ""
        self.show_policy(policy)
        if self.options.session or self.options.continue_latest:
            self.header.title_hint = "opening the session"
        self.reshape()
        self.show_keys()
        (self.start or self.editor).focus()
        self.call_after_refresh(self._finish_first_paint)

    def _finish_first_paint(self) -> None:
        if self.handle is not None:
            self.handle.release()
        self.ask_background()
        self.run_worker(self._start_controller(), name="controller", exit_on_error=False)

    async def _start_controller(self) -> None:
        # In a thread, so that the app can echo keys typed meanwhile.
        try:
            module = await asyncio.to_thread(import_module, "tui_agent.tui.controller.session_controller")
        finally:
            # The loaded modules stay until the app quits, so the collector need not visit them again.
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            gc.enable()
        self.controller = module.SessionController(self)
        await self.controller.run(choose=self.choose, watch=self.watch_themes)

    def looks_changed(self) -> None:
        if self.controller is not None:
            self.controller.panes.looks_changed()

    @on(Prompt.MenuChanged)
    def _menu_changed(self) -> None:
        self.place_overlays()
        self.show_keys()

    # -- intents ---------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Handle the keys of the app's actions before the focused widget gets the event."""
        if isinstance(event, events.Key) and not event.is_forwarded and self._take_key(event.key):
            return
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Run the action `stop` if one of its keys was pressed."""
        if len(self.screen_stack) == 1 and self.key_map.means(event.key, "stop"):
            self.stop()

    def _take_key(self, key: str) -> bool:
        """Run the app's or the transcript's action for a key; return False if there is no action."""
        if isinstance(self.screen, KeyScreen) and self.screen.takes_every_key:
            return False
        for action, choice in self.key_map.find(key, ("app", "transcript")):
            name = action.name
            is_covered = len(self.screen_stack) > 1
            if name == "copy_or_stop":
                self.copy_or_stop()
            elif name == "quit":
                self.request_quit()
            elif name == "quit_empty" and (not is_covered or self.screen is self.quit_question):
                if self.editor.text:
                    continue  # The same key edits the text.
                self.request_quit()
            elif name == "stop" or (
                is_covered and (self.controller is None or not self.controller.works_over_sheet(name))
            ):
                continue  # The focused widget, or the sheet above it, handles the key.
            elif is_covered and self.controller is not None:
                self.controller.run_over_sheet(name)
            else:
                self.do(("page_up", "page_down")[choice] if name == "scroll" else name)
            return True
        return False

    def do(self, name: str, argument: str = "") -> None:
        if name == "quit":
            self.request_quit()
        elif self.controller is None or self._is_opening:
            if name == "next_policy":
                argument = policy_after(self.shown_policy)
                self.show_policy(argument)
            self._wait(Intent(name, argument), "your choice takes effect once the session is open")
        else:
            self.controller.act(name, argument)

    @property
    def _is_opening(self) -> bool:
        """True while the first session is being opened."""
        return self.controller is None or self.controller.sessions.under_way

    def _wait(self, item: Intent | Prompt.Submitted, status: str) -> None:
        """Queue an action or a message until the session is open; meanwhile, show `status`."""
        # A key that is pressed again, because nothing happened yet, must not run its action twice.
        newest = self.waiting_intents[-1] if self.waiting_intents else None
        is_repeated = (
            isinstance(item, Intent)
            and isinstance(newest, Intent)
            and (item.name, item.argument) == (newest.name, newest.argument)
        )
        if not is_repeated:
            self.waiting_intents.append(item)
        self.set_status(StatusView("opening", "opening", status))

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        event.stop()
        if event.screen in (None, self.screen):
            self.do(event.name, event.argument)

    def on_start_focused(self, event: Message) -> None:
        """Update the footer because the start page gained or lost the focus."""
        # Named for Textual's lookup, not bound with `on`, because the page's class is loaded later.
        event.stop()
        focused = self.controller is not None and self.controller.chat.start.has_focus
        self.prompt.set_class(focused, "-quiet")
        self.show_keys()

    @on(Prompt.Submitted)
    def _message_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        self.hide_notice()
        if self.controller is None or self._is_opening:
            outcome = "your command runs" if command_word(event.text) else "your message is sent"
            self._wait(event, f"{outcome} once the session is open")
        else:
            self.controller.submitter.send(event)

    @on(Prompt.Drafted)
    def _save_draft(self, event: Prompt.Drafted) -> None:
        event.stop()
        if self.screen_stack and isinstance(self.screen, KeyScreen):  # no screen while the app ends
            self.screen.follow_message()
        if self.controller is not None:
            self.controller.drafts.schedule_save()
            if self.controller.chat.new_rows_text:
                self.controller.chat.show_status()  # Its key for the newest row depends on the text.
            is_changed = is_shell_line(self.editor.text) != self._runs_shell_line
            depends = self.controller.questions.is_waiting or bool(self.controller.state.queue)
            if is_changed or depends or self.controller.is_running:
                self.show_keys()  # What Enter does depends on the text.
            if not self.editor.text:
                self.controller.start_page.focus()

    def stop(self) -> None:
        """Handle Esc: close the menu if it is open, otherwise let the controller handle the key."""
        if self.prompt.close_menu():
            return
        self.hide_notice()
        if self.controller is not None:
            self.controller.interruption.escape()

    def copy_or_stop(self) -> None:
        """Handle Ctrl+C: copy the selection, interrupt the turn, or clear the message. A second press quits."""
        chat = None
        if self.controller is not None and len(self.screen_stack) == 1:
            chat = self.controller.chat.widget
        selected = self.screen.get_selected_text() or self.editor.selected_text
        if chat is not None and chat.selection is not None:
            selected = selected or chat.selected_text()
            chat.clear_selection()  # so that the next press stops the turn
        if selected:
            self.copy_text(selected)
            return
        now = time.monotonic()
        is_second = now - self._last_stop < TWICE_S
        self._last_stop = now
        interrupted = (
            not is_second and self.controller is not None and self.controller.interruption.interrupt()
        )
        if not interrupted and len(self.screen_stack) == 1 and self.editor.text:
            # Clearing the message does not count as the first of two presses.
            self._last_stop = 0.0
            self.prompt.close_menu()
            self.editor.put_text("")
            self.say(f"Cleared your message. {self.key_of('undo_typing')} restores it.")
            return
        if is_second:
            self.leave()
            return
        done = "Interrupted. " if interrupted else ""
        self.say(f"{done}Press {self.key_of('copy_or_stop')} again to quit. Your session is saved.")

    def request_quit(self) -> None:
        """Quit the app; ask first if work is still running."""
        is_second = self.quit_question is not None and self.screen is self.quit_question
        if self.controller is None or self._is_opening or is_second:
            self.leave()
        else:
            self.controller.act("quit")

    def show_keys(self) -> None:
        """Show in the footer which keys are available now."""
        controller = self.controller
        chat = controller.chat.widget if controller is not None else None
        running = controller is not None and controller.is_running
        scopes: tuple[Scope, ...] = ("app", "prompt", "transcript")
        if self.editor.menu_open:
            scopes = ("menu",)
        elif self.start is not None and self.start.has_focus:
            scopes = ("start", "app")
        elif chat is not None and chat.has_focus:
            scopes = (*chat.key_scopes(), "app", "transcript")
        in_menu = scopes == ("menu",)
        if self._is_opening:
            # The app's own actions only start once the session is open.
            scopes = tuple(scope for scope in scopes if scope != "app")
        if not in_menu and controller is not None and controller.has_failed:
            commands = [KeyHint("/model", "switch", "model"), KeyHint("/doctor", "check all", "doctor")]
            hint = self.key_map.hint
            self.footer.set_keys([hint("send", "try again"), *commands, hint("palette")])
            return
        has_session = controller is not None and controller.session is not None
        hidden = set[str]() if has_session else {"next_policy", "trace"}
        if running and controller is not None and not controller.state.turn_running:
            # A summary or a shell command runs, not a turn: a message cannot steer it, only wait for it.
            hidden |= {"steer"}
        is_command = is_shell_line(self.editor.text) or bool(command_word(self.editor.text))
        goes_back = not is_command and self.prompt.queue_rows.gets_back(running=running)
        if is_command:
            hidden |= {"steer", "queue"}
        elif goes_back:
            hidden |= {"queue"}
        if self.start is not None and not self.start.numbers:
            hidden |= {"start_pick"}
        if chat is not None and not chat.can_toggle(chat.cursor):
            hidden |= {"chat_fold"}
        if "find" in scopes:  # the key closes the search first
            hidden |= {"stop"}
        if controller is not None and not (self.notice.is_cut_off or (running and controller.chat.openable)):
            hidden |= {"open_block"}
        actions = [action for action in self.actions if action.name not in hidden]
        self._runs_shell_line = is_shell_line(self.editor.text)
        words = _key_words(self, goes_back=goes_back)
        keys = footer(actions, scopes, running=running)
        keys = [key._replace(word=words.get(key.action, key.word)) for key in keys]
        if in_menu:
            keys = _menu_keys(self, keys)
        elif not running and (quits := self.key_of("copy_or_stop")):
            keys.append(KeyHint(f"{quits} {quits}", "quit", "quit"))
        self.footer.set_keys(keys)

    def report_error(self, name: str, error: BaseException) -> str:
        """Show an error, write it to the fault file for `/bug`, and return the notice."""
        if self.controller is not None:
            self.controller.faults.write(name, error)
        return super().report_error(name, error)

    def _fatal_error(self) -> None:
        """Exit without Textual's traceback, which would print local variables and thus possibly secrets."""
        self._close_messages_no_wait()

    # -- leaving ---------------------------------------------------------------------------------------------------

    def leave(self, reason: Literal["quit", "signal"] = "quit") -> None:
        """Close the session first, then the app."""
        if self.has_quit:  # A second request does not wait until the session is closed.
            self.exit(self.return_status)
            return
        self.has_quit = True
        self.run_worker(self._leave(reason), name="leave", exit_on_error=False)

    def leave_by_signal(self, number: int) -> None:
        """Quit quickly after SIGTERM or SIGHUP, with the exit status that shells expect."""
        if self.return_status:
            return
        self.return_status = 128 + number
        self.last_resort = schedule_forced_exit(self.return_status)
        if not self.has_quit:
            self.leave("signal")

    return_status = 0
    ended_jobs = 0
    """Number of background jobs that were running when the session was closed."""
    resumable_id = ""
    """Id of the session to resume after quitting; empty if there is none."""
    hangup: HangupWatch | None = None
    last_resort: threading.Timer | None = None

    async def _leave(self, reason: Literal["quit", "signal"]) -> None:
        if self.controller is not None:
            self.ended_jobs = len(self.controller.state.jobs) if self.controller.is_connected else 0
            closing = f"closing the session{' and its background jobs' if self.ended_jobs else ''}"
            self.set_status(StatusView("opening", "quitting", closing))
            with suppress(TimeoutError):
                # After a signal, the machine may be about to shut down. The engine closes the session by itself.
                async with asyncio.timeout(CLOSE_S if reason == "signal" else None):
                    await self.controller.sessions.close(reason)
            self.resumable_id = await asyncio.to_thread(
                session_to_resume, self.options, self.controller.folder
            )
        self.terminal.restore()
        if threading.current_thread() is threading.main_thread():
            release_signals()
        # Not after a signal: stopping may block on a terminal that is gone.
        if self.hangup is not None and reason != "signal":
            self.hangup.stop()
        self.exit(self.return_status)


def session_to_resume(options: SessionOptions, folder: Path | None) -> str:
    """Return the id of the session stored in `folder`; empty if the session has no messages or is a demo."""
    has_messages = folder is not None and is_session_stored(folder)
    return folder.name if folder is not None and has_messages and options.client != "demo" else ""


def run_app(options: SessionOptions, *, handle: EngineLink | None = None, choose: bool = False) -> int:
    """Run the app until the user quits; return the exit status.

    `handle`: the engine process for the first session, if it was already started. `choose`: True to open the session
    list first.
    """
    app = AgentApp(options, watch_themes=True)
    app.handle, app.choose = handle, choose
    return draw(app)


def run_in_browser(options: SessionOptions, *, handle: EngineLink) -> int:
    """Run the app in a browser page, connected through this process's standard input and output."""
    app = AgentApp(options, watch_themes=True)
    app.handle = handle
    return run_in_page(app)


def draw(app: AgentApp) -> int:
    """Run the app in the terminal until it quits, and return the exit status.

    Afterwards, print the last answer and the command that resumes the session. Raise the error if the app crashed.
    """
    status = app.run(mouse=app.first.mouse)
    data_dir = app.options.data_dir
    if app.last_resort is not None:
        app.last_resort.cancel()
    if app._exception is not None:
        folder = app.controller.folder if app.controller is not None else None
        print_farewell(farewell(session_to_resume(app.options, folder), "", data_dir=data_dir))
        raise app._exception
    answer = app.answer
    if answer:
        render = import_module("tui_agent.tui.transcript.markdown_stream").markdown_text
        answer = render(answer, app.looks, shutil.get_terminal_size().columns)
    is_demo = app.options.client == "demo"
    words = farewell(app.resumable_id, answer, data_dir=data_dir, jobs=app.ended_jobs, is_demo=is_demo)
    if not app.then and not print_farewell(words):
        return HANGUP_STATUS
    if app.then:
        return subprocess.call([sys.executable, "-P", "-m", "tui_agent", *app.then])
    return status if status is not None else 1


def _menu_keys(app: AgentApp, keys: list[KeyHint]) -> list[KeyHint]:
    """Return the footer's keys while the prompt's menu is open, with the words for what they do now."""
    menu = app.prompt.menu
    candidate = menu.candidate
    if candidate is None:
        useful = ("choose", "close_menu") if menu.candidates else ("close_menu",)
        return [key for key in keys if key.action in useful]
    if candidate.needs_whole_word or (candidate.dimmed and candidate.runs):
        return [key for key in keys if key.action != "accept"]
    word = "send" if menu.is_mention_complete(app.editor) else "" if menu.runs else "insert"
    return [key._replace(word=word) if word and key.action == "accept" else key for key in keys]


def _key_words(app: AgentApp, *, goes_back: bool) -> dict[str, str]:
    """Return the footer's words for actions that now do something else than usual, by the action's name.

    Example: `{"send": "run"}` while the prompt contains a shell command.

    `goes_back`: True if Enter puts the edited message back into the queue.
    """
    words = {"send": "run"} if is_shell_line(app.editor.text) else {}
    if app.controller is None:
        return words
    if goes_back:
        words = {"send": "queue again", "steer": "queue again"}
    elif app.controller.questions.enter_answers(app.editor.text):
        words = {"send": "answer", "steer": "answer"}
    chat = app.controller.chat
    opens_other = app.notice.is_cut_off or app.editor.nearest_paste is not None
    opens_block = app.controller.is_running and not opens_other  # Idle, the key bar does not show this key.
    if opens_block and chat.widget is not None and not chat.widget.has_more(chat.openable):
        words["open_block"] = "fold"
    return words
