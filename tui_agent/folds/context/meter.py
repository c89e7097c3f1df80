"""What fills the context, against the model's window.

Limits (fractions of the window): warning from 0.32 (back below 0.28), soft limit 0.40, error from 0.80, compaction
at 0.85.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue, ValidationError

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextRestored,
    Section,
    SectionName,
)
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted, SettingsChanged
from tui_agent.protocol.ids import MAIN_AGENT, RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo

MeterLevel: TypeAlias = Literal["below", "near", "over", "compaction"]
SectionState: TypeAlias = Literal["whole", "reduced", "dropped"]
"""Of a section as it was sent: all of it, less of it, or without some of its parts."""

WARN, WARN_OFF, SOFT, CRITICAL, COMPACT = 0.32, 0.28, 0.40, 0.80, 0.85


ASSUMED_WINDOW = 128_000
"""What a model is taken to hold whose window nobody knows: without any, no limit would ever be seen."""


@dataclass(frozen=True, slots=True)
class MeterSection:
    """A share as the pane names it: system, tools, instructions, repo map, messages, tool results, …

    `budget` is what it may take where not all has room; None: as much as it needs. `rule` says why it is not whole.
    """

    name: str
    tokens: int
    budget: int | None = None
    state: SectionState = "whole"
    rule: str = ""

    @property
    def said(self) -> str:
        """What became of it, in words."""
        return f"{self.name}: {self.state}{f', {self.rule}' if self.rule else ''}"


@dataclass(frozen=True, slots=True)
class ContextMeterView:
    """`used` tokens of `window` (0 before there is a model; `assumed` where the model's own is unknown). `estimated` until a provider's own figure came.

    `next_tokens` and `next_cost_usd` forecast the next turn's first request. `cache_breaks` counts the requests that
    began otherwise than the one before, so that a provider could use nothing of what it had cached; `cache_break` says
    what was different in the newest of them.
    """

    used: int = 0
    window: int = 0
    fraction: float = 0.0
    level: MeterLevel = "below"
    estimated: bool = True
    sections: tuple[MeterSection, ...] = ()
    next_tokens: int = 0
    next_cost_usd: float | None = None
    cache_breaks: int = 0
    cache_break: str = ""
    assumed: bool = False
    learnt: bool = False
    """`window` is what a provider's refusal taught."""
    compacts: float = COMPACT
    """Share of the window from which old turns are summarised; 0: never by itself."""
    room: int | None = None
    """Tokens that the newest request might take."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of each section that is not whole what became of it."""
        return tuple(one.said for one in self.sections if one.state != "whole")

    def sections_of(self, whole: int) -> tuple[MeterSection, ...]:
        """The sections in the same proportion, adding up to `whole`; without those of which nothing is left."""
        shares = shares_of([item.tokens for item in self.sections], whole)
        pairs = zip(self.sections, shares, strict=True)
        return tuple(replace(item, tokens=share) for item, share in pairs if share)


NAMES: dict[SectionName, str] = {
    "system": "system",
    "task_contract": "task",
    "available_tools": "tools",
    "packed_context": "summaries",
    "working_memory": "memory",
    "repo_map": "repo map",
    "session_context": "earlier session",
    "recent_observations": "observations",
    "mentions": "mentions",
    "instructions": "instructions",
    "messages": "messages",
    "tool_results": "tool results",
}
"""What a person reads for each section."""


def compacts_at(window: int, answer: int, share: float = COMPACT) -> float:
    """Tokens from which old turns are summarised: this share of the window, less where an answer of `answer` tokens
    needs the room, but never less than half."""
    return min(share * window, max(window - answer, window / 2))


TAKES = (
    ContextPacked,
    ModelRequested,
    ModelResponded,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    SettingsChanged,
    SessionStarted,
)
"""Payload classes that this fold handles."""


@dataclass(frozen=True, slots=True)
class MeterState:
    """All that a meter holds, to be kept and taken up again."""

    window: int
    named: bool
    used: int
    level: MeterLevel
    estimated: bool
    sections: tuple[MeterSection, ...]
    model: ModelInfo | None
    prefix: ContextPacked | None
    cache_breaks: int
    cache_break: str
    request: RequestId | None
    answer: Usage
    room: int = 0
    may_take: int | None = None
    prior: int = 0
    learnt: bool = False


class ContextMeter:
    """Folds the main agent's manifests and the provider's own counts."""

    def __init__(self) -> None:
        self._window = 0
        self._named = False
        self._used = 0
        self._level: MeterLevel = "below"
        self._estimated = True
        self._sections: tuple[MeterSection, ...] = ()
        self._model: ModelInfo | None = None
        self._prefix: ContextPacked | None = None
        self._cache_breaks = 0
        self._cache_break = ""
        self._request: RequestId | None = None
        self._answer = Usage()
        self._room = 0
        """Tokens that the model's answer may take."""
        self._may_take: int | None = None
        self._prior = 0
        """Tokens of the request before the newest, as its provider counted them."""
        self._learnt = False
        self._share = COMPACT
        self._packed_now: ContextPacked | None = None
        """The newest manifest, whose sections are not worked out yet, and the totals that came since."""
        self._totals: list[int] = []
        self._view: ContextMeterView | None = None

    def kept(self) -> MeterState:
        """The state, for `taken_up`."""
        self._settle()
        return MeterState(**{one.name: getattr(self, f"_{one.name}") for one in fields(MeterState)})

    @classmethod
    def taken_up(cls, kept: MeterState) -> "ContextMeter":
        """A meter that goes on from a state."""
        meter = cls()
        for one in fields(MeterState):
            setattr(meter, f"_{one.name}", getattr(kept, one.name))
        return meter

    def compact_at(self, share: float) -> None:
        """Old turns are summarised from this share of the window on (0: never by itself), or earlier for the answer."""
        if share != self._share:
            self._share, self._view = share, None

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if the meter changed."""
        if ev.agent != MAIN_AGENT:
            return False
        match ev.payload:
            case ContextPacked() as packed:
                self._packed(packed)
            case ModelRequested(model=model, request_id=request):
                self._model, self._request = model, request
                self._window = (0 if self._learnt else model.window) or self._window
                self._room = model.max_output
                self._named = self._named or bool(model.model)
            case ModelResponded(request_id=request, usage=usage) if request == self._request:
                self._answered(usage)
            case ContextCompacted() as made:
                self._settle()
                self._hold(made.after_tokens, _named(made.sections) or self._sections)
            case ContextReduced(before_tokens=before_tokens, after_tokens=after_tokens):
                self._settle()
                freed = max(0, before_tokens - after_tokens)
                self._hold(max(0, self._used - freed), _without_outputs(self._sections, freed))
            case ContextRestored(after_tokens=after, sections=sections) if sections:
                self._settle()
                self._hold(after, _named(sections))
            case SettingsChanged(key="model", value=dict() as value):
                self._takes(_model(value))
            case SessionStarted(settings=settings):
                self._takes(settings.model)
            case _:
                return False
        if not isinstance(
            ev.payload, ContextPacked | ModelRequested
        ):  # what an estimate crosses is not held on to
            self._level = next_level(self._level, self._fraction())
        self._view = None
        return True

    def _takes(self, model: ModelInfo) -> None:
        """Another model is to be asked from now on: its window and its prices count."""
        self._model, self._window, self._room = model, model.window, model.max_output
        self._named, self._learnt = bool(model.model), False

    def _packed(self, packed: ContextPacked) -> None:
        before, self._prefix = self._prefix, packed
        known = before is not None and before.prefix_digest and packed.prefix_digest
        if before is not None and known and before.prefix_digest != packed.prefix_digest:
            self._cache_breaks += 1
            self._cache_break = _what_differs(before, packed)
        self._window, self._may_take = packed.window or self._window, packed.room
        self._learnt = packed.learnt
        self._packed_now, self._totals = packed, []
        self._prior = 0 if self._answer.estimated else self._answer.input_tokens or self._prior
        self._estimated, self._answer = packed.estimated, Usage()
        self._set(packed.total_tokens)

    def _answered(self, usage: Usage) -> None:
        self._answer = usage
        if usage.input_tokens and not usage.estimated:
            self._estimated = False
            self._set(usage.input_tokens)

    def _hold(self, used: int, sections: Sequence[MeterSection]) -> None:
        """Take what the next request would hold, as far as we know."""
        self._sections = tuple(sections)
        self._set(used)
        self._estimated, self._answer, self._prior = True, Usage(), 0

    def _set(self, used: int) -> None:
        """Take a new total; the sections are stretched so that they still add up to it."""
        self._used = used
        self._totals.append(used)

    def _settle(self) -> None:
        """Work out the sections: of most requests of a log that is folded nobody asks for them."""
        packed, self._packed_now = self._packed_now, None
        if packed is not None:
            self._sections = _named(packed.sections)
        totals, self._totals = self._totals, []
        for used in totals:
            shares = shares_of([item.tokens for item in self._sections], used)
            self._sections = tuple(
                replace(item, tokens=share) for item, share in zip(self._sections, shares, strict=True)
            )

    def view(self) -> ContextMeterView:
        """The meter as of the newest request."""
        if self._view is None:
            self._settle()
            new = self._answer.output_tokens
            self._view = ContextMeterView(
                used=self._used,
                window=self._limit(),
                fraction=self._fraction(),
                assumed=self._limit() != self._window,
                learnt=self._learnt,
                level=next_level(self._level, self._fraction()),
                estimated=self._estimated,
                sections=self._sections,
                next_tokens=self._used + new,
                next_cost_usd=self._forecast(new),
                room=self._may_take,
                cache_breaks=self._cache_breaks,
                cache_break=self._cache_break,
                compacts=self._compacts(),
            )
        return self._view

    def _limit(self) -> int:
        return self._window or (ASSUMED_WINDOW if self._named else 0)

    def _compacts(self) -> float:
        if not self._share or self._limit() != self._window:
            return 0.0
        if not self._window:
            return self._share
        # Of a window that is known by refusals alone nothing is kept for the answer.
        guessed = self._learnt and (self._may_take or 0) >= self._window
        return compacts_at(self._window, 0 if guessed else self._room, self._share) / self._window

    def _fraction(self) -> float:
        limit = self._limit()
        return self._used / limit if limit else 0.0

    def _served(self) -> float:
        """Share of what the newest request had in common with the one before that came from the provider's cache."""
        now = self._answer
        common = min(self._prior or now.input_tokens, now.input_tokens)
        return min(1.0, now.cached_tokens / common) if common else 0.0

    def _forecast(self, new: int) -> float | None:
        """What the next turn's first request may cost: of what was sent so much comes from the provider's cache as did of
        the newest request, the newest answer is new to it, and the next answer is taken to be as long."""
        model = self._model
        if model is None or model.input_price is None:
            return None
        again = model.input_price
        if model.cached_price is not None:
            again += self._served() * (model.cached_price - again)
        return (self._used * again + new * model.input_price + new * (model.output_price or 0.0)) / 1_000_000


def _named(sections: Sequence[Section]) -> tuple[MeterSection, ...]:
    return tuple(
        MeterSection(NAMES[item.name], item.tokens, item.budget, _state(item), _why(item))
        for item in sections
    )


_LEFT_OUT: Final = "left out"


def _state(section: Section) -> SectionState:
    if section.dropped_blocks:
        return "dropped"
    return "reduced" if section.reduced else "whole"


def _why(section: Section) -> str:
    """Why it is not whole, in words; empty where it is."""
    if not section.dropped_blocks:
        return section.rule if section.reduced else ""
    rule = section.rule.removeprefix(_LEFT_OUT)
    between = ", " if rule and rule == section.rule else ""
    return f"{section.dropped_blocks} {_LEFT_OUT}{between}{rule}"


def _model(value: dict[str, JsonValue]) -> ModelInfo:
    """A model's description as a setting has it; of one that cannot be read nothing is known."""
    try:
        return ModelInfo.model_validate(value)
    except ValidationError:
        return ModelInfo(profile="", provider="", model="")


def _without_outputs(sections: Sequence[MeterSection], freed: int) -> tuple[MeterSection, ...]:
    """The sections after outputs were put away: the older ones first."""
    left = {item.name: item.tokens for item in sections}
    for name in (NAMES["tool_results"], NAMES["recent_observations"]):
        less = min(freed, left.get(name, 0))
        freed -= less
        if less:
            left[name] -= less
    kept = {item.name: item for item in sections}
    return tuple(replace(kept[name], tokens=tokens) for name, tokens in left.items() if tokens)


def next_level(level: MeterLevel, fraction: float) -> MeterLevel:
    """The level of a fraction; back to `below` only under the lower limit, so that it does not flicker."""
    if fraction >= CRITICAL:
        return "compaction"
    if fraction >= SOFT:
        return "over"
    if fraction >= WARN or (level != "below" and fraction >= WARN_OFF):
        return "near"
    return "below"


def shares_of(parts: Sequence[int], total: int) -> list[int]:
    """Whole numbers in the proportion of `parts` that add up to `total` (largest remainder)."""
    whole = sum(parts)
    if whole in (0, total):
        return list(parts)
    exact = [part * total / whole for part in parts]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: shares[index] - exact[index])
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return shares


def _what_differs(before: ContextPacked, after: ContextPacked) -> str:
    """The sections whose fragments are others than before: `repo map, instructions`."""
    was, now = ({(item.section, item.id, item.digest) for item in one.fragments} for one in (before, after))
    differing = {section for section, _, _ in was ^ now} - {"working_memory"}  # it stands behind the rest
    return ", ".join(name for section, name in NAMES.items() if section in differing)
