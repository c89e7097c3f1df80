"""Interfaces of the open session and the app, used by commands, screens and modals.

Invariant: this module contains only protocols.
"""

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.settings import Config, ModelProfile
from tui_agent.folds.comparison.line_authors import SessionDiff
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.changed_files import ChangedFile, FilesChangedView
from tui_agent.folds.session.jobs import JobsView
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.transcript.entries import Entry, UserEntry
from tui_agent.ports.session import AppSession
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.settings import ModelInfo, UserPolicy
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.cli_client import Ask
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.panes.model_discovery import Server
from tui_agent.tui.panes.plugin_feed import PaneFeed
from tui_agent.tui.prompt.editor import Editor

DiskChange: TypeAlias = Literal["changed", "undone"]
"""A change that someone made to a file outside the app.

`undone`: the file is again as it was before the session. `changed`: the file has other content.
"""


class ChatPort(Protocol):
    """The transcript of the open session."""

    def scroll_pages(self, pages: int) -> None: ...
    def to_end(self) -> None: ...
    def focus(self) -> None: ...
    def toggle(self) -> None: ...
    def find(self, text: str) -> None: ...
    def show_seq(self, seq: int) -> None: ...
    def entry_at(self, seq: int) -> Entry | None: ...


class StartPort(Protocol):
    """The start page, shown before the first message."""

    local: list[Server]
    """The model servers found on this machine."""

    @property
    def is_shown(self) -> bool: ...
    def choose(self, argument: str) -> None: ...


class SessionsPort(Protocol):
    """Opens another session in place of the current one."""

    under_way: bool
    """True while a session is being opened; new messages wait."""

    @property
    def load_progress(self) -> str:
        """The text `loading the earlier part, 96 % left` while a long session loads; otherwise empty."""

    async def wait_until_loaded(self) -> None: ...
    async def open(self, options: SessionOptions, *, with_draft: bool = False) -> bool: ...
    async def reopen(self) -> bool: ...
    def go_to(self, work: Coroutine[object, object, object], name: str) -> None: ...
    def stay(self) -> None: ...
    def watch(self) -> None: ...
    @property
    def must_reopen(self) -> bool: ...
    def options_for(self, session_id: str) -> SessionOptions: ...
    def same_settings(self) -> SessionOptions: ...


class ReaderPort(Protocol):
    """Reads texts and events that the views of the open session do not contain."""

    async def read_text(self, text: LongText) -> str: ...
    async def compare(self, file: ChangedFile) -> tuple[SessionDiff | None, str]: ...
    async def events_between(self, first: int, last: int, limit: int = ...) -> list[Record]: ...
    async def last_answer(self) -> str: ...


class DiskChangesPort(Protocol):
    """Finds changes that someone made to the session's files outside the app."""

    def by_path(self, views: Views) -> Mapping[str, DiskChange]: ...
    def drop_undone(self, files: FilesChangedView, views: Views) -> FilesChangedView: ...
    async def compare_with_disk(self) -> None: ...


class RewindPort(Protocol):
    """Undo, redo, and revert to an event."""

    def undo(self, argument: str = "") -> None: ...
    def redo(self) -> None: ...
    def revert(self, argument: str, *, then: Callable[[], object] = ...) -> None: ...
    def confirm_revert(
        self, to_seq: int, title: str, entry: UserEntry | None = None, *, then: Callable[[], object] = ...
    ) -> None: ...


class ChoicesPort(Protocol):
    """Choices of the user that are saved for later starts."""

    addresses: Mapping[str, str]
    """Maps a model's name to the address that the user entered for it."""
    tried_policy: str
    """The policy that the user selected with a key but has not used yet; empty for none."""

    def given_address(self, model: ModelInfo) -> str: ...
    def choose_model(self, name: str, base_url: str = ..., remark: str = ...) -> None: ...
    def choose_policy(self, name: str) -> None: ...
    def try_policy(self, name: UserPolicy) -> None: ...
    def begin_session(self) -> None: ...
    def remember(self, *, policy: str = ..., **values: str | bool) -> None: ...


class KeysPort(Protocol):
    """The API keys of model providers."""

    def names(self) -> frozenset[str]:
        """Return the names of all non-empty environment variables, and of the variables that saved or typed keys set."""

    def ask_with(self, variable: str, key: str) -> Ask:
        """Return a function that runs `tui-agent` with the environment variable `variable` set to `key`."""

    async def use(self, variable: str, key: str, model: str, base_url: str) -> bool:
        """Give the engine an API key that is forgotten when the app quits, and reopen the session with `model`.

        `variable`: the environment variable for the key. `base_url`: the model's URL, or empty. Return False if the
        session could not be opened.
        """


class AppContext(Protocol):
    """The open session, the session's views, and the app around it."""

    app: SessionApp
    editor: Editor
    ask: Ask
    views: Views
    config: Config | None
    folder: Path | None
    session: AppSession | None
    plugin_panes: PaneFeed
    seen_seq: int
    """Number of the newest event when the session was opened. Only later events are announced as new."""

    @property
    def chat(self) -> ChatPort: ...
    @property
    def start_page(self) -> StartPort: ...
    @property
    def sessions(self) -> SessionsPort: ...
    @property
    def reader(self) -> ReaderPort: ...
    @property
    def disk_changes(self) -> DiskChangesPort: ...
    @property
    def rewind(self) -> RewindPort: ...
    @property
    def choices(self) -> ChoicesPort: ...
    @property
    def keys(self) -> KeysPort: ...
    @property
    def state(self) -> SessionStateView: ...
    @property
    def jobs(self) -> JobsView: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def has_model(self) -> bool: ...
    @property
    def profiles(self) -> Mapping[str, ModelProfile]:
        """The model profiles of the configuration."""

    @property
    def work_folder(self) -> str:
        """The session's work folder, or the folder where the app was started if no session is open."""

    @property
    def place(self) -> list[str]:
        """The command-line arguments that select the app's work folder and plugins."""

    def submit(self, command: Command) -> None: ...
    def act(self, name: str, argument: str = "") -> None: ...
    def worker(self, work: Coroutine[object, object, object], name: str) -> object: ...
    def show_trust(self) -> None: ...
