"""The permission requests and questions that wait for the user, oldest first."""

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnFinished
from tui_agent.protocol.ids import CallId, RequestId


@dataclass(frozen=True, slots=True)
class ApprovalsView:
    """The permission requests and questions that still wait for the user."""

    permissions: tuple[PermissionRequested, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()


TAKES = (PermissionRequested, PermissionDecided, ToolFinished, QuestionAsked, QuestionAnswered, TurnFinished)
"""The classes of event payloads that `Approvals` handles."""


class Approvals:
    """Tracks the permission requests and questions that wait for an answer."""

    def __init__(self) -> None:
        self._permissions: dict[CallId, PermissionRequested] = {}
        self._questions: dict[RequestId, QuestionAsked] = {}
        self._view: ApprovalsView | None = None

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case PermissionRequested() as request:
                self._permissions[request.call_id] = request
            case PermissionDecided(call_id=call) | ToolFinished(call_id=call):
                if self._permissions.pop(call, None) is None:
                    return False
            case QuestionAsked() as question:
                self._questions[question.question_id] = question
            case QuestionAnswered(question_id=question_id):
                if self._questions.pop(question_id, None) is None:
                    return False
            case TurnFinished():
                if not self._permissions and not self._questions:
                    return False
                self._permissions.clear()
                self._questions.clear()
            case _:
                return False
        self._view = None
        return True

    def view(self) -> ApprovalsView:
        if self._view is None:
            self._view = ApprovalsView(tuple(self._permissions.values()), tuple(self._questions.values()))
        return self._view
