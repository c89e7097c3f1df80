"""Interfaces of the open session and the app, used by commands, screens and modals.

Invariant: this module contains only protocols. `SessionController` implements `AppContext`. A module that takes a
context never imports the controller or the app.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tui_agent.config.options import SessionOptions
from tui_agent.config.settings.settings import Config, ModelProfile
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.session.checkpoints import PathChange
from tui_agent.folds.session.jobs import JobsView
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.text.line_diff import LineDiff
from tui_agent.folds.transcript.entries import Entry, UserEntry
from tui_agent.folds.views import Views
from tui_agent.ports.session import AppSession
from tui_agent.protocol.base import LongText
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.cli_client import Ask, JsonRow
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.panes.model_discovery import Server
from tui_agent.tui.panes.plugin_feed import PaneFeed
from tui_agent.tui.prompt.editor import Editor


class ChatPort(Protocol):
    """The transcript of the open session."""

    def page(self, pages: int) -> None: ...
    def to_end(self) -> None: ...
    def focus(self) -> None: ...
    def toggle(self) -> None: ...
    def find(self, text: str) -> None: ...
    def show_seq(self, seq: int) -> None: ...
    def entry_at(self, seq: int) -> Entry | None: ...


class StartPort(Protocol):
    """The start page, shown before the first message."""

    @property
    def is_shown(self) -> bool: ...

    def choose(self, argument: str) -> None: ...


class SessionsPort(Protocol):
    """Opens another session in place of the current one."""

    under_way: bool
    """True while a session is being opened; messages wait for it."""

    @property
    def load_progress(self) -> str:
        """The text `loading the earlier part, 96 % left` while a very long session is being loaded; otherwise empty."""

    async def wait_until_whole(self) -> None: ...
    async def open(self, options: SessionOptions, *, with_draft: bool = False) -> bool: ...
    async def reopen(self) -> bool: ...
    def go_to(self, work: Coroutine[object, object, object], name: str) -> None: ...
    def stay(self) -> None: ...
    @property
    def must_reopen(self) -> bool: ...
    def options_for(self, session_id: str) -> SessionOptions: ...
    def same_settings(self) -> SessionOptions: ...


class ReaderPort(Protocol):
    """Reads texts and events that the views of the open session do not contain."""

    async def read_text(self, text: LongText) -> str: ...
    async def compare(self, file: ChangedFile | PathChange) -> tuple[LineDiff | None, str]: ...
    async def events_between(self, first: int, last: int, most: int = ...) -> list[Record]: ...
    async def last_answer(self) -> str: ...
    async def models_here(self) -> list[JsonRow]: ...


class RewindPort(Protocol):
    """Undo, redo, and revert to an event."""

    def undo(self, argument: str = "") -> None: ...
    def redo(self) -> None: ...
    def revert(self, argument: str, *, then: Callable[[], object] = ...) -> None: ...
    def go(
        self, to_seq: int, title: str, entry: UserEntry | None = None, *, then: Callable[[], object] = ...
    ) -> None: ...


class ChoicesPort(Protocol):
    """Choices of the user that are saved for later starts."""

    addresses: Mapping[str, str]
    """Mapping from the name of a model to the address that the user gave for it."""

    def given_address(self, model: ModelInfo) -> str: ...
    def choose_model(self, name: str, base_url: str = ..., remark: str = ...) -> None: ...
    def remember(self, *, policy: str = ..., **values: str | bool) -> None: ...


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
    """Sequence number of the last event when the log was opened; events up to this number are not announced as new."""

    @property
    def chat(self) -> ChatPort: ...
    @property
    def start_page(self) -> StartPort: ...
    @property
    def sessions(self) -> SessionsPort: ...
    @property
    def reader(self) -> ReaderPort: ...
    @property
    def rewind(self) -> RewindPort: ...
    @property
    def choices(self) -> ChoicesPort: ...
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
    def local_servers(self) -> Sequence[Server]:
        """The model servers on this machine that responded."""

    @property
    def work_folder(self) -> str:
        """The session's work folder. Before a session is open, the folder where the app was started."""

    def submit(self, command: Command) -> None: ...
    def act(self, name: str, argument: str = "") -> None: ...
    def worker(self, work: Coroutine[object, object, object], name: str) -> object: ...
    def set_policy(self, name: str) -> None: ...
    def show_trust(self) -> None: ...
    def known_keys(self) -> frozenset[str]:
        """Return the names of API key variables that have a value: in the environment, stored, or entered now."""

    def ask_with_key(self, variable: str, key: str) -> Ask:
        """Return a variant of `ask` that passes the API key to `tui-agent` in the environment variable `variable`."""

    async def use_key(self, variable: str, key: str, model: str, base_url: str) -> bool:
        """Give the engine the API key in `variable` for this run, and reopen the session with this key.

        The reopened session uses the model `model` at the URL `base_url` (empty: the model's own). Return False if the
        session could not be opened.
        """
