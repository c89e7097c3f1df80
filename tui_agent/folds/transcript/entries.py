"""The entries of the transcript: what the chat shows, in order.

Invariant: an entry keeps its `id` and position for ever; when it changes, it is replaced by one with a higher
`revision`, and its index is reported once by `Transcript.drain`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent

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
    "hook",
    "job",
    "resume",
    "stuck",
    "context",
]
NoticeLevel: TypeAlias = Literal["info", "running", "warning", "error"]


@dataclass(frozen=True, slots=True)
class EntryBase:
    """What every entry has. `seq` is the event that opened it, `at` its wall time, `turn` 0 before the first."""

    id: str
    seq: int
    at: float
    turn: int
    revision: int
    agent: AgentId


@dataclass(frozen=True, slots=True)
class UserEntry(EntryBase):
    """What the user said. Queued ones move to `sent` when their turn begins (a new entry; this one turns `moved`)."""

    text: LongText
    attachments: tuple[ImageContent, ...]
    state: Literal["sent", "queued", "steered", "removed"]
    queue_id: RequestId | None = None
    mentions: tuple[Mention, ...] = ()
    """Without their texts."""


@dataclass(frozen=True, slots=True)
class AnswerEntry(EntryBase):
    """The model's words (Markdown). While `streaming` the text grows; `stopped` marks an answer cut short."""

    text: LongText
    streaming: bool
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningEntry(EntryBase):
    """The model's shown thinking."""

    text: LongText
    streaming: bool


@dataclass(frozen=True, slots=True)
class Subtask:
    """The delegate that works for a call, with its own meter: iterations begun, calls of tools, tokens. `waited_ms` is how
    long the call waited until it began."""

    agent: AgentId
    name: str
    iteration: int = 0
    calls: int = 0
    tokens: int = 0
    waited_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolEntry(EntryBase):
    """A tool call. `output` is the live tail (at most 16 KB) while it runs; `blocks` the result's display."""

    call_id: CallId
    name: str
    verb: str
    target: str
    state: ToolState
    arguments: JsonMap
    outcome: str = ""
    started_at: float | None = None
    duration_ms: float | None = None
    output: str = ""
    output_lines: int = 0
    """Lines of live output so far, also those no longer held."""
    blocks: tuple[DisplayBlock, ...] = ()
    denied: str = ""
    full_output: LongText | None = None
    subtask: Subtask | None = None
    """Whose work the call is, where it is another agent's; `output` then tells what that one called."""
    asks: bool = False
    """The call is the question that stands behind it: its own row would say the same again, so it has none."""


@dataclass(frozen=True, slots=True)
class NoticeEntry(EntryBase):
    """Something that happened beside the talk. `lines` are sentences; the first is the headline."""

    kind: NoticeKind
    level: NoticeLevel
    lines: tuple[str, ...]
    blocks: tuple[DisplayBlock, ...] = ()
    command: str = ""

    @property
    def summarises(self) -> bool:
        """Stands for a longer story that is there to be opened: folded from the start."""
        return self.kind == "compaction" or (self.kind == "context" and bool(self.blocks))


@dataclass(frozen=True, slots=True)
class QuestionEntry(EntryBase):
    """A question of the agent, and its answer once there is one; `choice` is the option that was taken. `void`: its
    turn or call ended before there was an answer. The form `plan` asks about a plan in Markdown."""

    question_id: RequestId
    text: LongText
    form: str
    options: tuple[str, ...]
    answer: LongText | None = None
    choice: int | None = None
    void: bool = False


@dataclass(frozen=True, slots=True)
class TurnEntry(EntryBase):
    """A turn's end row."""

    reason: TurnEnd
    detail: str
    duration_ms: float
    iterations: int
    files: int
    added: int
    removed: int
    cost_usd: float | None


Entry: TypeAlias = (
    UserEntry | AnswerEntry | ReasoningEntry | ToolEntry | NoticeEntry | QuestionEntry | TurnEntry
)


@dataclass(frozen=True, slots=True)
class TranscriptView:
    """`entries` is a read-only window on the fold's own list: O(1) to make, valid until the next `apply`."""

    entries: Sequence[Entry]
    revision: int
