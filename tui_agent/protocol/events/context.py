"""Events of the context: the contents of a request, and how the contents were reduced."""

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import SummaryShare
from tui_agent.protocol.settings import ContextMode
from tui_agent.protocol.stored_text import LongText

SectionName: TypeAlias = Literal[
    "system",
    "task_contract",
    "available_tools",
    "packed_context",
    "working_memory",
    "repo_map",
    "session_context",
    "recent_observations",
    "mentions",
    "instructions",
    "messages",
    "tool_results",
]


class Section(FrozenModel):
    """The size of one named section of a model request.

    `chars`, `tokens`: size as sent. `raw_chars`: size before any reduction.
    """

    name: SectionName
    raw_chars: int
    chars: int
    tokens: int
    budget: int | None = None
    preserved: bool = True
    reduced: bool = False
    dropped_blocks: int = 0
    rule: str = ""


class FragmentRecord(FrozenModel):
    """The record of a text that a middleware added to a request.

    `digest`: 16 hex digits of SHA-256. `section`: section of the request that contains the text.
    """

    id: str
    digest: str
    tokens: int
    section: SectionName


class CountedMessage(FrozenModel):
    """A message's token count by our own tokenizer. `seq`: the message's event."""

    seq: int
    tokens: int


class ContextPacked(Payload):
    """The contents and size of one request, recorded before it is sent.

    `estimated`: True if tui-agent, not the provider, counted the tokens. `input_budget`: maximum tokens of the request.
    `window_inferred`: True if `window` was inferred because the provider refused a longer request. `counted_tokens`:
    count by `tokenizer`. `total_tokens`: `counted_tokens`, corrected by comparison with the provider's counts of
    earlier requests. `added`: messages that no earlier request contained.
    """

    kind: Literal["context.packed"] = "context.packed"
    request_id: RequestId
    window: int
    total_tokens: int
    total_chars: int
    sections: tuple[Section, ...]
    fragments: tuple[FragmentRecord, ...] = ()
    estimated: bool = True
    raw_chars: int = 0
    input_budget: int | None = None
    mode: ContextMode = "pack"
    counted_tokens: int = 0
    tokenizer: str = ""
    added: tuple[CountedMessage, ...] = ()
    prefix_digest: str = ""
    session_context_injected: bool = False
    window_inferred: bool = False


class ContextWarned(Payload):
    """The context rose above a warning limit, or fell below all of them (level `below`).

    `fraction`: used share of the context window.
    """

    kind: Literal["context.warned"] = "context.warned"
    level: Literal["near", "over", "compaction", "below"]
    fraction: float


class ContextWindowInferred(Payload):
    """A provider refused a request as too long and accepted a shorter one.

    `window`: the context window of the model `profile` from now on, in tokens. `refused_tokens`: size of the shortest
    refused request. `stated_by_provider`: True if the provider stated the window; otherwise it is inferred.
    """

    kind: Literal["context.learnt"] = "context.learnt"
    profile: str
    window: int
    refused_tokens: int
    stated_by_provider: bool = False


class Truncation(FrozenModel):
    """A text that was shortened to fit the context window.

    `label`: description of the text for people. `raw_chars`, `chars`: characters before and after. The context contains
    the beginning and the end of the text, and the id of `artifact`, which has the full text.
    """

    label: str
    raw_chars: int
    chars: int
    artifact: Artifact


class ContextTruncated(Payload):
    """The user's own text was shortened to fit the context window, because reducing everything else was not enough.

    `window`: window in tokens (0: a provider refused the request as too long, without stating its limit).
    """

    kind: Literal["context.cut"] = "context.cut"
    window: int
    truncations: tuple[Truncation, ...]


class ContextCompacted(Payload):
    """A summary replaced the messages up to `through_seq`. `removed_seqs`: seqs of the replaced messages.

    `request_id`: model request that wrote the summary. If `request_id` is null, the summary was built without a model,
    and `fault` says why. `focus`: topic that the summary should emphasise. `sections`, `after_tokens`: parts and size
    of the next request. `shares`: sizes of the parts of the summary. `truncations`: texts that did not fit in full.
    """

    kind: Literal["context.compacted"] = "context.compacted"
    through_seq: int
    summary: LongText
    removed_seqs: tuple[int, ...]
    turns: int
    before_tokens: int
    after_tokens: int
    trigger: Literal["limit", "user", "overflow"]
    focus: str = ""
    request_id: RequestId | None = None
    fault: str = ""
    sections: tuple[Section, ...] = ()
    shares: tuple[SummaryShare, ...] = ()
    truncations: tuple[Truncation, ...] = ()


class ContextReduced(Payload):
    """The results of the calls `call_ids` were replaced by one line each.

    `artifacts`: the full results, in the order of `call_ids`. `removed_seqs`: seqs of the results. `before_tokens`,
    `after_tokens`: size of the whole request before and after.
    """

    kind: Literal["context.reduced"] = "context.reduced"
    call_ids: tuple[CallId, ...]
    artifacts: tuple[Artifact, ...]
    removed_seqs: tuple[int, ...]
    before_tokens: int
    after_tokens: int


class ContextRestored(Payload):
    """Messages were restored after a compaction had removed them.

    `seqs`: seqs of single restored messages. It is empty if all messages of a compaction were restored; `compaction` is
    then the seq of this compaction. `sections`, `after_tokens`: parts and size of the next request. `added`: token
    counts of all restored messages.
    """

    kind: Literal["context.restored"] = "context.restored"
    seqs: tuple[int, ...] = ()
    compaction: int | None = None
    after_tokens: int = 0
    sections: tuple[Section, ...] = ()
    added: tuple[CountedMessage, ...] = ()


class ContextPinned(Payload):
    """The messages `seqs` were pinned: every later summary contains them unchanged.

    If `pinned` is False, they were unpinned.
    """

    kind: Literal["context.pinned"] = "context.pinned"
    seqs: tuple[int, ...]
    pinned: bool = True


class ContextStuck(Payload):
    """The context could not be reduced enough, or a summary had to be made without the model.

    `automatic`: True if automatic compaction continues in this turn.
    """

    kind: Literal["context.stuck"] = "context.stuck"
    message: str
    hint: str = ""
    automatic: bool = False


class MemoryUpdated(Payload):
    """Blocks of the task's working memory changed.

    `blocks`: new values of whole blocks. `appended`, `removed`: single items of a block's list. This event does not
    list changed files or outdated facts: readers derive them from `file.changed` events.
    """

    kind: Literal["memory.updated"] = "memory.updated"
    blocks: dict[str, JsonValue] = Field(default_factory=dict)
    appended: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    removed: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RepomapBuilt(Payload):
    """The index of the repository map was built or refreshed.

    `delay_reason`: reason why the map was not ready for the next request; empty if it was ready.
    """

    kind: Literal["repomap.built"] = "repomap.built"
    files: int
    skipped: int
    partial: bool
    duration_ms: float
    delay_reason: str = ""


class RepomapUsed(Payload):
    """A repository map was rendered for a tool call, or for the model's next request (`injected`).

    `text`: the map, if it was injected; otherwise empty.
    """

    kind: Literal["repomap.used"] = "repomap.used"
    query: str
    tokens: int
    files: tuple[str, ...]
    injected: bool
    text: LongText = ""
