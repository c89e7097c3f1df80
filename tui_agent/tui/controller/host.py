"""The interface of `SessionController` for its parts.

Invariant: protocols only; a part imports this module and parts below it, never the controller.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from tui_agent.config.options import SessionOptions
from tui_agent.folds.views import ViewName, Views
from tui_agent.ports.session import AppSession
from tui_agent.protocol.envelope import Record
from tui_agent.session.engine_handle import EngineHandle
from tui_agent.tui.actions import Action
from tui_agent.tui.cli_client import Ask
from tui_agent.tui.context import AppContext, ChatPort, ScreenPort, SessionsPort, StartPort
from tui_agent.tui.controller.drafts import DraftKeeper
from tui_agent.tui.controller.faults import FaultReporter
from tui_agent.tui.controller.pump import Pump
from tui_agent.tui.controller.session_reader import SessionReader
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.panes.start import Start
from tui_agent.tui.prompt.box import Prompt
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.type_ahead import TypedAhead


class HostApp(ScreenPort, Protocol):
    """The app as the controller uses it."""

    handle: EngineHandle | None
    spawn: Callable[[SessionOptions], AppSession] | None
    first_prompt: str
    waiting_intents: list[Intent | Prompt.Sent]
    answer: str
    outside: Ask | None
    left: bool

    def show_keys(self) -> None: ...
    def use_keys(self, actions: tuple[Action, ...]) -> None: ...
    def leave(self, reason: Literal["quit", "signal"] = "quit") -> None: ...


class PanesPort(Protocol):
    """Hands views to the panes."""

    def show(self, changed: frozenset[ViewName]) -> None: ...
    def show_all(self) -> None: ...
    def show_status(self) -> None: ...
    def show_strip(self, views: Views) -> None: ...
    def show_figures(self, views: Views) -> None: ...


class QuestionsPort(Protocol):
    """The questions that wait for the user."""

    def typed_ahead(self) -> TypedAhead | None: ...
    def reopen(self) -> bool: ...
    def ask_again(self) -> bool: ...


class SubmitterPort(Protocol):
    """Sends the message in the prompt."""

    under_way: bool

    def send(self, message: Prompt.Sent) -> None: ...
    def held_back(self, waiting: list[Intent | Prompt.Sent]) -> list[Intent | Prompt.Sent]: ...


class StartPagePort(StartPort, Protocol):
    """The page before the first message."""

    def early(self) -> None: ...
    def show(self) -> None: ...
    def show_fault(self, fault: str) -> bool: ...


class HostChat(ChatPort, Protocol):
    """The chat area as the controller's parts use it."""

    start: Start

    @property
    def new_rows_text(self) -> str: ...
    @property
    def in_sight(self) -> bool: ...

    def show(self) -> None: ...
    def choose_page(self) -> None: ...
    def end_glimpse(self) -> None: ...
    def looks_changed(self) -> None: ...
    def take_whole(self, views: Views) -> None: ...
    async def begin(self, views: Views) -> None: ...
    async def glimpse(self, records: Sequence[Record]) -> None: ...


class HostSessions(SessionsPort, Protocol):
    """The sessions as the controller's parts use them."""

    async def follow(self, pump: Pump) -> None: ...
    async def begun_again(self) -> None: ...


class SessionHost(AppContext, Protocol):
    """The open session with everything that reacts to it."""

    pump: Pump | None
    halted_at: int
    faults: FaultReporter
    drafts: DraftKeeper

    @property
    def app(self) -> HostApp: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def reader(self) -> SessionReader: ...
    @property
    def chat(self) -> HostChat: ...
    @property
    def sessions(self) -> HostSessions: ...
    @property
    def panes(self) -> PanesPort: ...
    @property
    def questions(self) -> QuestionsPort: ...
    @property
    def submitter(self) -> SubmitterPort: ...
    @property
    def start_page(self) -> StartPagePort: ...

    def configure(self) -> None: ...
    def take_state(self) -> None: ...
