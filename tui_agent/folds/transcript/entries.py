"""The entries of the transcript, in the order in which the chat shows them.

Invariant: an entry keeps its `id` and position forever. A changed entry is a new object with a higher `revision`.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.changed_files import FolderFiles
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.stored_text import JsonMap, LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import CostPrecision

ToolState: TypeAlias = Literal[
    "queued", "running", "waiting", "done", "failed", "denied", "interrupted", "lost"
]


NoticeKind: TypeAlias = Literal[
    "retry",
    "model_failed",
    "error",
    "rejected",
    "compaction",
    "repair",
    "settings",
    "shell",
    "plugin",
    "command",
    "hook",
    "job",
    "resume",
    "stuck",
    "context",
]
NoticeLevel: TypeAlias = Literal["info", "running", "warning", "error"]


@dataclass(frozen=True, slots=True)
class EntryBase:
    """Fields of every entry of the transcript.

    `seq`: event that created the entry.
    `time`: time of that event in seconds since the epoch.
    `turn`: number of the turn; 0 before the first turn.
    """

    id: str
    seq: int
    time: float
    turn: int
    revision: int
    agent: AgentId


@dataclass(frozen=True, slots=True)
class UserEntry(EntryBase):
    """A message of the user.

    When a `queued` message is sent, its entry becomes `removed`, and a new entry is added.
    """

    text: LongText
    attachments: tuple[ImageContent, ...]
    state: Literal["sent", "queued", "steered", "removed"]
    queue_id: RequestId | None = None
    mentions: tuple[Mention, ...] = ()
    """The mentions in the message, without their contents."""
    command: str = ""
    """The slash command that produced the text, as the user typed it."""
    own_words: str = ""
    """The text that the user typed, without long pastes. Empty if nothing long was pasted."""
    images_left_out_for: str = ""
    """Name of the model that did not accept the message's images, or an empty string."""

    @property
    def headline(self) -> str:
        """The user's own words in one line. Lists and notices show this line to identify the message."""
        return " ".join(text_preview(self.own_words or self.text).split()) or "(a picture)"


@dataclass(frozen=True, slots=True)
class AnswerEntry(EntryBase):
    """Text of the model (Markdown).

    `streaming`: True while the text grows.
    `stopped`: True if the answer was cut short.
    """

    text: LongText
    streaming: bool
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningEntry(EntryBase):
    """Reasoning text of the model."""

    text: LongText
    streaming: bool


@dataclass(frozen=True, slots=True)
class Subtask:
    """The delegate that works for a call, and the amount of the delegate's work so far.

    `waited_ms`: milliseconds from the start of the call to the start of the delegate.
    """

    agent: AgentId
    iteration: int = 0
    calls: int = 0
    usage: UsageTotals = NO_USAGE
    waited_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolEntry(EntryBase):
    """A tool call.

    `output`: newest output (at most 16 KB) while the tool runs.
    `blocks`: blocks that display the result.
    """

    call_id: CallId
    name: str
    verb: str
    target: str
    state: ToolState
    arguments: JsonMap
    outcome: str = ""
    started_at: float | None = None
    """Start time of the call. The time that the user took to answer questions is added."""
    asked_at: float | None = None
    """Time of the newest question about the call."""
    duration_ms: float | None = None
    output: str = ""
    output_lines: int = 0
    """Number of lines of live output so far, including lines that are no longer stored."""
    blocks: tuple[DisplayBlock, ...] = ()
    denial: str = ""
    """Reason why the call was denied: the policy's reason or the user's message."""
    denied_by_user: bool = False
    full_output: LongText | None = None
    subtask: Subtask | None = None
    """The delegate that does the work of the call, if any."""
    is_question: bool = False
    """True if the call only asks a question. The next entry shows the question."""

    @property
    def result(self) -> str:
        """The outcome of the call, or the policy's reason for a denial."""
        if self.denied_by_user:
            return "" if self.state == "denied" else self.outcome
        return self.denial or self.outcome


@dataclass(frozen=True, slots=True)
class NoticeEntry(EntryBase):
    """A notice about something outside the conversation. The first of its `lines` is the headline."""

    kind: NoticeKind
    level: NoticeLevel
    lines: tuple[str, ...]
    blocks: tuple[DisplayBlock, ...] = ()
    command: str = ""

    @property
    def is_summary(self) -> bool:
        """True if the blocks are a long summary."""
        return self.kind == "compaction" or (self.kind == "context" and bool(self.blocks))


@dataclass(frozen=True, slots=True)
class QuestionEntry(EntryBase):
    """A question of the agent, and the user's answer.

    `form`: `plan` if the text is a plan in Markdown.
    `choice`: index of the chosen option.
    `is_void`: True if the turn or call ended without an answer.
    """

    question_id: RequestId
    text: LongText
    form: str
    options: tuple[str, ...]
    answer: LongText | None = None
    choice: int | None = None
    is_void: bool = False


@dataclass(frozen=True, slots=True)
class TurnEntry(EntryBase):
    """The row that the chat shows at the end of a turn.

    If a file changed more than once, `edits` counts the changes, and `added` and `removed` are 0.
    """

    reason: TurnEnd
    detail: str
    duration_ms: float
    iterations: int
    files: int
    added: int
    removed: int
    cost_usd: float | None
    cost_precision: CostPrecision = "exact"
    edits: int = 0
    folders: tuple[FolderFiles, ...] = ()
    """Generated folders with changed files. The number `files` does not include these files."""
    has_unknown_changes: bool = False
    """True if a crash interrupted a call that writes, and no checkpoint contains its changes yet."""

    @property
    def files_text(self) -> str:
        """The number of changed files: `2 files`, or `2 files, 5 edits`."""
        edits = f", {format_count(self.edits, 'edit')}" if self.edits else ""
        return f"{format_count(self.files, 'file')}{edits}"


Entry: TypeAlias = (
    UserEntry | AnswerEntry | ReasoningEntry | ToolEntry | NoticeEntry | QuestionEntry | TurnEntry
)


@dataclass(frozen=True, slots=True)
class TranscriptView:
    """The entries of the transcript.

    The list `entries` is valid until the next `apply`. Do not change it.
    """

    entries: Sequence[Entry]
    revision: int
