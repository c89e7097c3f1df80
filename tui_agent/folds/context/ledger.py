"""What stands in the context, message by message: which tool, which file, whose words; and what the requests were.

Invariant: every message is counted once, by the request that first held it; an estimate, corrected by the newest request.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextRestored,
    RepomapUsed,
    SectionName,
)
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, CallId, RequestId
from tui_agent.protocol.parts import TextPart, ToolCallPart

REQUESTS = 40
"""Requests that are told of."""
FILE_ARGUMENT = "path"
_WORDS = 80

TAKES = (
    ContextPacked,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    InstructionsLoaded,
    ModelRequested,
    ModelResponded,
    RepomapUsed,
    ToolCalled,
    ToolFinished,
    UserMessageReceived,
    UserSteered,
)
"""Payload classes that this fold handles."""


@dataclass(frozen=True, slots=True)
class LedgerMessage:
    """One message of the context: event `seq`, who (`you`, `answer`, a tool's name, `summary`), of what, its tokens."""

    seq: int
    who: str
    what: str
    tokens: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """Messages of one tool or file together."""

    name: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """One request of the main agent's. `sections` are tokens by section, `chars` characters; `input_tokens`, `cached_tokens` and `cost_usd` as the
    provider counted, None until it answered. `broken` says why its cache could not serve all that the request before held;
    empty where it could."""

    request_id: RequestId
    seq: int
    tokens: int
    sections: Mapping[SectionName, int]
    chars: Mapping[SectionName, int]
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    broken: str = ""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """Everything, largest first; requests oldest first."""

    messages: tuple[LedgerMessage, ...] = ()
    tools: tuple[LedgerSum, ...] = ()
    files: tuple[LedgerSum, ...] = ()
    requests: tuple[LedgerRequest, ...] = ()

    def difference(self, before: int, after: int) -> dict[SectionName, int]:
        """Tokens that each section has more (or less) in one request than in another; those that differ.

        A section of as many characters as before was only counted anew: of what grew the new characters count.
        """
        old, new = self.requests[before], self.requests[after]
        both = {name: _grown(old, new, name) for name in (*old.sections, *new.sections)}
        return {name: change for name, change in both.items() if change}


@dataclass(frozen=True, slots=True)
class _Said:
    who: str
    what: str
    path: str = ""


_OTHER = _Said("other", "")
_UNFOUND = "nothing in the provider's cache"
"""Nothing that was sent before is another, and yet nothing came from there: it keeps it for some minutes only."""
_PARTLY = "only part of it in the provider's cache"
_SERVED, _GRAIN = 0.8, 1_024
"""Share of what a request has in common with the one before that a cache is expected to serve, and tokens that it may lack
whatever the share: caches hold whole pieces of that size."""


class Ledger:
    """Folds the main agent's manifests and what their messages came from."""

    def __init__(self) -> None:
        self._said: dict[int, _Said] = {}
        """What no request has held yet."""
        self._calls: dict[CallId, _Said] = {}
        self._held: dict[int, tuple[_Said, int]] = {}
        self._gone: dict[int, tuple[_Said, int]] = {}
        """What the newest summary stands for."""
        self._ratio = 1.0
        self._requests: dict[RequestId, LedgerRequest] = {}
        self._before: ContextPacked | None = None
        self._changed: dict[str, None] = {}
        """What became of the history since the newest request."""
        self._model = ("", "")
        self._prior = 0
        """Tokens of the newest request, as its provider counted them."""
        self._caches = False
        """The provider has used its cache."""
        self._view: LedgerView | None = None

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the ledger changed."""
        if ev.agent != MAIN_AGENT:
            return False
        match ev.payload:
            case ContextPacked() as packed:
                self._packed(ev.seq, packed)
            case ModelRequested(request_id=request, model=model):
                self._asked(request, (model.provider, model.model))
            case ModelResponded() as answer:
                self._said[ev.seq] = _Said("answer", _names(answer))
                self._answered(answer)
            case ToolCalled(call_id=call, name=name, target=target, arguments=arguments):
                path = arguments.get(FILE_ARGUMENT)
                self._calls[call] = _Said(name, target[:_WORDS], path if isinstance(path, str) else "")
            case ToolFinished(call_id=call, name=name):
                self._said[ev.seq] = self._calls.pop(call, _Said(name, ""))
            case UserMessageReceived(text=text) | UserSteered(text=text):
                self._said[ev.seq] = _Said("you", " ".join(text_preview(text)[:_WORDS].split()))
            case InstructionsLoaded(why="nested", files=files):
                paths = tuple(one.path for one in files)
                self._said[ev.seq] = _Said("instructions", ", ".join(paths)[:_WORDS], "".join(paths[:1]))
            case RepomapUsed(injected=True):
                self._said[ev.seq] = _Said("repo map", "")
            case ContextCompacted(through_seq=through, sections=sections, shares=shares):
                self._said |= {seq: said for seq, (said, _) in self._held.items()}
                self._gone = {seq: one for seq, one in self._held.items() if seq <= through}
                self._held = {seq: one for seq, one in self._held.items() if seq > through}
                summary = self._said[ev.seq] = _Said("summary", "")
                size = next((one.tokens for one in sections if one.name == "packed_context"), 0)
                rest = next((one.chars for one in shares if one.section == "packed_context"), 0)
                if rest:  # a person's words in it count for another section
                    size = round(size * sum(one.chars for one in shares) / rest)
                if size:
                    self._held[ev.seq] = summary, round(size / self._ratio)
                self._changed["turns summarised"] = None
            case ContextReduced():
                self._changed["outputs put away"] = None
            case ContextRestored() as restored:
                self._restored(ev.seq, restored)
            case _:
                return False
        self._view = None
        return True

    def _restored(self, seq: int, restored: ContextRestored) -> None:
        """A message comes back under what it was; a quotation stands behind the others."""
        gone = dict(self._gone)
        if restored.compaction is not None:
            self._held.pop(restored.compaction, None)
            self._held, self._gone = self._gone | self._held, {}
        for one in restored.added:
            said, _ = self._held.get(one.seq) or gone.get(one.seq) or (_OTHER, 0)
            whole = one.seq in self._held or restored.compaction is not None
            self._held[one.seq if whole else seq] = said, one.tokens
        self._changed["messages brought back"] = None

    def _packed(self, seq: int, packed: ContextPacked) -> None:
        for one in packed.added:
            known = self._held.get(one.seq)
            said = self._said.get(one.seq, known[0] if known is not None else _OTHER)
            self._held[one.seq] = said, one.tokens
        self._said = {}
        if packed.counted_tokens:
            self._ratio = packed.total_tokens / packed.counted_tokens
        reasons = [*(_differs(self._before, packed) if self._before is not None else ()), *self._changed]
        self._before, self._changed = packed, {}
        self._requests[packed.request_id] = LedgerRequest(
            packed.request_id,
            seq,
            packed.total_tokens,
            {section.name: section.tokens for section in packed.sections},
            {section.name: section.chars for section in packed.sections},
            broken=", ".join(reasons),
        )
        if len(self._requests) > REQUESTS:
            del self._requests[next(iter(self._requests))]

    def _asked(self, request: RequestId, model: tuple[str, str]) -> None:
        before, self._model = self._model, model
        if before != model and before != ("", ""):
            self._caches, self._prior = False, 0
            if request in self._requests:
                self._requests[request] = replace(self._requests[request], broken="another model")

    def _answered(self, answer: ModelResponded) -> None:
        asked = self._requests.get(answer.request_id)
        if asked is None:
            return
        usage = answer.usage
        unfound = self._caches and not usage.cached_tokens and not usage.estimated
        self._caches = self._caches or usage.cached_tokens > 0
        common = 0 if usage.estimated else min(self._prior, usage.input_tokens)
        lacks = common - usage.cached_tokens
        partly = 0 < usage.cached_tokens < _SERVED * common and lacks > _GRAIN
        self._prior = usage.input_tokens
        self._requests[answer.request_id] = LedgerRequest(
            asked.request_id,
            asked.seq,
            asked.tokens,
            asked.sections,
            asked.chars,
            None if usage.estimated else usage.input_tokens,
            None if usage.estimated else usage.cached_tokens,
            answer.cost_usd,
            asked.broken or (_UNFOUND if unfound else _PARTLY if partly else ""),
        )

    def view(self) -> LedgerView:
        """The ledger as of the newest request; made when asked for."""
        if self._view is None:
            messages = [
                LedgerMessage(seq, said.who, said.what, round(tokens * self._ratio), said.path)
                for seq, (said, tokens) in self._held.items()
            ]
            self._view = LedgerView(
                tuple(sorted(messages, key=lambda one: (-one.tokens, one.seq))),
                _sums((one.who, one.tokens) for one in messages),
                _sums((one.path, one.tokens) for one in messages if one.path),
                tuple(self._requests.values()),
            )
        return self._view


def _grown(old: LedgerRequest, new: LedgerRequest, name: SectionName) -> int:
    """Tokens that came to a section, or went, by the counts of the request that has more of it."""
    change = new.chars.get(name, 0) - old.chars.get(name, 0)
    more = new if change > 0 else old
    whole = more.chars.get(name, 0)
    return round(more.sections.get(name, 0) * change / whole) if whole else 0


def _differs(before: ContextPacked, now: ContextPacked) -> list[str]:
    """What of all that was sent before is another now."""
    found = []
    if before.prefix_digest and now.prefix_digest and before.prefix_digest != now.prefix_digest:
        found.append("instructions changed")
    old, new = ({one.name: one for one in packed.sections} for packed in (before, now))
    tools = [held["available_tools"].chars if "available_tools" in held else 0 for held in (old, new)]
    if tools[0] != tools[1]:
        found.append("tools changed")
    short = [name for name, one in new.items() if one.reduced and name != "working_memory"]
    if any(name not in old or old[name].rule != new[name].rule for name in short):
        found.append("texts shortened to fit")
    return found


def _names(answer: ModelResponded) -> str:
    """The beginning of an answer's words; of one without any, what it calls."""
    words = [text_preview(part.text) for part in answer.parts if isinstance(part, TextPart)]
    calls = [part.name for part in answer.parts if isinstance(part, ToolCallPart)]
    return " ".join((" ".join(words).strip() or ", ".join(calls))[:_WORDS].split())


def _sums(pairs: Iterable[tuple[str, int]]) -> tuple[LedgerSum, ...]:
    tokens: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for name, size in pairs:
        tokens[name] += size
        counts[name] += 1
    sums = (LedgerSum(name, counts[name], size) for name, size in tokens.items())
    return tuple(sorted(sums, key=lambda one: (-one.tokens, one.name)))
