"""What happens once after the first paint: the configuration, the first page, the watch on the themes."""

import asyncio
from importlib import import_module
from pathlib import Path

from tui_agent.config import layers
from tui_agent.config.git import ask_git
from tui_agent.config.repository import find_repository
from tui_agent.config.secrets import Keys
from tui_agent.errors import ConfigError, TuiAgentError
from tui_agent.protocol.settings import EFFORTS, POLICIES
from tui_agent.tui.context import AppContext
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.panes.model_discovery import Server, first_choices, ready_choices, servers
from tui_agent.tui.panes.policy import policy_words
from tui_agent.tui.panes.start import UNOPENED
from tui_agent.tui.theme.startup import theme_files, theme_folders
from tui_agent.tui.widgets import key_settings


def configure(host: SessionHost) -> None:
    """Read the typed configuration, and use what of it concerns the screen."""
    app, frame = host.app, host.frame
    try:
        host.config = layers.load(app.options, app.environ)
    except TuiAgentError as fault:
        app.say(str(fault), "error")
        return
    config = host.config
    if config.theme and app.first.theme.name != config.theme and not app.options.theme:
        named = {path.stem for path in theme_files(app.environ)}
        if config.theme in named:
            app.wear_theme(config.theme)  # a trusted project's: the first frame did not know it yet
        else:
            listed = ", ".join(sorted(named))
            app.say(f"There is no theme '{config.theme}'. There are: {listed}.", "warning")
    keys = key_settings.apply_key_settings(config.keys)
    app.use_keys(keys.actions)
    if keys.faults:
        app.say(f"[keys] in config.toml: {' '.join(keys.faults)}", "warning")
    host.frame.prompt.editor.use_vim(on=config.vim)
    if not app.options.policy:
        frame.header.policy_hint = config.policy
        host.frame.prompt.set_state(config.policy, "", running=False)
    host.frame.prompt.choices = {
        "/theme": [(name, "") for name in sorted(path.stem for path in theme_files(app.environ))],
        "/policy": [(name, policy_words(name)) for name in POLICIES],
        "/reasoning": [(effort, "") for effort in EFFORTS],
        "/model": [(name, profile.model) for name, profile in config.models.items()],
    }
    history = host.frame.prompt.editor.history_of_messages
    history.path = config.data_dir / "prompts.jsonl"
    history.extend(history.load())


async def watch_themes(host: SessionHost) -> None:
    """Draw anew when the file of the theme in use is saved."""
    app = host.app
    watching = await asyncio.to_thread(import_module, "tui_agent.tui.theme.watch")

    def changed(names: set[str]) -> None:
        if app.first.theme.name in names:
            app.wear_theme(app.first.theme.name)

    await watching.watch(theme_folders(app.environ), changed, asyncio.Event())


class StartPage:
    """The page that stands before the first message: there at once, filled in where it stands.

    What is found later (servers of this machine, what the folder is) never moves the focus nor what a digit means.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self.local: list[Server] = []
        self._facts = ""
        self._shown_for: tuple[bool, str] | None = None

    def early(self) -> None:
        """Before the session is open, where it is certain already that there is no model."""
        host, options = self._host, self._host.app.options
        config = host.config
        if config is None or config.model or config.base_url or options.session or options.continue_latest:
            host.chat.start.display = False
            host.frame.reshape()
            return
        host.chat.start.display = True
        self._show(needs=True, fault="", policy=config.policy)
        self.focus()

    def show(self) -> None:
        """The page for the session that has just been opened."""
        self.refresh(again=True)
        self._host.chat.choose_page()
        self._host.frame.reshape()
        self.focus()

    def refresh(self, *, again: bool = False) -> None:
        """Whether there is a model may have changed."""
        settings = self._host.state.settings
        fault = settings.model.fault if settings else ""
        now = (not self._host.has_model, fault)
        if now == self._shown_for and not again:
            return
        before, self._shown_for = self._shown_for, now
        self._show(needs=now[0], fault=fault, policy=settings.policy if settings else "ask")
        if before is not None and before[0] and not now[0] and self._host.chat.start.has_focus:
            self._host.prompt.focus()

    def not_open(self, fault: str) -> bool:
        """No session is open: why, for as long as that is so; False where that is to be said besides, since the chat
        stands in its place or the same stood there already."""
        chat, header = self._host.chat, self._host.frame.header
        header.model_hint = "no session"
        header.show()
        if chat.in_sight:
            return False  # what was said stays in sight; the status line tells
        stood = chat.start.display and chat.start.fault == fault
        chat.start.display = True
        self._shown_for = None
        folder = str(self._host.app.options.cwd)
        chat.start.set_page(
            needs_model=True,
            fault=fault,
            choices=UNOPENED,
            folder=folder,
            facts=self._facts,
            policy="ask",
            unopened=True,
        )
        self._host.frame.reshape()
        self.focus()
        return not stood

    @property
    def is_shown(self) -> bool:
        """Return True if it stands in the transcript's place."""
        return bool(self._host.chat.start.display)

    def choose(self, argument: str) -> None:
        """Choose a numbered row."""
        self._host.chat.start.choose(argument)

    def focus(self) -> None:
        """Let digits choose, unless something is being typed or lies over the page."""
        app, start = self._host.app, self._host.chat.start
        if self._host.prompt.text:
            if start.has_focus:
                self._host.prompt.focus()
        elif start.display and start.needs_model and len(app.screen_stack) == 1:
            start.focus()

    async def look(self) -> None:
        """Look around, and fill in what there is."""
        cwd = self._host.app.options.cwd
        self._facts, self.local = await asyncio.gather(
            asyncio.to_thread(lambda: folder_facts(cwd)), servers()
        )
        if not self._host.chat.start.unopened:
            self.refresh(again=True)

    def _show(self, *, needs: bool, fault: str, policy: str) -> None:
        host = self._host
        home, folder = str(Path.home()), str(host.app.options.cwd)
        host.chat.start.left = len(host.config.ignored) if host.config is not None else 0
        host.chat.start.set_page(
            needs_model=needs,
            fault=fault,
            choices=first_choices(host.profiles, self.local, host.known_keys())
            if needs
            else ready_choices(host.app.key_map.key_of("help")),
            folder="~" + folder[len(home) :] if folder.startswith(home) else folder,
            facts=self._facts,
            policy=policy,
        )
        host.frame.reshape()


def folder_facts(root: Path) -> str:
    """Return `git main, clean`, or an empty string outside a repository. Blocking: call it in a thread."""
    repository = find_repository(root)
    if repository is None:
        return ""
    branch = f"git {repository.branch or 'detached'}"
    changed = ask_git(root, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
    if changed is None:
        return branch
    return f"{branch}, {len(changed.splitlines())} changed" if changed else f"{branch}, clean"


def known_keys(context: AppContext) -> frozenset[str]:
    """Return the API key variables that have a value: in the environment, stored, or typed for this run."""
    app = context.app
    if context.config is None:
        return frozenset(name for name, value in app.environ.items() if value)
    typed = {name for name, _ in app.options.keys}
    try:
        variables = layers.environment(app.options, app.environ)
        return Keys(variables, context.config.paths.secrets).names() | typed
    except ConfigError as fault:
        app.say(str(fault), "warning")
        return frozenset(name for name, value in app.environ.items() if value) | typed
