"""Events of turns and iterations, and of the user's messages, commands and answers."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import LongText, Payload, RequestId
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
    """The session received a message that starts a turn. `source` says where the message came from.

    `to_agent` is the named agent that the user delegated the task to; empty for the session's own agent. `mentions` are
    the files and symbols mentioned in the text, as they were when the message was sent. `command` is the slash command
    that produced the text, as typed. `shell` are commands that the agent runs first. `own_words` are the words that the
    user typed around long pastes; lists and titles name the message by these words. Empty if nothing long was pasted.
    """

    kind: Literal["user.message"] = "user.message"
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    source: Literal["prompt", "queue", "simulated", "agent", "init"] = "prompt"
    queue_id: RequestId | None = None
    mentions: tuple[Mention, ...] = ()
    to_agent: str = ""
    command: str = ""
    shell: tuple[str, ...] = ()
    own_words: str = ""


class UserQueued(Payload):
    """The user queued a message to be sent when the running turn ends.

    `command` is the slash command that produced the message. `own_words` are the words around long pastes.
    """

    kind: Literal["user.queued"] = "user.queued"
    queue_id: RequestId
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    command: str = ""
    own_words: str = ""


class UserUnqueued(Payload):
    """A queued message was removed from the queue without being sent.

    The user removed it, or moved the session to an event before the message was queued.
    """

    kind: Literal["user.unqueued"] = "user.unqueued"
    queue_id: RequestId


class UserSteered(Payload):
    """The user added a message to the running turn. The next request contains it, after the results of running calls.

    `command` is the slash command that produced the text. `own_words` are the words around long pastes.
    """

    kind: Literal["user.steered"] = "user.steered"
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    mentions: tuple[Mention, ...] = ()
    command: str = ""
    own_words: str = ""


class UserShellStarted(Payload):
    """A command that the user typed after `!` started. Such commands run one at a time, and never during a turn."""

    kind: Literal["user.shell_started"] = "user.shell_started"
    command: str
    hidden: bool = False


class UserShellProgress(Payload):
    """New output of a command that the user typed after `!`. The output is merged like a tool's output.

    If the output is very long, only samples are recorded.
    """

    kind: Literal["user.shell_progress"] = "user.shell_progress"
    text: str


class UserShellFinished(Payload):
    """A command that the user typed after `!` ended. If it is `hidden` (`!!`), its output is not sent to the model.

    `output` is the text for the model. If it is shortened, `full_output` is all output that was kept. `exit_code` is
    None if the command did not exit by itself. `end` is `interrupted` (by the user), `timeout`, `failed` (to start), or
    `lost` (the program that ran the command crashed).
    """

    kind: Literal["user.shell_finished"] = "user.shell_finished"
    command: str
    output: LongText
    exit_code: int | None
    duration_ms: float
    hidden: bool = False
    end: ShellEnd = "exited"
    full_output: LongText | None = None


class TurnStarted(Payload):
    """A turn started. `turn` counts from 1.

    `is_continuation` is True if no new message started the turn, so that the model continues from the history.
    """

    kind: Literal["turn.started"] = "turn.started"
    turn: int
    is_continuation: bool = False


class TurnFinished(Payload):
    """A turn ended and the agent is idle. `detail` is a sentence that explains the reason to the user, or empty."""

    kind: Literal["turn.finished"] = "turn.finished"
    turn: int
    reason: TurnEnd
    detail: str = ""
    duration_ms: float = 0.0


class IterationStarted(Payload):
    """An iteration started: one call of `Agent.step` and the tool calls that it requests.

    `iteration` counts from 1 over the whole session. `local_iteration` counts within the agent's task.
    """

    kind: Literal["iteration.started"] = "iteration.started"
    iteration: int
    local_iteration: int
    delegate_level: int = 0


class IterationFinished(Payload):
    """An iteration ended. `action` is the kind of action that `Agent.step` returned."""

    kind: Literal["iteration.finished"] = "iteration.finished"
    iteration: int
    action: Literal["calls", "message", "delegate", "finish", "reject", "none"]
    duration_ms: float


class QuestionAsked(Payload):
    """The agent asked the user a question. A `plan` question shows a plan to approve, edit or refuse."""

    kind: Literal["question.asked"] = "question.asked"
    question_id: RequestId
    text: LongText
    form: Literal["text", "choice", "plan", "stuck"]
    options: tuple[str, ...] = ()


class QuestionAnswered(Payload):
    """The user answered the agent's question with `answer` (for a plan, the edited plan).

    `choice` is the index of the chosen option. It is None for free text.
    """

    kind: Literal["question.answered"] = "question.answered"
    question_id: RequestId
    answer: LongText
    choice: int | None = None
    answered_by: Literal["user", "engine"] = "user"
