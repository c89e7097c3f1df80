"""L0: what a request's context was made of, and what became of it."""

from typing import Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import RequestId

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


class ContextPacked(Payload):
    """The manifest of one request, before it goes out. `estimated` marks token counts that are ours."""

    kind: Literal["context.packed"] = "context.packed"
    request_id: RequestId
    window: int
    total_tokens: int
    total_chars: int
    sections: tuple[Section, ...]
    fragments: tuple[FragmentRecord, ...] = ()
    estimated: bool = True
    prefix_digest: str = ""
    session_context_injected: bool = False


class ContextWarned(Payload):
    """The context crossed a limit. `fraction` of the window."""

    kind: Literal["context.warned"] = "context.warned"
    level: Literal["near", "over", "compaction", "below"]
    fraction: float


class ContextCompacted(Payload):
    """Messages up to `through_seq` stand as `summary` from now on; `forgets` are the seqs of what is left out."""

    kind: Literal["context.compacted"] = "context.compacted"
    through_seq: int
    summary: LongText
    forgets: tuple[int, ...]
    turns: int
    before_tokens: int
    after_tokens: int
    by: Literal["limit", "user", "overflow"]


class MemoryUpdated(Payload):
    """Blocks of the task's working memory have new values."""

    kind: Literal["memory.updated"] = "memory.updated"
    blocks: dict[str, JsonValue]


class RepomapBuilt(Payload):
    """The repository map's index was built or refreshed."""

    kind: Literal["repomap.built"] = "repomap.built"
    files: int
    symbols: int
    skipped: int
    partial: bool
    duration_ms: float


class RepomapUsed(Payload):
    """A map was rendered for a tool call or a request."""

    kind: Literal["repomap.used"] = "repomap.used"
    query: str
    tokens: int
    files: tuple[str, ...]
    injected: bool
