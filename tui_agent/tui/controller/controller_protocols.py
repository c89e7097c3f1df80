"""Protocols through which the parts of `SessionController` use the controller and one another.

Invariant: this module contains only protocols.
"""

from typing import Protocol

from tui_agent.folds.screen_folds import ViewName, Views
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.tui.app_context import AppContext, ChoicesPort, SessionsPort, StartPort
from tui_agent.tui.controller.chat import Chat
from tui_agent.tui.controller.drafts import DraftKeeper
from tui_agent.tui.controller.event_pump import Pump
from tui_agent.tui.controller.screen_errors import FaultReporter
from tui_agent.tui.controller.session_reader import SessionReader
from tui_agent.tui.prompt.prompt import Prompt
from tui_agent.tui.widgets.covered_prompt import CoveredPrompt
from tui_agent.tui.widgets.lists import Intent


class PanesPort(Protocol):
    """Passes the session's views on to the panes."""

    def show(self, changed: frozenset[ViewName]) -> None: ...
    def show_all(self) -> None: ...
    def show_status(self) -> None: ...
    def show_strip(self, views: Views) -> None: ...
    def show_figures(self, views: Views) -> None: ...


class QuestionsPort(Protocol):
    """The agent's unanswered questions."""

    @property
    def is_waiting(self) -> bool: ...
    def cover_prompt(self) -> CoveredPrompt: ...
    def answer(self, text: str) -> bool: ...
    def reopen(self) -> bool: ...
    def ask_again(self) -> bool: ...


class InterruptionPort(Protocol):
    """Interrupts the running turn."""

    def interrupt(self) -> bool: ...


class SubmitterPort(Protocol):
    """Sends the message in the prompt."""

    under_way: bool

    def send(self, message: Prompt.Submitted) -> None: ...
    def return_to_prompt(
        self, waiting: list[Intent | Prompt.Submitted]
    ) -> list[Intent | Prompt.Submitted]: ...


class StartPagePort(StartPort, Protocol):
    """The start page, shown before the first message."""

    def show_early(self) -> None: ...
    def refresh(self) -> None: ...
    def show(self) -> None: ...
    def expect_model(self, name: str) -> None: ...
    def show_fault(self, fault: str) -> bool: ...
    def offer_watching(self) -> None: ...


class HostChoices(ChoicesPort, Protocol):
    """The user's choices. Extends `ChoicesPort` with a method for the parts of the controller."""

    def update(self, state: SessionStateView) -> None: ...


class HostSessions(SessionsPort, Protocol):
    """Switches between sessions. Extends `SessionsPort` with methods for the parts of the controller."""

    async def reopen(self, model: str = ..., base_url: str = ...) -> bool: ...
    def start(self, pump: Pump) -> None: ...
    async def show_branch(self) -> None: ...


class SessionHost(AppContext, Protocol):
    """The open session, as seen by the parts of the controller."""

    pump: Pump | None
    reader: SessionReader
    chat: Chat
    storage_fault_seq: int
    faults: FaultReporter
    drafts: DraftKeeper

    def forget_session(self) -> None: ...
    @property
    def sessions(self) -> HostSessions: ...
    @property
    def choices(self) -> HostChoices: ...
    @property
    def panes(self) -> PanesPort: ...
    @property
    def questions(self) -> QuestionsPort: ...
    @property
    def interruption(self) -> InterruptionPort: ...
    @property
    def submitter(self) -> SubmitterPort: ...
    @property
    def start_page(self) -> StartPagePort: ...

    def send_output_width(self) -> None: ...
