"""Turns, iterations, and what people say."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent

TurnEnd: TypeAlias = Literal[
    "finished",
    "rejected",
    "interrupted",
    "part_limit",
    "iteration_limit",
    "turn_limit",
    "time_limit",
    "cost_limit",
    "denied",
    "stuck",
    "model_error",
    "error",
]

ShellEnd: TypeAlias = Literal["exited", "interrupted", "timeout", "failed", "lost"]


class UserMessageReceived(Payload):
    """A message of the user that opens (or will open) a turn. `source` tells how it came; `to_agent` is the named agent
    that the user gave the task to, in place of the session's own; `mentions` are the files and symbols that it names, as
    they were then."""

    kind: Literal["user.message"] = "user.message"
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    source: Literal["prompt", "queue", "simulated", "agent", "init"] = "prompt"
    queue_id: RequestId | None = None
    mentions: tuple[Mention, ...] = ()
    to_agent: str = ""


class UserQueued(Payload):
    """A message that waits for the running turn's end."""

    kind: Literal["user.queued"] = "user.queued"
    queue_id: RequestId
    text: LongText
    attachments: tuple[ImageContent, ...] = ()


class UserUnqueued(Payload):
    """A queued message was taken back by the user before it was sent."""

    kind: Literal["user.unqueued"] = "user.unqueued"
    queue_id: RequestId


class UserSteered(Payload):
    """A message into the running turn: it goes to the model with its next request, after the open results."""

    kind: Literal["user.steered"] = "user.steered"
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    mentions: tuple[Mention, ...] = ()


class UserShellStarted(Payload):
    """A command of the user's own (`!`) begins. One at a time, never while a turn runs."""

    kind: Literal["user.shell_started"] = "user.shell_started"
    command: str
    hidden: bool = False


class UserShellProgress(Payload):
    """Live output of the user's running command, merged like a tool's; much output comes in samples."""

    kind: Literal["user.shell_progress"] = "user.shell_progress"
    text: str


class UserShellFinished(Payload):
    """The user ran a command themselves (`!`); `hidden` (`!!`) keeps it out of the model's context.

    `exit_code` is None where it did not end by itself; `ended` says how it came to its end: `interrupted` by the
    user, `timeout`, `failed` to start, `lost` with the program that ran it.
    """

    kind: Literal["user.shell_finished"] = "user.shell_finished"
    command: str
    output: LongText
    exit_code: int | None
    duration_ms: float
    hidden: bool = False
    ended: ShellEnd = "exited"


class TurnStarted(Payload):
    """`turn` counts from 1 in a session. `goes_on`: no message began it; the model goes on from what stood there."""

    kind: Literal["turn.started"] = "turn.started"
    turn: int
    goes_on: bool = False


class TurnFinished(Payload):
    """The agent is idle again. `detail` is a sentence for the user where the reason needs one."""

    kind: Literal["turn.finished"] = "turn.finished"
    turn: int
    reason: TurnEnd
    detail: str = ""
    duration_ms: float = 0.0


class IterationStarted(Payload):
    """One call of `Agent.step` and what it asks for begins. `iteration` counts globally from 1, `local_iteration`
    within the agent's task."""

    kind: Literal["iteration.started"] = "iteration.started"
    iteration: int
    local_iteration: int
    delegate_level: int = 0


class IterationFinished(Payload):
    """`action` names what the agent's step returned."""

    kind: Literal["iteration.finished"] = "iteration.finished"
    iteration: int
    action: Literal["calls", "message", "delegate", "finish", "reject", "none"]
    duration_ms: float


class QuestionAsked(Payload):
    """The agent asks the user. `plan` questions show a plan to approve, edit or refuse."""

    kind: Literal["question.asked"] = "question.asked"
    question_id: RequestId
    text: LongText
    form: Literal["text", "choice", "plan", "stuck"]
    options: tuple[str, ...] = ()


class QuestionAnswered(Payload):
    """`choice` is the index of the chosen option, or None for free words; `answer` the words (or edited plan)."""

    kind: Literal["question.answered"] = "question.answered"
    question_id: RequestId
    answer: LongText
    choice: int | None = None
    by: Literal["user", "engine"] = "user"
