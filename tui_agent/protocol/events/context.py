"""Events of the context: the contents of a request, and how the contents were reduced."""

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import CallId, FrozenModel, LongText, Payload, RequestId
from tui_agent.protocol.messages import SummaryShare
from tui_agent.protocol.settings import ContextMode

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

    `chars` and `tokens` are the size as sent; `raw_chars` is the size before any reduction.
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
    """A piece of text that a middleware added to a request, as recorded in events.

    `digest` is 16 hex digits of SHA-256. `section` is the section of the request that contains the piece.
    """

    id: str
    digest: str
    tokens: int
    section: SectionName


class CountedMessage(FrozenModel):
    """A message's token count by our own tokenizer, without correction. `seq` is the message's event."""

    seq: int
    tokens: int


class ContextPacked(Payload):
    """The contents and size of one request, recorded before it is sent.

    `estimated` is True if tui-agent counted the tokens and not the provider. `input_budget` is the maximum number of
    tokens for the request. `window_inferred` is True if `window` was inferred from the refusal of a longer request.
    `counted_tokens` is the count of `tokenizer`. `total_tokens` is this count times a ratio that was computed from the
    provider's own counts. `added` are the messages that no earlier request contained.
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
    """The context reached one of the warning limits. With the level `below`, the context fell below all limits.

    `fraction` is the share of the context window that is in use.
    """

    kind: Literal["context.warned"] = "context.warned"
    level: Literal["near", "over", "compaction", "below"]
    fraction: float


class ContextWindowInferred(Payload):
    """A provider refused a request as too long and accepted a shorter one.

    In this run and in all later runs, `window` is used as the context window of the model `profile`, in tokens.
    `refused_tokens` is the size of the shortest refused request in tokens. `stated_by_provider` is True if the provider
    stated the window; otherwise the window is inferred.
    """

    kind: Literal["context.learnt"] = "context.learnt"
    profile: str
    window: int
    refused_tokens: int
    stated_by_provider: bool = False


class Truncation(FrozenModel):
    """A text that was shortened to fit the context window.

    `label` describes the text for people. `raw_chars` and `chars` are its characters before and after. The context
    contains the beginning and the end of the text, and the id of `artifact`. The artifact stores the full text. The
    text can be shortened again later.
    """

    label: str
    raw_chars: int
    chars: int
    artifact: Artifact


class ContextTruncated(Payload):
    """The user's own text was shortened to fit the context window, after everything else had been reduced.

    `window` is the window in tokens; 0 if a provider refused the request and its window is unknown.
    """

    kind: Literal["context.cut"] = "context.cut"
    window: int
    truncations: tuple[Truncation, ...]


class ContextCompacted(Payload):
    """A summary replaced the messages up to `through_seq`. `removed_seqs` are the seqs of the replaced messages.

    `request_id` is the model request that wrote the summary. If it is None, the summary was built from the log, and
    `fault` gives the reason. `focus` is the topic that the summary should emphasise. `sections` describes the agent's
    next request, which has `after_tokens` tokens in total. `shares` are the sizes of the user's words and of the other
    text in the summary. `truncations` lists texts that did not fit in full.
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

    `artifacts` store the full results, in the order of `call_ids`. `removed_seqs` are the seqs of the results.
    `before_tokens` and `after_tokens` are sizes of the whole request.
    """

    kind: Literal["context.reduced"] = "context.reduced"
    call_ids: tuple[CallId, ...]
    artifacts: tuple[Artifact, ...]
    removed_seqs: tuple[int, ...]
    before_tokens: int
    after_tokens: int


class ContextRestored(Payload):
    """Messages that a compaction had removed were restored.

    `seqs` are the messages. If all messages of a compaction were restored, `compaction` is the seq of the compaction
    event instead. `sections` describes the agent's next request, which has `after_tokens` tokens in total. `added` are
    the restored messages, identified by their original events.
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

    `automatic` is True if automatic compaction continues in this turn.
    """

    kind: Literal["context.stuck"] = "context.stuck"
    message: str
    hint: str = ""
    automatic: bool = False


class MemoryUpdated(Payload):
    """Blocks of the task's working memory changed.

    `blocks` are new values of whole blocks. `removed` and `appended` are single items of a block's list, so that
    concurrent calls do not overwrite each other's items. The list of changed files and the set of outdated facts are
    not recorded here, because they are derived from `file.changed` events.
    """

    kind: Literal["memory.updated"] = "memory.updated"
    blocks: dict[str, JsonValue] = Field(default_factory=dict)
    appended: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    removed: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RepomapBuilt(Payload):
    """The index of the repository map was built or refreshed.

    `delay_reason` is set if the map was not ready in time. The next request is then sent without the map, and a later
    request contains it.
    """

    kind: Literal["repomap.built"] = "repomap.built"
    files: int
    skipped: int
    partial: bool
    duration_ms: float
    delay_reason: str = ""


class RepomapUsed(Payload):
    """A repository map was rendered for a tool call, or for the model's next request (`injected`).

    `text` is the injected map. It is empty for a tool call.
    """

    kind: Literal["repomap.used"] = "repomap.used"
    query: str
    tokens: int
    files: tuple[str, ...]
    injected: bool
    text: LongText = ""
