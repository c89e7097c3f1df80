"""The context's content by message, tool and file, and the requests in which the content was sent.

Invariant: every message is counted once, when a request first contains it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.meter import (
    SECTION_LABELS,
    ContextMeterView,
    estimate_partial_answer,
    scale_to_total,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextRestored,
    CountedMessage,
    RepomapUsed,
    SectionName,
)
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, CallId, RequestId
from tui_agent.protocol.parts import text_previews, tool_calls
from tui_agent.protocol.stored_text import text_preview, text_size

IMAGE_CHARS = 4_800
"""Estimated size of an image, in characters: a text of this length has about as many tokens as an image."""
MAX_REQUESTS = 40
"""Maximum number of requests in the list of requests."""
FILE_ARGUMENT = "path"
_MAX_SUBJECT_CHARS = 80

TAKES = (
    ContextPacked,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    InstructionsLoaded,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RepomapUsed,
    SessionContextLoaded,
    ToolCalled,
    ToolFinished,
    UserMessageReceived,
    UserSteered,
)
"""The classes of event payloads that `Ledger` handles."""


@dataclass(frozen=True, slots=True)
class LedgerMessage:
    """A message of the context.

    - `seq`: number of the message's event.
    - `sender`: `you`, `answer`, `summary`, … or the name of a tool.
    - `files`: maps each file in the message to its fraction of the message's tokens.
    """

    seq: int
    sender: str
    subject: str
    tokens: int
    files: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """The total of all messages from one tool or about one file."""

    name: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """A request of the main agent.

    - `sections`: maps each section to its tokens.
    - `chars`: maps each section to its characters.
    - `input_tokens`, `cached_tokens`, `cost_usd`: numbers from the provider (None until the provider answers).
    - `cache_miss_reason`: reason why a part of the previous request was not read from the cache (empty: all of it was).
    """

    request_id: RequestId
    seq: int
    tokens: int
    sections: Mapping[SectionName, int]
    chars: Mapping[SectionName, int]
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    cache_miss_reason: str = ""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The content of the context, with messages and totals sorted by size, and requests by time.

    `new_answer_seq`: event of the newest answer, whose tokens the provider counted. -1 if a request already contains
    this answer.
    """

    messages: tuple[LedgerMessage, ...] = ()
    tools: tuple[LedgerSum, ...] = ()
    files: tuple[LedgerSum, ...] = ()
    requests: tuple[LedgerRequest, ...] = ()
    new_answer_seq: int = -1

    def scale_to(self, meter: ContextMeterView) -> "LedgerView":
        """Return a new ledger whose messages add up to the sizes of the meter's sections."""
        totals = {section.name: section.tokens for section in meter.sections}
        own_sections = {name: totals[name] for name in _OWN_SECTION_SENDERS if totals.get(name)}
        if _INSTRUCTIONS in own_sections:
            own_sections[_INSTRUCTIONS] = self._scale_instructions(totals[_INSTRUCTIONS])
        # The provider counted the newest answer, so only the sizes of the other messages are scaled.
        messages = [message for message in self.messages if message.seq == self.new_answer_seq]
        rest = max(0, meter.message_tokens - sum(message.tokens for message in messages))
        for name, total in {**own_sections, "": rest}.items():
            group = [
                message
                for message in self.messages
                if message.seq != self.new_answer_seq
                and (message.sender == name if name else message.sender not in own_sections)
            ]
            sizes = scale_to_total([message.tokens for message in group], total)
            messages += (replace(message, tokens=size) for message, size in zip(group, sizes, strict=True))
        return _ledger_view(messages, self.requests, self.new_answer_seq)

    def _scale_instructions(self, total: int) -> int:
        """Return how many tokens of the instructions are in messages; the remaining ones are in the system prompt.

        `total`: tokens of all instructions.
        """
        tokens = sum(message.tokens for message in self.messages if message.sender == _INSTRUCTIONS)
        counted = self.requests[-1].sections.get("instructions", 0) if self.requests else 0
        return round(tokens * total / counted) if counted else tokens

    def difference(self, before: int, after: int) -> dict[SectionName, int]:
        """Return the growth in tokens of each section between two requests. Unchanged sections are left out.

        `before`, `after`: indexes in `requests`.
        """
        old, new = self.requests[before], self.requests[after]
        changes = {name: _section_change(old, new, name) for name in (*old.sections, *new.sections)}
        return {name: change for name, change in changes.items() if change}


@dataclass(frozen=True, slots=True)
class _Source:
    sender: str
    subject: str
    files: Mapping[str, float] = field(default_factory=dict)


_OTHER_SOURCE = _Source("other", "")
_INSTRUCTIONS, _REPO_MAP, _EARLIER_SESSION = (
    SECTION_LABELS[name] for name in ("instructions", "repo_map", "session_context")
)
_OWN_SECTION_SENDERS = (_INSTRUCTIONS, _REPO_MAP, _EARLIER_SESSION)
"""Senders whose messages have a section of their own, with the same name."""
_CACHE_MISS = "not in the provider's cache"
"""Reason shown if the beginning of a request is unchanged but nothing was read from the provider's cache."""
_PARTIAL_CACHE_HIT = "only partly in the provider's cache"
_EXPECTED_CACHE_SHARE = 0.8
"""A cache hit counts as full if at least this fraction of the unchanged tokens was read from the cache."""
_CACHE_BLOCK_TOKENS = 1_024
"""Size of a block of the provider's cache in tokens. Only whole blocks are stored."""


class Ledger:
    """Builds the ledger of the context from the events of the main agent."""

    def __init__(self) -> None:
        self._new_sources: dict[int, _Source] = {}
        """The source of each message that no request contains yet: event number → (sender, subject and files)."""
        self._calls: dict[CallId, _Source] = {}
        self._present: dict[int, tuple[_Source, int]] = {}
        self._removed: dict[int, tuple[_Source, int]] = {}
        """Messages replaced by the newest summary: event number → (source, size)."""
        self._ratio = 1.0
        self._requests: dict[RequestId, LedgerRequest] = {}
        self._previous: ContextPacked | None = None
        self._changes: dict[str, None] = {}
        """Changes of the history since the newest request, such as "turns summarised", as an ordered set."""
        self._model = ("", "")
        self._previous_tokens = 0
        """Number of tokens of the newest request, as counted by the provider."""
        self._uses_cache = False
        """True after the provider has read a part of a request from its cache."""
        self._new_answer_seq = -1
        self._view: LedgerView | None = None

    def apply(self, ev: Envelope) -> bool:
        if ev.agent != MAIN_AGENT:
            return False
        match ev.payload:
            case ContextPacked() as packed:
                self._add_request(ev.seq, packed)
            case ModelRequested(request_id=request, model=model):
                self._set_model(request, (model.provider, model.model))
            case ModelResponded() as answer:
                is_requested = answer.request_id in self._requests  # else an agent wrote it without a model
                tokens = answer.usage.output_tokens if is_requested else 0
                self._add_answer(ev.seq, _answer_subject(answer), tokens)
                self._add_usage(answer)
            case ModelFailed(partial=partial) as failure if tokens := estimate_partial_answer(failure):
                self._add_answer(ev.seq, text_preview(partial), tokens)
            case ToolCalled(call_id=call, name=name, target=target, arguments=arguments):
                path = arguments.get(FILE_ARGUMENT)
                self._calls[call] = _Source(
                    name,
                    target[:_MAX_SUBJECT_CHARS],
                    {path: 1.0} if isinstance(path, str) and path else {},
                )
            case ToolFinished(call_id=call, name=name):
                self._new_sources[ev.seq] = self._calls.pop(call, _Source(name, ""))
            case UserMessageReceived() | UserSteered() as message:
                subject = " ".join(text_preview(message.text)[:_MAX_SUBJECT_CHARS].split())
                self._new_sources[ev.seq] = _Source("you", subject, _mentioned_files(message))
            case InstructionsLoaded(trigger="nested", files=files):
                paths = [item.path for item in files]
                source = _Source(
                    _INSTRUCTIONS, ", ".join(paths)[:_MAX_SUBJECT_CHARS], dict.fromkeys(paths[:1], 1.0)
                )
                self._new_sources[ev.seq] = source
            case RepomapUsed(injected=True):
                self._new_sources[ev.seq] = _Source(_REPO_MAP, "")
            case SessionContextLoaded():
                self._new_sources[ev.seq] = _Source(_EARLIER_SESSION, "")
            case ContextCompacted() as compaction:
                self._compact(ev.seq, compaction)
            case ContextReduced():
                self._changes["outputs shortened"] = None
            case ContextRestored() as restored:
                self._restore(ev.seq, restored)
            case _:
                return False
        self._view = None
        return True

    def _compact(self, seq: int, compaction: ContextCompacted) -> None:
        through, shares = compaction.through_seq, compaction.shares
        self._new_sources |= {old: source for old, (source, _) in self._present.items()}
        self._removed = {old: entry for old, entry in self._present.items() if old <= through}
        self._present = {old: entry for old, entry in self._present.items() if old > through}
        summary = self._new_sources[seq] = _Source("summary", "")
        packed = (section.tokens for section in compaction.sections if section.name == "packed_context")
        tokens = next(packed, 0)
        chars = next((share.chars for share in shares if share.section == "packed_context"), 0)
        if chars:  # The user's words inside the summary are counted in another section.
            tokens = round(tokens * sum(share.chars for share in shares) / chars)
        if tokens:
            self._present[seq] = summary, round(tokens / self._ratio)
        self._changes["turns summarised"] = None
        self._new_answer_seq = -1

    def _restore(self, seq: int, restored: ContextRestored) -> None:
        """Add the restored messages with their earlier sender, subject and files."""
        removed = dict(self._removed)
        if restored.compaction is not None:
            self._present.pop(restored.compaction, None)
            self._present, self._removed = self._removed | self._present, {}
        for number, tokens in _tokens_by_event(restored.added).items():
            source, _ = self._present.get(number) or removed.get(number) or (_OTHER_SOURCE, 0)
            is_original = number in self._present or restored.compaction is not None
            self._present[number if is_original else seq] = source, tokens
        self._changes["messages restored"] = None

    def _add_request(self, seq: int, packed: ContextPacked) -> None:
        for number, tokens in _tokens_by_event(packed.added).items():
            entry = self._present.get(number)
            source = self._new_sources.get(number, entry[0] if entry is not None else _OTHER_SOURCE)
            self._present[number] = source, tokens
        self._new_sources, self._new_answer_seq = {}, -1
        if packed.counted_tokens:
            self._ratio = packed.total_tokens / packed.counted_tokens
        prefix_changes = [] if self._previous is None else _prefix_changes(self._previous, packed)
        self._previous, changes, self._changes = packed, self._changes, {}
        self._requests[packed.request_id] = LedgerRequest(
            packed.request_id,
            seq,
            packed.total_tokens,
            {section.name: section.tokens for section in packed.sections},
            {section.name: section.chars for section in packed.sections},
            cache_miss_reason=", ".join([*prefix_changes, *changes]),
        )
        if len(self._requests) > MAX_REQUESTS:
            del self._requests[next(iter(self._requests))]

    def _set_model(self, request: RequestId, model: tuple[str, str]) -> None:
        previous, self._model = self._model, model
        if previous != model and previous != ("", ""):  # each model has a cache of its own
            self._uses_cache, self._previous_tokens = False, 0
            if request in self._requests:
                self._requests[request] = replace(self._requests[request], cache_miss_reason="another model")

    def _add_answer(self, seq: int, text: str, tokens: int) -> None:
        source = self._new_sources[seq] = _Source("answer", " ".join(text[:_MAX_SUBJECT_CHARS].split()))
        self._present[seq] = source, round(tokens / self._ratio)
        self._new_answer_seq = seq

    def _add_usage(self, answer: ModelResponded) -> None:
        record = self._requests.get(answer.request_id)
        if record is None:
            return
        usage = answer.usage
        # Before the first hit, the provider may have no cache at all.
        is_miss = self._uses_cache and not usage.cached_tokens and not usage.estimated
        self._uses_cache = self._uses_cache or usage.cached_tokens > 0
        common = 0 if usage.estimated else min(self._previous_tokens, usage.input_tokens)
        missing = common - usage.cached_tokens
        is_partial_hit = (
            0 < usage.cached_tokens < _EXPECTED_CACHE_SHARE * common and missing > _CACHE_BLOCK_TOKENS
        )
        self._previous_tokens = usage.input_tokens
        reason = _CACHE_MISS if is_miss else _PARTIAL_CACHE_HIT if is_partial_hit else ""
        self._requests[answer.request_id] = replace(
            record,
            input_tokens=None if usage.estimated else usage.input_tokens,
            cached_tokens=None if usage.estimated else usage.cached_tokens,
            cost_usd=answer.cost_usd,
            cache_miss_reason=record.cache_miss_reason or reason,
        )

    def view(self) -> LedgerView:
        """Return the ledger as of the newest request and its answer."""
        if self._view is None:
            messages = (
                LedgerMessage(seq, source.sender, source.subject, round(tokens * self._ratio), source.files)
                for seq, (source, tokens) in self._present.items()
            )
            self._view = _ledger_view(messages, tuple(self._requests.values()), self._new_answer_seq)
        return self._view


def _ledger_view(
    messages: Iterable[LedgerMessage], requests: tuple[LedgerRequest, ...], new_answer_seq: int
) -> LedgerView:
    ordered = tuple(sorted(messages, key=lambda message: (-message.tokens, message.seq)))
    tools = _sums((message.sender, message.tokens) for message in ordered)
    files = _sums(
        (path, round(message.tokens * fraction))
        for message in ordered
        for path, fraction in message.files.items()
    )
    return LedgerView(ordered, tools, files, requests, new_answer_seq)


def _tokens_by_event(messages: Iterable[CountedMessage]) -> dict[int, int]:
    """Return the tokens of each event. If an event has two messages (a prompt and its mentions), their tokens are
    added."""
    tokens: dict[int, int] = {}
    for message in messages:
        tokens[message.seq] = tokens.get(message.seq, 0) + message.tokens
    return tokens


def _mentioned_files(message: UserMessageReceived | UserSteered) -> dict[str, float]:
    """Map each file attached to a user's message to its estimated fraction of the message's tokens."""
    sizes = [IMAGE_CHARS] * len(message.attachments)
    chars: dict[str, int] = {}
    for mention in message.mentions:
        size = text_size(mention.text) + (IMAGE_CHARS if mention.image is not None else 0)
        sizes.append(size)
        if size and mention.path and mention.kind in ("file", "symbol", "image"):
            chars[mention.path] = chars.get(mention.path, 0) + size
    total = text_size(message.text) + sum(sizes)
    return {path: size / total for path, size in chars.items()}


def _section_change(old: LedgerRequest, new: LedgerRequest, name: SectionName) -> int:
    """Return the growth of a section in tokens, estimated from its growth in characters."""
    change = new.chars.get(name, 0) - old.chars.get(name, 0)
    larger = new if change > 0 else old
    chars = larger.chars.get(name, 0)
    return round(larger.sections.get(name, 0) * change / chars) if chars else 0


def _prefix_changes(previous: ContextPacked, packed: ContextPacked) -> list[str]:
    changes = []
    if previous.prefix_digest and packed.prefix_digest and previous.prefix_digest != packed.prefix_digest:
        changes.append("instructions changed")
    old, new = ({section.name: section for section in manifest.sections} for manifest in (previous, packed))
    tools = [
        sections["available_tools"].chars if "available_tools" in sections else 0 for sections in (old, new)
    ]
    if tools[0] != tools[1]:
        changes.append("tools changed")
    shortened = [name for name, share in new.items() if share.reduced and name != "working_memory"]
    if any(name not in old or old[name].rule != new[name].rule for name in shortened):
        changes.append("texts shortened to fit")
    return changes


def _answer_subject(answer: ModelResponded) -> str:
    texts = text_previews(answer.parts)
    calls = [part.name for part in tool_calls(answer.parts)]
    return " ".join(texts).strip() or ", ".join(calls)


def _sums(pairs: Iterable[tuple[str, int]]) -> tuple[LedgerSum, ...]:
    sums: dict[str, LedgerSum] = {}
    for name, tokens in pairs:
        known = sums.get(name, LedgerSum(name, 0, 0))
        sums[name] = LedgerSum(name, known.count + 1, known.tokens + tokens)
    return tuple(sorted(sums.values(), key=lambda item: (-item.tokens, item.name)))
