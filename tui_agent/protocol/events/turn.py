"""Events of turns and iterations, and of the user's messages, commands and answers."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.stored_text import LongText

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
    """The session received a message, and a turn starts. `source`: origin of the message.

    `to_agent`: agent that the user gave the task to (empty: the session's own agent). `mentions`: mentioned files and
    symbols, as they were when the message was sent. `command`: slash command that produced the text, as typed. `shell`:
    commands that the agent runs first. `own_words`: words that the user typed before and after a long paste, for lists
    and titles; empty without a long paste. `typed_mentions`: mentions that the user typed or chose, not pasted (null:
    unknown).
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
    typed_mentions: tuple[str, ...] | None = None


class UserQueued(Payload):
    """The user queued a message to be sent when the running turn or command ends.

    `command`: slash command that produced the message. `own_words`: words that the user typed before and after a long
    paste. `typed_mentions`: mentions that the user typed or chose (null: unknown). `place`: number of queued messages
    before this one (null: this one is the last).
    """

    kind: Literal["user.queued"] = "user.queued"
    queue_id: RequestId
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    command: str = ""
    own_words: str = ""
    place: int | None = None
    typed_mentions: tuple[str, ...] | None = None


class UserUnqueued(Payload):
    """A queued message was removed from the queue without being sent.

    The user removed it, or moved the session to an earlier event.
    """

    kind: Literal["user.unqueued"] = "user.unqueued"
    queue_id: RequestId


class UserSteered(Payload):
    """The user added a message to the running turn. The next request contains the message after the results of running
    calls.

    `command`: slash command that produced the text. `own_words`: words that the user typed before and after a long
    paste. `typed_mentions`: mentions that the user typed or chose (null: unknown).
    """

    kind: Literal["user.steered"] = "user.steered"
    text: LongText
    attachments: tuple[ImageContent, ...] = ()
    mentions: tuple[Mention, ...] = ()
    command: str = ""
    own_words: str = ""
    typed_mentions: tuple[str, ...] | None = None


class UserShellStarted(Payload):
    """A shell command of the user (`!`) started. Such commands run one at a time, and not during a turn.

    If the command ran between an undo and its redo, the redo records this event and `user.shell_finished` again, so that
    the command stays in the conversation.

    `typed`: slash command that produced the command, such as `/search hours`; empty if the user typed `!`.
    """

    kind: Literal["user.shell_started"] = "user.shell_started"
    command: str
    hidden: bool = False
    typed: str = ""

    @property
    def label(self) -> str:
        """The command as the user typed it."""
        return self.typed or self.command


class UserShellProgress(Payload):
    """New output of a shell command of the user (`!`). Very long output is recorded only in part."""

    kind: Literal["user.shell_progress"] = "user.shell_progress"
    text: str


class UserShellFinished(Payload):
    """A shell command of the user (`!`) ended. `hidden`: True if its output is not sent to the model (`!!`).

    `output`: text for the model, without control sequences. `full_output`: all output that was kept, if `output` differs
    from it. `exit_code`: null if the command did not end by itself. `end`: `exited`, `interrupted` (by the user),
    `timeout`, `failed` (could not start) or `lost` (the program that ran the command crashed).
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
    """A turn started. `turn`: number of the turn, from 1.

    `is_continuation`: True if no new message started the turn and the model continues from the history.
    """

    kind: Literal["turn.started"] = "turn.started"
    turn: int
    is_continuation: bool = False


class TurnFinished(Payload):
    """A turn ended and the agent is idle. `detail`: sentence that explains the reason to the user, or empty."""

    kind: Literal["turn.finished"] = "turn.finished"
    turn: int
    reason: TurnEnd
    detail: str = ""
    duration_ms: float = 0.0


class IterationStarted(Payload):
    """An iteration started: one call of `Agent.step` and the tool calls that it requests.

    `iteration`: number within the session, from 1. `local_iteration`: number within the agent's task.
    """

    kind: Literal["iteration.started"] = "iteration.started"
    iteration: int
    local_iteration: int
    delegate_level: int = 0


class IterationFinished(Payload):
    """An iteration ended. `action`: kind of the action that the agent chose (returned by `Agent.step`)."""

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

    `choice`: index of the chosen option (null: free text).
    """

    kind: Literal["question.answered"] = "question.answered"
    question_id: RequestId
    answer: LongText
    choice: int | None = None
    answered_by: Literal["user", "engine"] = "user"
