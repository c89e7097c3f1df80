"""Opening sessions and letting go of them: the first one, another one, the same one in a new engine.

Invariant: what is sent while a session opens goes to that session, in the order in which it was sent; where the session
cannot be opened it returns to the prompt. Nothing that was typed is lost.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import is_session_stored
from tui_agent.errors import SessionLocked, TuiAgentError
from tui_agent.folds.session.cached_views import begun
from tui_agent.folds.views import Views
from tui_agent.ports.session import AppSession, HeldSession
from tui_agent.protocol.commands import Close
from tui_agent.tui.actions import BY_NAME, BY_SLASH
from tui_agent.tui.controller.background_fold import BackgroundFold
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.controller.pump import Pump
from tui_agent.tui.controller.read_only import offer_to_look_on
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.prompt.box import Prompt
from tui_agent.tui.widgets.line_pane import Intent

AS_RECORDED: Final = dict.fromkeys(
    ("model", "base_url", "effort", "policy", "agent", "context_mode", "repo_map", "investigator_profile")
)
"""What this program was started with counts for the session that it began with, and for those that follow with /new."""
LONG = 3_000
"""Events from which on a session's end is shown before the whole of it is folded."""
GLIMPSE = 300
"""Records that the first look at a long session is folded from."""
VERY_LONG = 20_000
"""Events from which on a session is used while the whole of it is still folded."""


class SessionSwitcher:
    """One app's way from session to session."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._whole: BackgroundFold | None = None
        self.under_way = True
        """A session is being opened, the first or another: what is sent waits for it."""

    async def open(self, options: SessionOptions) -> bool:
        """Open a session in place of the present one; False where it could not be opened.

        What is sent meanwhile goes to the new one; where there is none, back into the prompt.
        """
        self.under_way = True
        try:
            fault = await self._open(options)
        except BaseException:
            self._unsent()
            raise
        finally:
            self.under_way = False
        if fault is not None:
            self._not_open(fault)
            if isinstance(fault, SessionLocked):
                self._host.worker(offer_to_look_on(self._host, options, fault), "look on")
            return False
        self._host.drafts.take_draft()
        self._host.start_page.show()
        if not self._send_waiting():
            self._host.questions.ask_again()
        return True

    def go_to(self, work: Coroutine[object, object, object], name: str) -> None:
        """Open another session beside the screen; from now on what is sent is meant for that one."""
        self.under_way = True
        self._host.frame.status.set_view(
            StatusView("opening", "opening", "another session"), self._host.app.clock()
        )
        self._host.worker(work, name)

    def stay(self) -> None:
        """The session that is open stays: what waited for another goes to it."""
        self.under_way = False
        self._host.panes.show_status()
        self._send_waiting()

    def options_of(self, session_id: str) -> SessionOptions:
        """What opens another session that is there: with the settings that it was recorded with."""
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
            self._host.configure()
        spawn = self._host.app.spawn or _spawn_remote(self._host)
        session = spawn(options)
        self._host.frame.run_worker(session.serve(), name="serve", group="session", exit_on_error=False)
        first, whole = await self._glimpse(session)
        try:
            opened = await session.opened()
        except TuiAgentError as fault:
            if whole is not None:
                whole.close()
            await session.aclose()
            return fault
        first = first or await self._begun(session, opened)
        await self._let_go("switched")
        self._whole = whole
        self._host.session, self._host.submitter.under_way = session, False
        self._host.folder = Path(opened.folder)
        self._host.app.session_id = session.id
        self._host.seen_seq = opened.last_seq
        await self._show(session, opened.last_seq, first)
        return None

    async def _show(self, session: AppSession, last_seq: int, first: Views | None) -> None:
        """Show the session up to this event: from the views to begin with, where there are any."""
        host, whole = self._host, self._whole
        host.faults.begin()
        host.views = first or Views()
        pump = whole.adopt() if first is None and whole is not None else None
        await host.chat.begin(host.views)
        host.pump = pump or self._pump(session, last_seq, host.views)
        host.panes.show_strip(host.views)  # a session that begins has no event that changes them
        if first is not None:
            host.panes.show_all()
            self._whole = whole or BackgroundFold(host, session, last_seq)
            self._whole.look()
        await host.pump.reached(last_seq)

    def _pump(self, session: AppSession, last_seq: int, views: Views) -> Pump:
        host = self._host
        pump = Pump(
            session.follow,
            views,
            host.panes.show,
            quiet_until=last_seq,
            begun_again=self.begun_again,
            after=views.seq,
        )
        pump.broke = host.faults.tell
        host.frame.run_worker(self.follow(pump), name="pump", group="session", exit_on_error=False)
        return pump

    async def begun_again(self) -> None:
        """The session went back or forth: everything is shown as it is there."""
        await self._host.chat.begin(self._host.views)
        self._host.panes.show_all()

    async def _glimpse(self, session: AppSession) -> tuple[Views | None, BackgroundFold | None]:
        """The end of a long session, at the first start, before its engine has it; taken away where it never does.

        Gives the views to begin with where a fold of it was kept, and of a very long one the whole, on its way.
        """
        held = await session.held()
        if held is None or held.last_seq < LONG or self._host.session is not None:
            return None, None
        await self._host.chat.begin(self._host.views)
        await self._host.chat.glimpse(await session.tail(GLIMPSE))
        first = await self._begun(session, held)
        if first is not None:
            self._host.panes.show_figures(first)
        return first, BackgroundFold(
            self._host, session, held.last_seq
        ) if held.last_seq >= VERY_LONG else None

    async def _begun(self, session: AppSession, held: HeldSession) -> Views | None:
        """The views of a very long session to begin with, while the whole of it is folded."""
        if held.last_seq < VERY_LONG:
            return None
        kept = await session.kept()
        return None if kept is None else begun(kept[1], kept[0], await session.tail(GLIMPSE))

    @property
    def older(self) -> str:
        """`reading the older 96 %`, while of a very long session only the newest part is known."""
        older = self._whole.older if self._whole is not None else 0
        return f"reading the older {older} %" if older else ""

    async def known(self) -> None:
        """Return once all of the session is known."""
        if self._whole is not None:
            await self._whole.known()

    def _leave_whole(self) -> None:
        whole, self._whole = self._whole, None
        if whole is not None:
            whole.close()

    async def follow(self, pump: Pump) -> None:
        """Show the session until it ends; an end that nobody asked for is said."""
        await pump.run()
        if self._host.pump is pump and not self._host.app.left:
            self._host.panes.show_status()
            self._host.frame.header.set_views(self._host.state, self._host.views.meter.view())
            self._host.app.say(
                "The engine's process ended. What was recorded is kept. "
                "Your next message opens the session again; /new starts another.",
                "error",
            )

    async def reopen(self) -> None:
        """The same session in a new engine process."""
        self.under_way = True
        kept = await asyncio.to_thread(is_session_stored, self._host.folder)
        session_id = self._host.session.id if self._host.session is not None and kept else None
        options = self.same_settings()
        await self._let_go("switched")
        await self.open(replace(options, session=session_id))

    def same_settings(self) -> SessionOptions:
        """What opens a session with the settings of this one; a model that cannot be used is looked for again."""
        options = replace(
            self._host.app.options, session=None, continue_latest=False, carry_from=None, prompt=None
        )
        settings = self._host.state.settings
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
        self._host.chat.end_glimpse()
        self._unsent()
        stands = False
        if self._host.session is not None:
            self._host.panes.show_status()
        else:
            way = (
                "/sessions or /new opens another"
                if self._host.config
                else "correct the configuration, then /new"
            )
            self._host.frame.status.set_view(
                StatusView("failed", "no session", fault.message, note=way), self._host.app.clock()
            )
            stands = self._host.start_page.not_open(str(fault))
        if not stands:
            self._host.app.say(str(fault), "error")

    def _unsent(self) -> None:
        """What waited for a session goes back into the prompt."""
        waiting, self._host.app.waiting_intents = self._host.app.waiting_intents, []
        if messages := [one for one in waiting if isinstance(one, Prompt.Sent)]:
            self._host.frame.prompt.give_back(messages)

    async def _let_go(self, reason: str) -> None:
        session, pump = self._host.session, self._host.pump
        self._host.session = self._host.pump = None
        self._leave_whole()
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
        self._host.drafts.save_draft()
        self._host.app.answer = await self._host.reader.last_answer()
        await self._let_go(reason)

    def _send_waiting(self) -> bool:
        """Send what waited for the session; whether something was begun with it."""
        app = self._host.app
        first, app.first_prompt = app.first_prompt, ""
        waiting, app.waiting_intents = app.waiting_intents, []
        if first:
            waiting.insert(0, Prompt.Sent(first, "send"))
        if not self._host.has_model:
            waiting = self._host.submitter.held_back(waiting)
        for one in waiting:
            if self.under_way:  # one of them opens another session: the rest is meant for that one
                app.waiting_intents.append(one)
            elif isinstance(one, Prompt.Sent):
                self._host.submitter.sent(one)
            elif isinstance(one, Intent):
                self._host.act(one.name, one.argument)
        return self.under_way or any(map(_begins, waiting))


def _begins(one: Intent | Prompt.Sent) -> bool:
    """Whether it is a message, a command line, or an action that no turn may run beside."""
    if isinstance(one, Intent):
        action = BY_NAME.get(one.name)
    else:
        action = BY_SLASH.get(one.text.strip().split(" ")[0])
    return isinstance(one, Prompt.Sent) if action is None else action.ground


def _spawn_remote(host: SessionHost) -> Callable[[SessionOptions], AppSession]:
    remote = import_module("tui_agent.session.remote").RemoteSession

    def spawn(options: SessionOptions) -> AppSession:
        handle, host.app.handle = host.app.handle, None
        named = None
        if options.session and host.config is not None:
            named = host.config.data_dir / "sessions" / options.session
        opened = remote(handle, named=named) if handle is not None else remote.spawn(options, named=named)
        return cast(AppSession, opened)

    return spawn
