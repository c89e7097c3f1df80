"""What a request's context was made of, and what became of it."""

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import Frozen, LongText
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


class Section(Frozen):
    """One named share of a request. Characters and tokens as sent; `raw_chars` before anything was reduced."""

    name: SectionName
    raw_chars: int
    chars: int
    tokens: int
    budget: int | None = None
    preserved: bool = True
    reduced: bool = False
    dropped_blocks: int = 0
    rule: str = ""


class FragmentRecord(Frozen):
    """One fragment that a middleware contributed: id, digest (16 hex digits of SHA-256), tokens, its section."""

    id: str
    digest: str
    tokens: int
    section: SectionName


class CountedMessage(Frozen):
    """A message of the history (`seq` of the event that it comes from) and its tokens before any correction."""

    seq: int
    tokens: int


class ContextPacked(Payload):
    """The manifest of one request, before it goes out. `estimated` marks token counts that are ours.

    `room` are the tokens that it may take; `learnt`: `window` is what the refusal of a longer request let expect.
    `counted_tokens` is what `tokenizer` counted, which a ratio learnt from the provider's own counts corrects to
    `total_tokens`. `added` are the messages that no request before has counted.
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
    room: int | None = None
    mode: ContextMode = "pack"
    counted_tokens: int = 0
    tokenizer: str = ""
    added: tuple[CountedMessage, ...] = ()
    prefix_digest: str = ""
    session_context_injected: bool = False
    learnt: bool = False


class ContextWarned(Payload):
    """The context reached a limit, or is `below` all of them again. `fraction` of the window."""

    kind: Literal["context.warned"] = "context.warned"
    level: Literal["near", "over", "compaction", "below"]
    fraction: float


class ContextLearnt(Payload):
    """A provider found a request too long and took a shorter one: `window` tokens count as the window of this model
    (`profile`) from now on, in later runs of the session too. `refused` are those of the shortest request that it refused;
    `told`: the window is what the provider says, else it is what it let expect.
    """

    kind: Literal["context.learnt"] = "context.learnt"
    profile: str
    window: int
    refused: int
    told: bool = False


class Cut(Frozen):
    """What should stand whole and has no room: `what` it is, for a person, and its characters before and after. The
    context has its beginning and end, or what is left of it, and the id of `artifact`, which holds all of it."""

    what: str
    raw_chars: int
    chars: int
    artifact: Artifact


class ContextCut(Payload):
    """A person's words that do not fit the window though everything else was made smaller; `window` is 0 where a provider
    refused them and nobody knows its window."""

    kind: Literal["context.cut"] = "context.cut"
    window: int
    cuts: tuple[Cut, ...]


class ContextCompacted(Payload):
    """Messages up to `through_seq` stand as `summary` from now on; `forgets` are the seqs of what is left out.

    `request_id` is the model's request that the summary comes from; without one it was put together from what is
    recorded, `fault` says why. `focus` is what the summary was to dwell on. `sections` are what the agent's next request
    would hold, which is `after_tokens` together. `shares` tell what of the summary are a person's own words, and `cuts`
    what had no room whole in it.
    """

    kind: Literal["context.compacted"] = "context.compacted"
    through_seq: int
    summary: LongText
    forgets: tuple[int, ...]
    turns: int
    before_tokens: int
    after_tokens: int
    by: Literal["limit", "user", "overflow"]
    focus: str = ""
    request_id: RequestId | None = None
    fault: str = ""
    sections: tuple[Section, ...] = ()
    shares: tuple[SummaryShare, ...] = ()
    cuts: tuple[Cut, ...] = ()


class ContextReduced(Payload):
    """The results of these calls stand as one line each from now on; `artifacts`, in the same order, hold them whole.

    `forgets` are the seqs of the results. Tokens of the whole request, before and after.
    """

    kind: Literal["context.reduced"] = "context.reduced"
    call_ids: tuple[CallId, ...]
    artifacts: tuple[Artifact, ...]
    forgets: tuple[int, ...]
    before_tokens: int
    after_tokens: int


class ContextRestored(Payload):
    """Messages with these seqs are in the context again; or all that the newest compaction, event `compaction`, took.

    `sections` are what the agent's next request would hold, which is `after_tokens` together; `added` are the messages
    that came back, by the events that they were first told in.
    """

    kind: Literal["context.restored"] = "context.restored"
    seqs: tuple[int, ...] = ()
    compaction: int | None = None
    after_tokens: int = 0
    sections: tuple[Section, ...] = ()
    added: tuple[CountedMessage, ...] = ()


class ContextPinned(Payload):
    """Messages with these seqs are kept, word for word, by every compaction to come; or no longer."""

    kind: Literal["context.pinned"] = "context.pinned"
    seqs: tuple[int, ...]
    pinned: bool = True


class ContextStuck(Payload):
    """The context could not be made smaller, or only without the model. `automatic`: it is tried again in this turn."""

    kind: Literal["context.stuck"] = "context.stuck"
    message: str
    hint: str = ""
    automatic: bool = False


class MemoryUpdated(Payload):
    """Blocks of the task's working memory have new values; from those of `gone`, lists, something went, and to those of
    `newest` something came at the end.

    What calls that run at once add is told so, and nothing that one of them found is lost by another one. What was
    changed so far, and which facts rest on a file that was changed since, `file.changed` says by itself.
    """

    kind: Literal["memory.updated"] = "memory.updated"
    blocks: dict[str, JsonValue] = Field(default_factory=dict)
    newest: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    gone: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RepomapBuilt(Payload):
    """The repository map's index was built or refreshed; or, `late`, a request goes out before that, and why: a later one
    has the map."""

    kind: Literal["repomap.built"] = "repomap.built"
    files: int
    skipped: int
    partial: bool
    duration_ms: float
    late: str = ""


class RepomapUsed(Payload):
    """A map was rendered for a tool call; or, `injected`, for the model's next request, which has `text`."""

    kind: Literal["repomap.used"] = "repomap.used"
    query: str
    tokens: int
    files: tuple[str, ...]
    injected: bool
    text: LongText = ""
