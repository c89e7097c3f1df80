"""L1: what waits for a person: permission requests and questions, oldest first."""

from dataclasses import dataclass

from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import QuestionAsked


@dataclass(frozen=True, slots=True)
class ApprovalsView:
    """Both lists shrink as they are answered, or void because their turn ended."""

    permissions: tuple[PermissionRequested, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
