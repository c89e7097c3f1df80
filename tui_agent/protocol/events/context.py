"""Events of the context: the contents of a request and how they were reduced."""

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import FrozenModel, LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId, RequestId
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
    """A named share of a request. Characters and tokens are as sent; `raw_chars` is before any reduction."""

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
    """A fragment added by a middleware: id, digest (16 hex digits of SHA-256), tokens and section."""

    id: str
    digest: str
    tokens: int
    section: SectionName


class CountedMessage(FrozenModel):
    """A message of the history (`seq` is that of its event) and its tokens before any correction."""

    seq: int
    tokens: int


class ContextPacked(Payload):
    """The manifest of one request, before it is sent. `estimated` means that the token counts are ours.

    `input_budget` is the number of tokens that the request may take. `window_inferred` means that `window` was inferred from
    the refusal of a longer request. `counted_tokens` is the count of `tokenizer`; a ratio learned from the
    provider's own counts corrects it to `total_tokens`. `added` are the messages not counted in any earlier
    request.
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
    """The context reached a limit or, with `below`, fell under all of them. `fraction` is the share of the
    window in use."""

    kind: Literal["context.warned"] = "context.warned"
    level: Literal["near", "over", "compaction", "below"]
    fraction: float


class ContextWindowInferred(Payload):
    """A provider refused a request as too long and accepted a shorter one.

    From now on, in later runs of the session too, `window` tokens are used as the window of this model
    (`profile`). `refused_tokens` is the tokens of the shortest refused request. `stated_by_provider` means that the provider
    stated the window; otherwise it is inferred.
    """

    kind: Literal["context.learnt"] = "context.learnt"
    profile: str
    window: int
    refused_tokens: int
    stated_by_provider: bool = False


class Truncation(FrozenModel):
    """A text shortened because it does not fit.

    `label` describes it for people; `raw_chars` and `chars` are its characters before and after. The context
    keeps its beginning and end, or what is left of them, and the id of `artifact`, which stores all of it.
    """

    label: str
    raw_chars: int
    chars: int
    artifact: Artifact


class ContextTruncated(Payload):
    """The user's own text was shortened because it does not fit the window even after everything else was
    reduced.

    `window` is 0 if a provider refused the request and its window is unknown.
    """

    kind: Literal["context.cut"] = "context.cut"
    window: int
    truncations: tuple[Truncation, ...]


class ContextCompacted(Payload):
    """A summary replaced the messages up to `through_seq`; `removed_seqs` are the seqs of those left out.

    `request_id` is the model request that wrote the summary. Without one the summary was assembled from the
    log, and `fault` gives the reason. `focus` is the topic that the summary should emphasise. `sections`
    describes the agent's next request, which takes `after_tokens` in total. `shares` measures the user's own
    words in the summary, and `truncations` lists texts that did not fit in full.
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
    """The results of these calls were replaced by one line each; `artifacts`, in the same order, store them
    in full.

    `removed_seqs` are the seqs of the results. Tokens are those of the whole request, before and after.
    """

    kind: Literal["context.reduced"] = "context.reduced"
    call_ids: tuple[CallId, ...]
    artifacts: tuple[Artifact, ...]
    removed_seqs: tuple[int, ...]
    before_tokens: int
    after_tokens: int


class ContextRestored(Payload):
    """Messages with these seqs, or all that the newest compaction (event `compaction`) removed, returned to
    the context.

    `sections` describes the agent's next request, which takes `after_tokens` in total; `added` are the
    returned messages, identified by the events that first held them.
    """

    kind: Literal["context.restored"] = "context.restored"
    seqs: tuple[int, ...] = ()
    compaction: int | None = None
    after_tokens: int = 0
    sections: tuple[Section, ...] = ()
    added: tuple[CountedMessage, ...] = ()


class ContextPinned(Payload):
    """Every later compaction keeps the messages with these seqs verbatim or, with `pinned` False, no longer does."""

    kind: Literal["context.pinned"] = "context.pinned"
    seqs: tuple[int, ...]
    pinned: bool = True


class ContextStuck(Payload):
    """The context could not be reduced, or only without the model.

    `automatic` means that it is tried again in this turn.
    """

    kind: Literal["context.stuck"] = "context.stuck"
    message: str
    hint: str = ""
    automatic: bool = False


class MemoryUpdated(Payload):
    """Blocks of the task's working memory changed.

    `blocks` are new values; `removed` are items removed from lists, `appended` items appended to them. Concurrent
    calls append this way so that none overwrites what another added. The list of changed files, and which
    facts are outdated because a file changed, follow from `file.changed` alone.
    """

    kind: Literal["memory.updated"] = "memory.updated"
    blocks: dict[str, JsonValue] = Field(default_factory=dict)
    appended: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    removed: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RepomapBuilt(Payload):
    """The index of the repository map was built or refreshed.

    With `delay_reason`, which gives the reason, a request is sent before the map is ready; a later one has it.
    """

    kind: Literal["repomap.built"] = "repomap.built"
    files: int
    skipped: int
    partial: bool
    duration_ms: float
    delay_reason: str = ""


class RepomapUsed(Payload):
    """A map was rendered for a tool call or, if `injected`, for the model's next request.

    `text` is the map of an injected one.
    """

    kind: Literal["repomap.used"] = "repomap.used"
    query: str
    tokens: int
    files: tuple[str, ...]
    injected: bool
    text: LongText = ""
