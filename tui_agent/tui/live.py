"""L7: the app's second half: the session, its views, and everything that knows the protocol.

Invariant: imported once, after the first paint (`app` names it; nothing else imports it before). It submits commands
and hands views on; what the screen looks like is the panes' matter.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from textual.worker import Worker

from tui_agent.config import layers
from tui_agent.config.options import SessionOptions
from tui_agent.config.settings import Config
from tui_agent.errors import BlobMissing, TuiAgentError
from tui_agent.folds.entries import AnswerEntry
from tui_agent.folds.session_view import SessionStateView
from tui_agent.ports.session import Session
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.commands import (
    Attachment,
    Close,
    Command,
    Interrupt,
    Queue,
    RunUserShell,
    SetPolicy,
    Steer,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.settings import EFFORTS, POLICIES
from tui_agent.tui import units
from tui_agent.tui.actions import BY_NAME, BY_SLASH, remapped
from tui_agent.tui.asking import Asking
from tui_agent.tui.chat import Chat
from tui_agent.tui.first_look import theme_files, theme_folders
from tui_agent.tui.found import first_choices, ready_choices, servers
from tui_agent.tui.handlers.folder import folder_facts
from tui_agent.tui.handlers.table import HANDLERS
from tui_agent.tui.outside import Ask, CommandLine, JsonRow, json_rows
from tui_agent.tui.panes.base import Intent
from tui_agent.tui.panes.mood import status_of
from tui_agent.tui.panes.policy import policy_words
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.prompt.box import PLACEHOLDER, Prompt
from tui_agent.tui.prompt.draft import DraftFile
from tui_agent.tui.pump import Pump
from tui_agent.tui.text import clean_line
from tui_agent.tui.views import ALL, ViewName, Views

if TYPE_CHECKING:
    from tui_agent.tui.app import AgentApp

DRAFT_S = 0.3
BEAT_S = 0.5


class OpenedSession(Protocol):
    """What an engine says when it holds the session."""

    session: str
    folder: str
    last_seq: int
    new: bool


class AppSession(Session, Protocol):
    """A session as the app drives it: opened once, served in the background."""

    async def opened(self) -> OpenedSession:
        """Wait until it is open. Raises what kept it from that."""
        ...

    async def serve(self) -> None:
        """Move commands and records until it ends."""
        ...


class Live:
    """One session at a time, and the app's reaction to it."""

    def __init__(self, app: "AgentApp") -> None:
        self.app = app
        self.ask: Ask = app.outside or CommandLine(app.environ, str(app.options.cwd))
        self.config: Config | None = None
        self.views = Views()
        self.session: AppSession | None = None
        self.pump: Pump | None = None
        self.folder: Path | None = None
        self.opening = True
        """The first session is not open yet: what is sent waits."""
        self.chat = Chat(app, self)
        self.asking = Asking(app, self)
        self._draft: DraftFile | None = None
        self._draft_planned = False
        self._beats = 0
        self._seen_seq = -1

    # -- opening and closing ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read the configuration, open the session, and stay."""
        self._configure()
        await self.chat.mount()
        self.app.set_interval(BEAT_S, self._beat)
        if self.app.watch_themes:
            self.worker(self._watch_themes(), "themes")
        await self.open(self.app.options)

    def _configure(self) -> None:
        app = self.app
        try:
            self.config = layers.load(app.options, app.environ)
        except TuiAgentError as fault:
            app.say(str(fault), "error")
            return
        config = self.config
        keys = {name: key if isinstance(key, str) else ", ".join(key) for name, key in config.keys.items()}
        if keys:
            app.remap(remapped(keys), keys)
        app.prompt.editor.use_vim(on=config.vim)
        if not app.options.policy:
            app.header.policy_hint = config.policy
            app.prompt.set_state(config.policy, "", running=False)
        app.prompt.choices = {
            "/theme": [(name, "") for name in sorted(path.stem for path in theme_files(app.environ))],
            "/policy": [(name, policy_words(name)) for name in POLICIES],
            "/reasoning": [(effort, "") for effort in EFFORTS],
            "/model": [(name, profile.model) for name, profile in config.models.items()],
        }
        history = app.prompt.editor.history_of_messages
        history.path = config.data_dir / "prompts.jsonl"
        history.extend(history.load())

    async def open(self, options: SessionOptions) -> bool:
        """Open a session in place of the present one; False where it could not be opened."""
        spawn = self.app.spawn or _spawn_remote(self.app)
        session = spawn(options)
        self.app.run_worker(session.serve(), name="serve", group="session", exit_on_error=False)
        try:
            opened = await session.opened()
        except TuiAgentError as fault:
            await session.aclose()
            self._not_open(fault)
            return False
        await self._let_go("switched")
        self.session, self.views = session, Views()
        self.folder = Path(opened.folder)
        self.app.session_id = session.id
        self._seen_seq = opened.last_seq
        await self.chat.begin(self.views)
        self.pump = Pump(session.follow(), self.views, self._show)
        self.app.run_worker(self._follow(self.pump), name="pump", group="session", exit_on_error=False)
        await self.pump.reached(opened.last_seq)
        self.opening = False
        self._take_draft()
        self._send_waiting()
        self.worker(self.begin_page(), "start page")
        return True

    async def _watch_themes(self) -> None:
        """Draw anew when the file of the theme in use is saved."""
        app = self.app
        watching = await asyncio.to_thread(import_module, "tui_agent.tui.theme_watch")

        def changed(names: set[str]) -> None:
            if app.first.theme.name in names:
                app.wear_theme(app.first.theme.name)

        await watching.watch(theme_folders(app.environ), changed, asyncio.Event())

    async def _follow(self, pump: Pump) -> None:
        """Show the session until it ends; an end that nobody asked for is said."""
        await pump.run()
        if self.pump is pump and not self.app.left:
            self.app.status.set_view(
                StatusView("failed", "engine ended", "/session opens it again"), self.app.clock()
            )
            self.app.say(
                "The engine's process ended. What was recorded is kept; /new goes on in a new session, "
                f"/session {self.app.session_id} opens this one again.",
                "error",
            )

    async def reopen(self) -> None:
        """The same session in a new engine process."""
        session_id = self.session.id if self.session is not None else None
        await self._let_go("switched")
        await self.open(replace(self.app.options, session=session_id, continue_latest=False, prompt=None))

    async def begin_page(self) -> None:
        """Fill the page that stands before the first message."""
        app, start = self.app, self.chat.start
        policy = self.state.settings.policy if self.state.settings else "ask"
        home = str(Path.home())
        folder = str(app.options.cwd)
        shown = "~" + folder[len(home) :] if folder.startswith(home) else folder
        needs = not self.has_model
        facts = await self.in_thread(lambda: folder_facts(app.options.cwd))
        choices = ready_choices()
        if needs:
            rows, local = await asyncio.gather(self.models_here(), servers())
            choices = first_choices(rows, local, app.environ)
        start.set_page(needs_model=needs, choices=choices, folder=shown, facts=str(facts), policy=policy)
        self.chat.choose_page()
        app.reshape()
        if needs and start.display and not app.prompt.editor.text and len(app.screen_stack) == 1:
            app.call_after_refresh(start.focus)

    def _not_open(self, fault: TuiAgentError) -> None:
        self.opening = False
        unsent = [one.text for one in self.app.waiting_intents if isinstance(one, Prompt.Sent)]
        self.app.waiting_intents = []
        if unsent and not self.app.prompt.editor.text:
            self.app.prompt.editor.put("\n".join(unsent))
        if self.session is None:
            self.app.status.set_view(
                StatusView("failed", "no session", "/sessions or /new opens another"), self.app.clock()
            )
        self.app.say(str(fault), "error")

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
        self.save_draft()
        self.app.answer = await self.last_answer()
        await self._let_go(reason)

    def _send_waiting(self) -> None:
        app = self.app
        first, app.first_prompt = app.first_prompt, ""
        if first:
            self.sent(first, "send")
        waiting, app.waiting_intents = app.waiting_intents, []
        for one in waiting:
            if isinstance(one, Prompt.Sent):
                self.sent(one.text, one.how)
            elif isinstance(one, Intent):
                self.act(one.name, one.argument)

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionStateView:
        """The session's state."""
        return self.views.state.view()

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self.session is not None and self.state.turn_running

    @property
    def has_model(self) -> bool:
        """Whether a model is set."""
        settings = self.state.settings
        return settings is not None and bool(settings.model.model)

    def submit(self, command: Command) -> None:
        """Hand a command to the engine."""
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
            self.app.say(f"A turn is running. {said} can be used after it; Esc stops it.", "warning")
            return
        handler(self, argument.strip())

    def sent(self, text: str, how: str) -> None:
        """What the prompt sent: a message, a command, or a shell line."""
        said = text.strip()
        first_word = said.split(maxsplit=1)[0] if said else ""
        if first_word in BY_SLASH or (first_word.startswith("/") and "/" not in first_word[1:]):
            self._slash(first_word, said)
        elif said.startswith("!") and said.strip("! "):
            self._shell(said)
        elif said:
            self._message(text.strip("\n"), how)
        elif self.asking.again():
            return
        elif not self.running and self.state.last_turn_end == "model_error":
            self.submit(SubmitPrompt(text="Try again."))

    def _slash(self, word: str, said: str) -> None:
        action = BY_SLASH.get(word)
        if action is None:
            near = [slash for slash in BY_SLASH if slash.startswith(word[:3])]
            hint = f" Near: {', '.join(near[:4])}." if near else ""
            self.app.say(f"There is no {clean_line(word)[:40]}.{hint} /help lists all.", "warning")
            return
        if action.ground and self.running:
            self.act(action.name)
            return
        self._written(said)
        if action.name == "quit":
            self.app.leave()
        else:
            self.act(action.name, said[len(word) :])

    def _shell(self, said: str) -> None:
        if self.running:
            self.act("run", "")
            return
        hidden = said.startswith("!!")
        self._written(said)
        self.submit(RunUserShell(command=said.lstrip("!").strip(), hidden=hidden))

    def _message(self, text: str, how: str) -> None:
        if self.session is None:
            self.submit(SubmitPrompt(text=text))
            return
        if not self.has_model:
            self.app.say("Choose a model first; your message stays here.", "warning")
            self.act("model")
            return
        pictures = tuple(
            Attachment(path=one.path, media_type=one.media_type)
            for one in self.app.prompt.editor.chips.attached(self.app.prompt.editor.text)
        )
        if not self.running:
            self.submit(SubmitPrompt(text=text, attachments=pictures))
        elif how == "queue":
            self.submit(Queue(text=text, attachments=pictures))
        else:
            self.submit(Steer(text=text, attachments=pictures))
        self._written(text)
        self.chat.to_end()

    def _written(self, text: str) -> None:
        editor = self.app.prompt.editor
        editor.history_of_messages.add(text)
        editor.empty()
        self.save_draft()

    def escape(self) -> None:
        """Esc with nothing open: leave what is selected in the chat, else interrupt."""
        if not self.chat.escape():
            self.interrupt()

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

    # -- frames ----------------------------------------------------------------------------------------------------

    def _show(self, changed: frozenset[ViewName]) -> None:
        if not changed:
            return
        app, views = self.app, self.views
        with app.batch_update():
            state, meter = views.state.view(), views.meter.view()
            if changed & {"state", "meter"}:
                app.header.set_views(state, meter)
            if changed & {"todo", "trace", "meter"}:
                app.sidebar.set_views(views.todo.view(), views.trace.view(), meter, app.clock())
            if changed & {"todo", "files"}:
                app.pane_strip.set_views(views.todo.view(), views.files.view())
            if "transcript" in changed:
                self.chat.show()
            self.chat.choose_page()
            self.show_status()
            if changed & {"state", "meter"}:
                self._show_prompt(state)
        self.asking.look(views.approvals.view())
        self._take_prompts()

    def show_all(self) -> None:
        """Every pane, from the views as they are."""
        self._show(ALL)

    def show_status(self) -> None:
        """State, what runs, and the keys that apply."""
        app, state = self.app, self.state
        view = status_of(state, self.views.trace.view(), note=self._note(state))
        below = self.chat.below
        if below:
            view = StatusView(view.mood, view.word, view.what, view.since, view.stage, view.note, below)
        before = app.status.view.mood
        app.status.set_view(view, app.clock())
        app.header.set_status(view)
        app.show_keys()
        if before != view.mood:
            self._tell(before, view)

    def _note(self, state: SessionStateView) -> str:
        if self.app.shape.width < 150 or not state.run_id:
            return ""
        return f"{state.run_id}  {self.views.last_kind}"

    def _tell(self, before: str, view: StatusView) -> None:
        """Title always, a notice where nobody looks."""
        title = clean_line(self.state.title) or "tui-agent"
        mark = {"waiting": "? ", "running": "* ", "failed": "x "}.get(view.mood, "")
        self.app.terminal.title(f"{mark}{title}")
        if self.app.app_focus or self.views.seq <= self._seen_seq:
            return
        if view.mood == "waiting":
            self.app.terminal.notify(f"{title}: waiting for you, {view.what}")
        elif before == "running" and view.mood in ("ready", "failed", "stopped"):
            self.app.terminal.notify(f"{title}: {view.word}")

    def _show_prompt(self, state: SessionStateView) -> None:
        app, meter = self.app, self.views.meter.view()
        if state.settings is None:
            return
        note = ""
        if meter.next_tokens:
            cost = (
                f", {units.money(meter.next_cost_usd, digits=2)}" if meter.next_cost_usd is not None else ""
            )
            note = f"next turn {units.about(meter.next_tokens)} tokens{cost}"
        if state.queue:
            note = f"{len(state.queue)} queued"
        app.prompt.set_state(state.settings.policy, note, running=state.turn_running)
        hint = PLACEHOLDER
        if not state.settings.model.model:
            hint = "Pick a model above, or type /model"
        elif state.last_turn_end == "model_error" and not state.turn_running:
            hint = "Enter tries again; or type to go on"
        if app.prompt.editor.placeholder != hint:
            app.prompt.editor.placeholder = hint

    def _beat(self) -> None:
        self._beats += 1
        if self.app.status.view.mood == "running":
            now = self.app.clock()
            self.app.status.beat(now)
            if self._beats % 2 == 0:
                self.app.sidebar.beat(now)

    def looks_changed(self) -> None:
        """Another theme: what caches strips starts anew."""
        self.chat.looks_changed()
        self.show_all()

    # -- draft and history -----------------------------------------------------------------------------------------

    def _take_prompts(self) -> None:
        prompts, self.views.prompts = self.views.prompts, []
        history = self.app.prompt.editor.history_of_messages
        new = [text for text in prompts if history.add(text)]
        if new and self.views.seq > self._seen_seq:
            self.app.run_worker(lambda: history.store(new), thread=True, exit_on_error=False)

    def drafted(self) -> None:
        """The unsent text changed: keep it soon."""
        if not self._draft_planned:
            self._draft_planned = True
            self.app.set_timer(DRAFT_S, self.save_draft)

    def _take_draft(self) -> None:
        if self.folder is None:
            return
        self._draft = DraftFile(self.folder / "draft")
        editor = self.app.prompt.editor
        held = self._draft.load()
        if held and not editor.text:
            editor.put(editor.chips.from_json(held))

    def save_draft(self) -> None:
        """Keep what is typed, or forget what was sent."""
        self._draft_planned = False
        if self._draft is None:
            return
        editor, draft = self.app.prompt.editor, self._draft
        text = editor.chips.to_json(editor.text) if editor.text.strip() else ""
        draft.save(text)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def read_text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept; its preview where it cannot be read."""
        if isinstance(text, str) or self.session is None:
            return text_preview(text)
        try:
            return (await self.session.read_blob(text.blob_sha256)).decode("utf-8", "replace")
        except BlobMissing as fault:
            return f"{text.preview}\n\n{fault}"

    def blob_text(self, text: LongText, arrived: Callable[[str], None]) -> str:
        """What is known of a text now; `arrived` is called with the whole of it later, where that is more."""
        if not isinstance(text, str):

            async def read() -> None:
                arrived(await self.read_text(text))

            self.worker(read(), "blob")
        return text_preview(text)

    async def last_answer(self) -> str:
        """The agent's last words, whole."""
        for entry in reversed(self.views.transcript.view().entries):
            if isinstance(entry, AnswerEntry):
                return await self.read_text(entry.text)
        return ""

    async def events_between(self, first: int, last: int, most: int) -> list[Record]:
        """Records of the session by their seq, at most so many."""
        found: list[Record] = []
        if self.session is None:
            return found
        follower = self.session.follow(first - 1)
        try:
            while len(found) < most and (not found or found[-1].seq < last) and self.views.seq >= first:
                batch = await follower.next()
                if not batch:
                    break
                found.extend(record for record in batch if record.seq <= last)
                if batch[-1].seq >= min(last, self.views.seq):
                    break
        finally:
            follower.close()
        return found[:most]

    async def models_here(self) -> list[JsonRow]:
        """The models that could be used now."""
        _, said = await self.ask("models", "list", "--json")
        return json_rows(said)

    async def in_thread(self, work: Callable[[], object]) -> object:
        """Blocking work off the loop."""
        return await asyncio.to_thread(work)

    def worker(self, work: object, name: str) -> "Worker[object]":
        """Run a coroutine beside the screen; a fault in it is said, not thrown."""
        return self.app.run_worker(work, name=name, exit_on_error=False)  # type: ignore[arg-type]


def _spawn_remote(app: "AgentApp") -> Callable[[SessionOptions], AppSession]:
    remote = import_module("tui_agent.session.remote").RemoteSession

    def spawn(options: SessionOptions) -> AppSession:
        handle, app.handle = app.handle, None
        return cast(AppSession, remote(handle) if handle is not None else remote.spawn(options))

    return spawn
