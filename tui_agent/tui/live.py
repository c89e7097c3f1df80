"""L7: the app's second half: the session, its views, and everything that knows the protocol.

Invariant: imported once, after the first paint (`app` names it; nothing else imports it before). It submits commands
and hands views on; what the screen looks like is the panes' matter.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from textual.worker import Worker

from tui_agent.config.options import SessionOptions
from tui_agent.config.settings import Config
from tui_agent.errors import TuiAgentError
from tui_agent.folds.session_view import SessionStateView
from tui_agent.folds.views import Views
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Close, Command, Interrupt, SetPolicy
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.actions import BY_NAME
from tui_agent.tui.asking import Asking
from tui_agent.tui.beginning import Beginning, configure, watch_themes
from tui_agent.tui.chat import Chat
from tui_agent.tui.defaults import Defaults
from tui_agent.tui.frames import Frames
from tui_agent.tui.handlers.table import HANDLERS
from tui_agent.tui.keeping import Keeping, stored
from tui_agent.tui.outside import Ask, command_line
from tui_agent.tui.panes.base import Intent
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.prompt.box import Prompt
from tui_agent.tui.pump import Pump
from tui_agent.tui.reading import Reading
from tui_agent.tui.rewinding import Rewinding
from tui_agent.tui.sending import Sending

if TYPE_CHECKING:
    from tui_agent.tui.app import AgentApp

BEAT_S = 0.5
TWICE_S = 0.6
"""Within so many seconds a second Esc means both."""
LONG = 3_000
"""Events from which on a session's end is shown before the whole of it is folded."""
GLIMPSE = 300
"""Records that the first look at a long session is folded from."""


class OpenedSession(Protocol):
    """What an engine says when it holds the session."""

    session: str
    folder: str
    last_seq: int
    new: bool


class Trouble(Protocol):
    """What could not be stored, told beside the log."""

    message: str
    hint: str


class HeldSession(Protocol):
    """What an engine says when it has the session's lock."""

    last_seq: int


class AppSession(Session, Protocol):
    """A session as the app drives it: opened once, served in the background."""

    @property
    def closed(self) -> bool:
        """Its engine is gone; nothing new comes."""
        ...

    @property
    def trouble(self) -> Trouble | None:
        """The newest thing that the engine could not store."""
        ...

    async def opened(self) -> OpenedSession:
        """Wait until it is open. Raises what kept it from that."""
        ...

    async def held(self) -> HeldSession | None:
        """Wait until its log can be read; None when it cannot be opened."""
        ...

    async def tail(self, count: int) -> Sequence[Record]:
        """The newest records as it was opened, at most `count`."""
        ...

    async def serve(self) -> None:
        """Move commands and records until it ends."""
        ...


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
        self.opening = True
        """A session is being opened, the first or another: what is sent waits for it."""
        self.chat = Chat(app, self)
        self.asking = Asking(app, self)
        self.frames = Frames(self)
        self.keeping = Keeping(self)
        self.reading = Reading(self)
        self.rewinding: Rewinding = Rewinding(self)
        self.sending = Sending(self)
        self.beginning = Beginning(self)
        self.defaults = Defaults(self)
        self._escaped_at = 0.0
        self.halted_at = -2
        """The newest event when the engine could not store the next one: its turn has stopped there."""
        self.seen_seq = -1
        """What stood in the log when it was opened: nothing of it is news."""

    # -- opening and closing ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read the configuration, open the session, and stay."""
        configure(self)
        await self.chat.mount()
        self.beginning.early()
        self.worker(self.beginning.look(), "start page")
        self.app.set_interval(BEAT_S, self.frames.beat)
        if self.app.watch_themes:
            self.worker(watch_themes(self), "themes")
        await self.open(self.app.options)

    async def open(self, options: SessionOptions) -> bool:
        """Open a session in place of the present one; False where it could not be opened.

        What is sent meanwhile goes to the new one; where there is none, back into the prompt.
        """
        self.opening = True
        try:
            fault = await self._open(options)
        except BaseException:
            self._unsent()
            raise
        finally:
            self.opening = False
        if fault is not None:
            self._not_open(fault)
            return False
        self.keeping.take_draft()
        self.beginning.show()
        self._send_waiting()
        return True

    def go_to(self, work: Coroutine[object, object, object], name: str) -> None:
        """Open another session beside the screen; from now on what is sent is meant for that one."""
        self.opening = True
        self.app.status.set_view(StatusView("opening", "opening", "another session"), self.app.clock())
        self.worker(work, name)

    async def _open(self, options: SessionOptions) -> TuiAgentError | None:
        if self.config is None:
            configure(self)
        spawn = self.app.spawn or _spawn_remote(self)
        session = spawn(options)
        self.app.run_worker(session.serve(), name="serve", group="session", exit_on_error=False)
        await self._glimpse(session)
        try:
            opened = await session.opened()
        except TuiAgentError as fault:
            await session.aclose()
            return fault
        await self._let_go("switched")
        self.session, self.views, self.sending.under_way = session, Views(), False
        self.folder = Path(opened.folder)
        self.app.session_id = session.id
        self.seen_seq = opened.last_seq
        await self.chat.begin(self.views)
        self.pump = Pump(
            session.follow,
            self.views,
            self.frames.show,
            quiet_until=opened.last_seq,
            begun_again=self._begun_again,
        )
        self.app.run_worker(self._follow(self.pump), name="pump", group="session", exit_on_error=False)
        await self.pump.reached(opened.last_seq)
        return None

    async def _begun_again(self) -> None:
        """The session went back or forth: everything is shown as it is there."""
        await self.chat.begin(self.views)
        self.frames.show_all()

    async def _glimpse(self, session: AppSession) -> None:
        """The end of a long session, at the first start, before its engine has it; taken away where it never does."""
        held = await session.held()
        if held is not None and held.last_seq >= LONG and self.session is None:
            await self.chat.begin(self.views)
            await self.chat.glimpse(await session.tail(GLIMPSE))

    async def _follow(self, pump: Pump) -> None:
        """Show the session until it ends; an end that nobody asked for is said."""
        await pump.run()
        if self.pump is pump and not self.app.left:
            self.frames.show_status()
            self.app.say(
                "The engine's process ended. What was recorded is kept. "
                "Your next message opens the session again; /new starts another.",
                "error",
            )

    async def reopen(self) -> None:
        """The same session in a new engine process."""
        self.opening = True
        kept = await asyncio.to_thread(stored, self.folder)
        session_id = self.session.id if self.session is not None and kept else None
        options = self.same_settings()
        await self._let_go("switched")
        await self.open(replace(options, session=session_id))

    def same_settings(self) -> SessionOptions:
        """What opens a session with the settings of this one; a model that cannot be used is looked for again."""
        options = replace(self.app.options, session=None, continue_latest=False, prompt=None)
        settings = self.state.settings
        if settings is None:
            return options
        options = replace(options, policy=settings.policy, agent=settings.agent)
        if not settings.model.model:
            return options
        return replace(
            options,
            model=settings.model.profile or settings.model.model,
            base_url=settings.model.base_url or None,
            effort=settings.model.effort,
        )

    def _not_open(self, fault: TuiAgentError) -> None:
        self.chat.end_glimpse()
        self._unsent()
        if self.session is not None:
            self.frames.show_status()
        else:
            way = "/sessions or /new opens another" if self.config else "correct the configuration, then /new"
            self.app.status.set_view(
                StatusView("failed", "no session", fault.message, note=way), self.app.clock()
            )
            self.beginning.not_open(str(fault))
        self.app.say(str(fault), "error")

    def _unsent(self) -> None:
        """What waited for a session goes back into the prompt."""
        waiting, self.app.waiting_intents = self.app.waiting_intents, []
        if messages := [one for one in waiting if isinstance(one, Prompt.Sent)]:
            self.app.prompt.give_back(messages)

    async def _let_go(self, reason: str) -> None:
        session, pump = self.session, self.pump
        self.session = self.pump = None
        if pump is not None:
            pump.close()
        if session is not None:
            session.submit(
                Close(
                    reason="switched" if reason == "switched" else "signal" if reason == "signal" else "quit"
                )
            )
            await session.aclose()

    async def close(self, reason: str) -> None:
        """Keep what was typed, let go of the session."""
        self.keeping.save_draft()
        self.app.answer = await self.reading.last_answer()
        await self._let_go(reason)

    def _send_waiting(self) -> None:
        app = self.app
        first, app.first_prompt = app.first_prompt, ""
        waiting, app.waiting_intents = app.waiting_intents, []
        if first:
            waiting.insert(0, Prompt.Sent(first, "send"))
        if not self.has_model:
            waiting = self.sending.held_back(waiting)
        for one in waiting:
            if self.opening:  # one of them opens another session: the rest is meant for that one
                app.waiting_intents.append(one)
            elif isinstance(one, Prompt.Sent):
                self.sending.sent(one)
            elif isinstance(one, Intent):
                self.act(one.name, one.argument)

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionStateView:
        """The session's state."""
        return self.views.state.view()

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
        handler = HANDLERS.get(name)
        if handler is None:
            return
        action = BY_NAME.get(name)
        if action is not None and action.ground and self.running:
            said = action.slash or action.shown
            what = "Your command" if self.state.shell is not None else "A turn"
            self.app.say(f"{what} is running. {said} can be used after it; Esc stops it.", "warning")
            return
        handler(self, argument.strip())

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
        if name in POLICIES:
            self.submit(SetPolicy(policy=name))

    # -- work beside the screen ------------------------------------------------------------------------------------

    def worker(self, work: object, name: str) -> "Worker[object]":
        """Run a coroutine beside the screen; a fault in it is said, not thrown."""
        return self.app.run_worker(work, name=name, exit_on_error=False)  # type: ignore[arg-type]


def _spawn_remote(live: Live) -> Callable[[SessionOptions], AppSession]:
    remote = import_module("tui_agent.session.remote").RemoteSession

    def spawn(options: SessionOptions) -> AppSession:
        handle, live.app.handle = live.app.handle, None
        named = None
        if options.session and live.config is not None:
            named = live.config.data_dir / "sessions" / options.session
        opened = remote(handle, named=named) if handle is not None else remote.spawn(options, named=named)
        return cast(AppSession, opened)

    return spawn
