"""Opens and closes sessions: the first session, another session, or the open session in a new engine process.

Invariant: messages sent while a session opens reach that session in order, or return to the prompt.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final, Literal, cast

from tui_agent.config.paths import is_session_stored
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionLocked, TuiAgentError
from tui_agent.folds.screen_folds import Views
from tui_agent.ports.session import AppSession
from tui_agent.protocol.commands import Close
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.controller.background_fold import BackgroundFold
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.event_pump import Pump
from tui_agent.tui.controller.startup import configure
from tui_agent.tui.keys_and_commands import BY_NAME, TYPED
from tui_agent.tui.modals.confirm import LeaveQuestion, describe_running_work
from tui_agent.tui.panes.status_line import StatusView
from tui_agent.tui.prompt.prompt import Prompt
from tui_agent.tui.screens.replay.live_log import open_live_replay
from tui_agent.tui.widgets.lists import Intent
from tui_agent.units import format_percent

AS_RECORDED: Final = dict.fromkeys(
    ("model", "base_url", "effort", "policy", "agent", "context_mode", "repo_map", "investigator_profile")
)
"""Options for opening an existing session. They are None, so that the values recorded in its log are used."""
LONG_SESSION_EVENTS = 3_000
"""In a session with at least this many events, the end is shown before the rest is read."""
PREVIEW_RECORDS = 300
"""Number of records in the preview of a long session's end."""
VERY_LONG_SESSION_EVENTS = 20_000
"""A session with at least this many events can be used before all of its events are read."""
THIS_SESSION = "this session again"


class SessionSwitcher:
    """Opens sessions in one app, one after the other."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._background_fold: BackgroundFold | None = None
        self.under_way = True
        """True while a session is being opened; new messages wait."""
        self._is_lost = False
        """True if the session could not be reopened after its engine ended."""
        self._locked: tuple[SessionOptions, Path] | None = None
        """Options and folder of a session that another process has locked. The user can watch it from the start page."""

    async def open(self, options: SessionOptions, *, with_draft: bool = False) -> bool:
        """Close the open session and open another one; return False if the other session could not be opened.

        `with_draft`: True to take the unsent message along.
        """
        self.under_way = True
        if not await self._may_leave():
            self.stay()
            return False
        try:
            fault = await self._open(options)
        except BaseException:  # also when cancelled
            self._host.app.return_unsent()
            raise
        finally:
            self.under_way = False
        if fault is not None:
            self._say_not_open(fault)
            if isinstance(fault, SessionLocked) and self._host.start_page.is_shown:
                self._host.worker(self._offer_watching(options), "watch")
            return False
        self._host.choices.begin_session()
        self._host.drafts.restore_draft(moves_unsent=with_draft)
        self._host.start_page.show()
        if not self._send_waiting():
            self._host.questions.ask_again()
        return True

    @property
    def must_reopen(self) -> bool:
        """True if the session on the screen has no engine; the next message opens it again."""
        session = self._host.session
        return self._is_lost if session is None else session.is_closed

    async def _may_leave(self) -> bool:
        """Return True if no work is running, or if the user agrees to stop the work."""
        work = describe_running_work(self._host) if self._host.session is not None else ""
        return not work or await self._host.app.push_screen_wait(LeaveQuestion(work))

    def go_to(self, work: Coroutine[object, object, object], name: str) -> None:
        """Run `work`, a coroutine that finds or opens another session, in the background.

        `name`: name of the background task, which also selects the progress text.
        """
        self.under_way = True
        if name == "session":
            _show_progress(self._host, "searching", "the sessions")
        else:
            session = {"reopen": THIS_SESSION, "new": "a new session"}.get(name, "another session")
            _show_progress(self._host, "opening", session)
        self._host.worker(work, name)

    def stay(self) -> None:
        """Keep the open session, and send it the waiting messages."""
        self.under_way = False
        self._host.panes.show_status()
        self._send_waiting()

    def options_for(self, session_id: str) -> SessionOptions:
        """Return options that open an existing session with its recorded settings."""
        return replace(
            self._host.app.options,
            session=session_id,
            continue_latest=False,
            carry_from=None,
            prompt=None,
            cwd_given=False,
            **AS_RECORDED,  # type: ignore[arg-type]
        )

    async def _open(self, options: SessionOptions) -> TuiAgentError | None:
        if self._host.config is None:
            configure(self._host)
        spawn = self._host.app.spawn or _spawn_remote(self._host)
        session = spawn(options)
        self._host.app.run_worker(session.serve(), name="serve", group="session", exit_on_error=False)
        first, background_fold = await self._show_end(session)
        try:
            opened = await session.wait_until_open()
        except TuiAgentError as fault:
            if background_fold is not None:
                background_fold.close()
            await session.aclose()
            return fault
        first = first or await self._views_of_end(session, opened.last_seq)
        # Only now: if the new session cannot be opened, the old one stays.
        await self._close_session("switched")
        self._background_fold, self._is_lost = background_fold, False
        self._host.session, self._host.submitter.under_way = session, False
        self._host.folder = Path(opened.folder)
        self._host.app.session_id = session.id
        self._host.seen_seq = opened.last_seq
        await self._show(session, opened.last_seq, first)
        return None

    async def _show(self, session: AppSession, last_seq: int, first: Views | None) -> None:
        """Show the session up to event `last_seq`.

        `first`: views of the session's end, shown until the whole session is read.
        """
        host, background_fold = self._host, self._background_fold
        host.forget_session()
        host.views = first or Views()
        pump = background_fold.adopt() if first is None and background_fold is not None else None
        await host.chat.begin()
        if pump is None:
            pump = Pump(
                session.follow,
                host.views,
                host.panes.show,
                show_from_seq=last_seq,
                branch_changed=self.show_branch,
                after=host.views.seq,
            )
            self.start(pump)
        host.pump = pump
        host.panes.show_strip(host.views)  # A new session has no event that would update the strip.
        if first is not None:
            host.panes.show_all()
            self._background_fold = background_fold or BackgroundFold(host, session, last_seq)
            self._background_fold.replace_if_ready()
        await host.pump.wait_until_shown(last_seq)

    async def show_branch(self) -> None:
        """Redraw the transcript and all panes after an undo or a redo, because they show another branch now."""
        await self._host.chat.begin()
        self._host.panes.show_all()

    async def _show_end(self, session: AppSession) -> tuple[Views | None, BackgroundFold | None]:
        """Show the end of a long session at the app's start, before the engine has loaded the session.

        Return the views of the end, and the background task that builds the views of the whole session. Both are None
        if the session is short. In a long session, the first is None if no session state is cached, and the second if
        the session is not very long.
        """
        stored = await session.wait_until_readable()
        if stored is None or stored.last_seq < LONG_SESSION_EVENTS or self._host.session is not None:
            return None, None
        await self._host.chat.begin()
        await self._host.chat.show_preview(await session.read_newest(PREVIEW_RECORDS))
        first = await self._views_of_end(session, stored.last_seq)
        if first is not None:
            self._host.panes.show_figures(first)
        background_fold = (
            BackgroundFold(self._host, session, stored.last_seq)
            if stored.last_seq >= VERY_LONG_SESSION_EVENTS
            else None
        )
        return first, background_fold

    async def _views_of_end(self, session: AppSession, last_seq: int) -> Views | None:
        """Return views of the end of a very long session.

        Return None if the session is not very long, or if no session state is cached.
        """
        if last_seq < VERY_LONG_SESSION_EVENTS:
            return None
        cached = await session.load_outline()
        return (
            None
            if cached is None
            else Views.restore(cached[1], cached[0], await session.read_newest(PREVIEW_RECORDS))
        )

    @property
    def load_progress(self) -> str:
        """The text `loading the earlier part, 96 % left` while a long session loads; otherwise empty."""
        percent = self._background_fold.percent_left if self._background_fold is not None else 0
        return f"loading the earlier part, {format_percent(percent / 100)} left" if percent else ""

    async def wait_until_loaded(self) -> None:
        """Wait until the whole session is read and shown."""
        if self._background_fold is not None:
            await self._background_fold.wait_until_loaded()

    def start(self, pump: Pump) -> None:
        """Run a pump of the open session in the background."""
        pump.report_error = self._host.faults.report
        self._host.app.run_worker(self._follow(pump), name="pump", group="session", exit_on_error=False)

    async def _follow(self, pump: Pump) -> None:
        await pump.run()
        # With another pump, or while the app quits, this session was closed on purpose.
        if self._host.pump is pump and not self._host.app.has_quit:
            failure = self._host.session.failure if self._host.session is not None else None
            reason = "" if failure is None else f"{failure.message} "
            suspects = _plugins_at_work(self._host.views)
            self._host.views.end_open_work()
            self._host.panes.show_all()
            self._host.app.say(
                f"The engine stopped{suspects}. {reason}The session is saved. "
                "Send a message to open the session again, or /new to start another.",
                "error",
                stays=True,
            )

    async def reopen(self, model: str = "", base_url: str = "") -> bool:
        """Open the current session again in a new engine process; return False if the session could not be opened.

        `model`: the model to switch to, if any. `base_url`: the URL to use; `""` for the model's own URL.
        """
        self.under_way = True
        _show_progress(self._host, "opening", THIS_SESSION)
        is_stored = await asyncio.to_thread(is_session_stored, self._host.folder)
        session_id = self._host.app.session_id if is_stored else None
        options = replace(self.same_settings(), session=session_id)
        if (settings := self._host.state.settings) is not None:
            options = replace(options, policy=settings.policy)
        if model:
            options = replace(options, model=model, base_url=base_url or None)
        # First, because the log of a session has only one writer at a time.
        await self._close_session("switched")
        self._is_lost = True
        return await self.open(options)

    def same_settings(self) -> SessionOptions:
        """Return options for a new session with the folder, the agent and the model of the open session."""
        options = replace(
            self._host.app.options,
            session=None,
            continue_latest=False,
            carry_from=None,
            prompt=None,
            cwd=Path(self._host.work_folder),
            policy=self._host.choices.tried_policy or self._host.app.options.policy,
        )
        settings = self._host.state.settings
        if settings is None:
            return options
        options = replace(options, agent=settings.agent)
        if not settings.model.model:
            return options
        return replace(
            options,
            model=settings.model.profile or settings.model.model,
            base_url=settings.model.base_url or None,
            effort=settings.model.effort,
        )

    def _say_not_open(self, fault: TuiAgentError) -> None:
        self._host.chat.remove_preview()
        self._host.start_page.expect_model("")
        self._host.app.return_unsent()
        is_locked, is_on_page = isinstance(fault, SessionLocked), False
        if self._host.session is not None or self._is_lost:
            self._host.panes.show_all()  # Also the policy, because the user may have chosen one for the other session.
        else:
            has_config = self._host.config is not None
            hint = "/sessions or /new opens another" if has_config else "fix the configuration, then /new"
            detail = fault.message if self._host.chat.is_transcript_shown else ""  # The start page shows it.
            self._host.app.set_status(StatusView("failed", "no session", detail, note=hint))
            text = f"{fault.message} Close it there first." if is_locked else str(fault)
            is_on_page = self._host.start_page.show_fault(text)
        if not is_on_page:
            key = self._host.app.key_of("sessions_replay")
            remedy = f"Close it there first, or choose it in /sessions and press {key} to watch it."
            # The error's own hint is for the command line: it names a program to start.
            self._host.app.say(f"{fault.message} {remedy}" if is_locked else str(fault), "error")

    async def _offer_watching(self, options: SessionOptions) -> None:
        """Offer to watch a session that another process has locked."""
        folder = await _find_folder(self._host, options)
        if folder is not None and not self.under_way and self._host.session is None:
            self._locked = options, folder
            self._host.start_page.offer_watching()

    def watch(self) -> None:
        """Show, read-only, the session that could not be opened because another process writes it."""
        if self._locked is None:
            return
        options, folder = self._locked

        async def open_if_free() -> None:
            """Open the session that was being watched.

            Do nothing if another process has the session open, or if this app has opened or is opening a session.
            """
            if (
                await _find_folder(self._host, options) is None
                and self._host.session is None
                and not self.under_way
            ):
                self.go_to(self.open(options), "reopen")

        def stop_watching() -> None:
            self._host.worker(open_if_free(), "open")

        open_live_replay(self._host, folder, closed=stop_watching)

    async def _close_session(self, reason: Literal["switched", "signal", "quit"]) -> None:
        session, pump, background_fold = self._host.session, self._host.pump, self._background_fold
        self._host.session = self._host.pump = self._background_fold = None
        if background_fold is not None:
            background_fold.close()
        if pump is not None:
            pump.close()
        if session is not None:
            session.submit(Close(reason=reason))
            await session.aclose()

    async def close(self, reason: Literal["signal", "quit"]) -> None:
        """Save the unsent message, and close the session."""
        self._host.drafts.save_draft()
        self._host.app.answer = await self._host.reader.last_answer()
        await self._close_session(reason)

    def _send_waiting(self) -> bool:
        """Send everything that waited for the session. Return True if a turn or a shell command starts."""
        app = self._host.app
        first, app.first_prompt = app.first_prompt, ""
        waiting, app.waiting_intents = app.waiting_intents, []
        if first:
            waiting.insert(0, Prompt.Submitted(first, "send"))
        if not self._host.has_model:
            waiting = self._host.submitter.return_to_prompt(waiting)
        for item in waiting:
            # An earlier item opens another session, so the remaining items are meant for that one.
            if self.under_way:
                app.waiting_intents.append(item)
            elif isinstance(item, Prompt.Submitted):
                self._host.submitter.send(item)
            else:
                self._host.act(item.name, item.argument)
        return self.under_way or any(map(_starts_work, waiting))


def _starts_work(item: Intent | Prompt.Submitted) -> bool:
    """Return True for a message, a shell line, or an action that must not run during a turn."""
    if isinstance(item, Intent):
        action = BY_NAME.get(item.name)
    else:
        action, _ = TYPED.get(item.text.strip().split(" ")[0], (None, ""))
    return isinstance(item, Prompt.Submitted) if action is None else action.ground


async def _find_folder(host: SessionHost, options: SessionOptions) -> Path | None:
    """Return the folder of the session to open if a process already has this session open, otherwise None.

    If the options name no session, look for any open session of the work folder.
    """
    words = [f"--id={options.session}", "--all"] if options.session else ["-C", str(options.cwd)]
    _, output = await host.ask("sessions", "list", *words, "--json")
    path = next((text_of(row, "path") for row in json_rows(output) if row.get("open")), "")
    is_stored = bool(path) and await asyncio.to_thread(lambda: is_session_stored(Path(path)))
    return Path(path) if is_stored else None


def _show_progress(host: SessionHost, verb: str, subject: str) -> None:
    host.app.set_status(StatusView("opening", verb, subject))
    host.app.show_keys()


def _spawn_remote(host: SessionHost) -> Callable[[SessionOptions], AppSession]:
    remote = import_module("tui_agent.session.remote_session").RemoteSession

    def spawn(options: SessionOptions) -> AppSession:
        handle, host.app.handle = host.app.handle, None
        folder = None
        if options.session and host.config is not None:
            folder = host.config.data_dir / "sessions" / options.session
        opened = remote(handle, named=folder) if handle is not None else remote.spawn(options, named=folder)
        return cast(AppSession, opened)

    return spawn


def _plugins_at_work(views: Views) -> str:
    """Return a clause that names the running plugin tools and the command to disable a plugin; empty if none runs."""
    running = {call.name for call in views.state.view().open_calls if call.started}
    owners = {
        offer.removeprefix("tool:"): event.plugin
        for event in views.plugins.values()
        if isinstance(event, PluginLoaded) and event.source != "bundled"
        for offer in event.contributions
    }
    suspects = {name: owners[name] for name in sorted(running & owners.keys())}
    if not suspects:
        return ""
    tools = ", ".join(f"{name} (plugin {owner})" for name, owner in suspects.items())
    return f" while {tools} was running (to disable the plugin: /plugins disable {min(suspects.values())})"
