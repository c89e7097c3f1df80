"""The context meter: the size of the context and of its sections, relative to the model's window.

The level depends on the used fraction of the window: `near` from 0.32 (until the fraction is below 0.28), `over` from
0.40 (the soft limit), `compaction` from 0.80. By default, compaction starts at 0.85.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue, ValidationError

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextRestored,
    Section,
    SectionName,
)
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted, SettingsChanged
from tui_agent.protocol.ids import MAIN_AGENT, RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import text_size

MeterLevel: TypeAlias = Literal["below", "near", "over", "compaction"]
SectionState: TypeAlias = Literal["whole", "reduced", "dropped"]
"""The form in which a section was sent: complete (`whole`), shortened (`reduced`), or with parts left out (`dropped`).
"""

WARN_FRACTION, WARN_OFF_FRACTION = 0.32, 0.28
SOFT_FRACTION, CRITICAL_FRACTION, COMPACT_FRACTION = 0.40, 0.80, 0.85


ASSUMED_WINDOW = 128_000
"""Assumed size of an unknown window, in tokens."""


@dataclass(frozen=True, slots=True)
class MeterSection:
    """A section of the context.

    - `name`: name on the screen, e.g. system, tools, repo map.
    - `budget`: the section's maximum in tokens if not everything fits (None: unlimited).
    - `rule`: reason why the section is incomplete.
    """

    name: str
    tokens: int
    chars: int = 0
    budget: int | None = None
    state: SectionState = "whole"
    rule: str = ""

    @property
    def description(self) -> str:
        """A description of the section's state."""
        return f"{self.name}: {self.state}{f', {self.rule}' if self.rule else ''}"


@dataclass(frozen=True, slots=True)
class ContextMeterView:
    """The fill level of the context: `used` tokens of `window` tokens.

    - `used`, `sections`: sizes that include the newest answer.
    - `window`: 0 until a model is chosen.
    - `assumed`: True if tui-agent assumes `window`, because the model's profile has no window or seems to be wrong.
    - `estimated`: True until the provider's own count arrives.
    - `next_cost_usd`: expected cost of the next turn's first request.
    - `cache_breaks`: number of requests that could not use the provider's cache, because their beginning had changed.
    - `cache_break`: names of the sections that changed in the newest request counted by `cache_breaks`.
    """

    used: int = 0
    window: int = 0
    fraction: float = 0.0
    level: MeterLevel = "below"
    estimated: bool = True
    sections: tuple[MeterSection, ...] = ()
    next_cost_usd: float | None = None
    cache_breaks: int = 0
    cache_break: str = ""
    assumed: bool = False
    window_inferred: bool = False
    """True if `window` was inferred from a provider's refusal."""
    compaction_fraction: float = COMPACT_FRACTION
    """Old turns are summarised when this fraction of the window is full. 0 means never."""
    input_budget: int | None = None
    """Number of tokens that were available to the newest request."""

    @property
    def message_tokens(self) -> int:
        """The tokens of all sections with messages."""
        return sum(
            section.tokens for section in self.sections if section.name not in _SECTIONS_WITHOUT_MESSAGES
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Descriptions of the incomplete sections."""
        return tuple(section.description for section in self.sections if section.state != "whole")

    def scaled_sections(self, total: int) -> tuple[MeterSection, ...]:
        """Return the sections scaled to add up to `total`, without empty sections."""
        return tuple(item for item in _scale_sections(self.sections, total) if item.tokens)


SECTION_LABELS: dict[SectionName, str] = {
    "system": "system",
    "task_contract": "your messages",
    "available_tools": "tools",
    "packed_context": "summaries",
    "working_memory": "memory",
    "repo_map": "repo map",
    "session_context": "earlier session",
    "recent_observations": "new results",
    "mentions": "mentions",
    "instructions": "instructions",
    "messages": "answers",
    "tool_results": "old results",
}
"""Display names of the sections."""
STABLE_SECTIONS = frozenset(
    SECTION_LABELS[name]
    for name in ("system", "available_tools", "instructions", "session_context", "repo_map")
)
"""Names of the sections whose text usually stays the same from request to request."""
_SECTIONS_WITHOUT_MESSAGES = STABLE_SECTIONS | {SECTION_LABELS["working_memory"]}


def compaction_threshold(window: int, answer: int, share: float) -> float:
    """Return the number of tokens at which old turns are summarised.

    The number is `share` of the window, or less to leave room for an answer of `answer` tokens.
    """
    return min(share * window, max(window - answer, window / 2))


def estimate_partial_answer(failure: ModelFailed) -> int:
    """Return the estimated tokens of the partial answer, if the user stopped the request. Otherwise, return 0."""
    return text_size(failure.partial) // 4 if failure.fault == "cancelled" else 0


TAKES = (
    ContextPacked,
    ModelRequested,
    ModelResponded,
    ModelFailed,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    SettingsChanged,
    SessionStarted,
)
"""The classes of event payloads that `ContextMeter` handles."""


@dataclass(slots=True)
class MeterState:
    """The complete state of a meter, for a snapshot.

    - `is_named`: True if a model was chosen.
    - `max_answer`: maximum tokens of the model's answer.
    - `previous_tokens`: size of the request before the newest one, as counted by the provider.
    """

    window: int = 0
    is_named: bool = False
    used: int = 0
    level: MeterLevel = "below"
    estimated: bool = True
    sections: tuple[MeterSection, ...] = ()
    model: ModelInfo | None = None
    manifest: ContextPacked | None = None
    cache_breaks: int = 0
    cache_break: str = ""
    request: RequestId | None = None
    usage: Usage = field(default_factory=Usage)
    max_answer: int = 0
    input_budget: int | None = None
    previous_tokens: int = 0
    window_inferred: bool = False
    stable: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Maps the name of a stable section to the numbers of characters and tokens of its current text."""


class ContextMeter:
    """Computes the fill level of the context from `context.packed` events and the provider's token counts."""

    def __init__(self, state: MeterState | None = None) -> None:
        self._state = state or MeterState()
        self._share = COMPACT_FRACTION
        self._pending_manifest: ContextPacked | None = None
        """The newest `context.packed` event, if the sizes of its sections are not computed yet."""
        self._pending_totals: list[int] = []
        """Totals to which the sections must be scaled, in order, when their sizes are computed."""
        self._view: ContextMeterView | None = None

    def dump_state(self) -> MeterState:
        """Return the state for a snapshot. Later events change the returned object."""
        self._compute_sections()
        return self._state

    def set_compaction_share(self, share: float) -> None:
        """Set `compaction_fraction`. 0 turns automatic summaries off."""
        if share != self._share:
            self._share, self._view = share, None

    def apply(self, ev: Envelope) -> bool:
        if ev.agent != MAIN_AGENT:
            return False
        state = self._state
        match ev.payload:
            case ContextPacked() as packed:
                self._apply_manifest(packed)
            case ModelRequested(model=model, request_id=request):
                state.model, state.request, state.max_answer = model, request, model.max_output
                state.window = (0 if state.window_inferred else model.window) or state.window
                state.is_named = state.is_named or bool(model.model)
            case ModelResponded(request_id=request, usage=usage) if request == state.request:
                state.usage = usage
                if usage.input_tokens and not usage.estimated:
                    # The provider knows only the total, so the estimated sizes of the sections are scaled to it.
                    state.estimated = False
                    self._set_total(usage.input_tokens)
                    self._keep_stable_sections()
            case ModelFailed(request_id=request) as failure if request == state.request:
                state.usage = Usage(output_tokens=estimate_partial_answer(failure), estimated=True)
            case ContextCompacted() as compaction:
                self._compute_sections()
                sections = _meter_sections(compaction.sections) or state.sections
                self._set_contents(compaction.after_tokens, sections)
            case ContextReduced(before_tokens=before_tokens, after_tokens=after_tokens):
                self._compute_sections()
                freed = max(0, before_tokens - after_tokens)
                sections = _subtract_outputs(self._sections_with_answer(), freed)
                self._set_contents(max(0, self._used_tokens() - freed), sections)
            case ContextRestored(after_tokens=after, sections=restored) if restored:
                self._compute_sections()
                self._set_contents(after, _meter_sections(restored))
            case SettingsChanged(key="model", value=dict() as value):
                self._set_model(_parse_model(value))
            case SessionStarted(settings=settings):
                self._set_model(settings.model)
            case _:
                return False
        # A level that only an estimate reached is not stored.
        if not isinstance(ev.payload, ContextPacked | ModelRequested):
            state.level = next_level(state.level, self._fraction())
        self._view = None
        return True

    def _set_model(self, model: ModelInfo) -> None:
        state = self._state
        state.model, state.window, state.max_answer = model, model.window, model.max_output
        state.is_named, state.window_inferred = bool(model.model), False
        state.stable = {}

    def _apply_manifest(self, packed: ContextPacked) -> None:
        state = self._state
        previous, state.manifest = state.manifest, packed
        has_digests = previous is not None and previous.prefix_digest and packed.prefix_digest
        if previous is not None and has_digests and previous.prefix_digest != packed.prefix_digest:
            state.cache_breaks += 1
            state.cache_break = _changed_sections(previous, packed)
        state.window, state.input_budget = packed.window or state.window, packed.input_budget
        state.window_inferred = packed.window_inferred
        self._pending_manifest, self._pending_totals = packed, []
        counted = state.usage.input_tokens or state.previous_tokens
        state.previous_tokens = 0 if state.usage.estimated else counted
        state.estimated, state.usage = packed.estimated, Usage()
        self._set_total(packed.total_tokens)

    def _set_contents(self, used: int, sections: tuple[MeterSection, ...]) -> None:
        state = self._state
        state.sections, state.estimated, state.usage, state.previous_tokens = sections, True, Usage(), 0
        self._set_total(used)

    def _set_total(self, used: int) -> None:
        """Set a new total of tokens. The sections are scaled to this total later."""
        self._state.used = used
        self._pending_totals.append(used)

    def _compute_sections(self) -> None:
        """Compute the sections of the newest `context.packed` event."""
        state = self._state
        packed, self._pending_manifest = self._pending_manifest, None
        if packed is not None:
            state.sections = _meter_sections(packed.sections)
        # Each total is applied in turn, with the same rounding as if it had been applied at once.
        totals, self._pending_totals = self._pending_totals, []
        for used in totals:
            state.sections = _fit_sections(state.sections, used, state.stable)

    def _keep_stable_sections(self) -> None:
        """Store the new size, in characters and tokens, of each of `STABLE_SECTIONS` whose length has changed."""
        state, packed = self._state, self._state.manifest
        sections = packed.sections if packed is not None else ()
        names = {SECTION_LABELS[section.name]: section.chars for section in sections}
        changed = {
            name
            for name in names.keys() & STABLE_SECTIONS
            if names[name] != state.stable.get(name, (0, 0))[0]
        }
        if changed:
            self._compute_sections()
            tokens = {section.name: section.tokens for section in state.sections}
            state.stable |= {name: (names[name], tokens[name]) for name in changed}

    def view(self) -> ContextMeterView:
        if self._view is None:
            self._compute_sections()
            state, window, fraction = self._state, self._effective_window(), self._fraction()
            self._view = ContextMeterView(
                used=self._used_tokens(),
                window=window,
                fraction=fraction,
                assumed=window != state.window,
                window_inferred=state.window_inferred,
                level=next_level(state.level, fraction),
                estimated=state.estimated,
                sections=self._sections_with_answer(),
                next_cost_usd=self._forecast(state.usage.output_tokens),
                input_budget=state.input_budget,
                cache_breaks=state.cache_breaks,
                cache_break=state.cache_break,
                compaction_fraction=self._compaction_share(),
            )
        return self._view

    def _effective_window(self) -> int:
        return self._state.window or (ASSUMED_WINDOW if self._state.is_named else 0)

    def _compaction_share(self) -> float:
        window, budget = self._state.window, self._state.input_budget or 0
        if not self._share or self._effective_window() != window:
            return 0.0
        if not window:
            return self._share
        # If the window was inferred from refusals alone, nothing is reserved for the answer.
        answer = 0 if self._state.window_inferred and budget >= window else self._state.max_answer
        return compaction_threshold(window, answer, self._share) / window

    def _fraction(self) -> float:
        limit = self._effective_window()
        return self._used_tokens() / limit if limit else 0.0

    def _used_tokens(self) -> int:
        """Return the tokens of the newest request and its answer."""
        return self._state.used + self._state.usage.output_tokens

    def _sections_with_answer(self) -> tuple[MeterSection, ...]:
        sections, answer, name = (
            self._state.sections,
            self._state.usage.output_tokens,
            SECTION_LABELS["messages"],
        )
        if answer and all(section.name != name for section in sections):
            sections = (*sections, MeterSection(name, 0))
        return tuple(
            replace(section, tokens=section.tokens + answer) if section.name == name else section
            for section in sections
        )

    def _cached_share(self) -> float:
        """Return the fraction of the previous request that the provider read from its cache for the newest request.

        The fraction is from 0 to 1.
        """
        usage = self._state.usage
        common = min(self._state.previous_tokens or usage.input_tokens, usage.input_tokens)
        return min(1.0, usage.cached_tokens / common) if common else 0.0

    def _forecast(self, new: int) -> float | None:
        """Return the expected cost in USD of the next turn's first request. `new`: tokens of the newest answer."""
        model = self._state.model
        if model is None or model.input_price is None:
            return None
        resend_price = model.input_price
        if model.cached_price is not None:
            resend_price += self._cached_share() * (model.cached_price - resend_price)
        # The newest answer is sent for the first time. The next answer is assumed to be as long.
        new_price = model.input_price + (model.output_price or 0.0)
        return (self._state.used * resend_price + new * new_price) / 1_000_000


def _meter_sections(sections: Sequence[Section]) -> tuple[MeterSection, ...]:
    return tuple(
        MeterSection(SECTION_LABELS[item.name], item.tokens, item.chars, item.budget, *_section_state(item))
        for item in sections
    )


_LEFT_OUT: Final = "left out"


def _section_state(section: Section) -> tuple[SectionState, str]:
    if not section.dropped_blocks:
        return ("reduced", section.rule) if section.reduced else ("whole", "")
    rule = section.rule.removeprefix(_LEFT_OUT)
    separator = ", " if rule and rule == section.rule else ""
    return "dropped", f"{section.dropped_blocks} {_LEFT_OUT}{separator}{rule}"


def _parse_model(value: dict[str, JsonValue]) -> ModelInfo:
    try:
        return ModelInfo.model_validate(value)
    except ValidationError:  # written by another version
        return ModelInfo(profile="", provider="", model="")


def _subtract_outputs(sections: Sequence[MeterSection], freed: int) -> tuple[MeterSection, ...]:
    remaining = {item.name: item.tokens for item in sections}
    for name in (SECTION_LABELS["tool_results"], SECTION_LABELS["recent_observations"]):
        subtracted = min(freed, remaining.get(name, 0))
        freed -= subtracted
        if subtracted:
            remaining[name] -= subtracted
    return tuple(replace(item, tokens=remaining[item.name]) for item in sections if remaining[item.name])


def next_level(level: MeterLevel, fraction: float) -> MeterLevel:
    """Return the level for a fraction of the window."""
    # The level returns to `below` only under `WARN_OFF_FRACTION`, so that the level does not flicker.
    if fraction >= CRITICAL_FRACTION:
        return "compaction"
    if fraction >= SOFT_FRACTION:
        return "over"
    if fraction >= WARN_FRACTION or (level != "below" and fraction >= WARN_OFF_FRACTION):
        return "near"
    return "below"


def _fit_sections(
    sections: Sequence[MeterSection], total: int, stable: Mapping[str, tuple[int, int]]
) -> tuple[MeterSection, ...]:
    """Scale the sections to add up to `total`, without changing sections in `stable` if possible."""
    unscaled = {
        item.name: stable[item.name][1]
        for item in sections
        if stable.get(item.name, (0, 0))[0] == item.chars > 0
    }
    others = [item for item in sections if item.name not in unscaled]
    rest = total - sum(unscaled.values())
    if rest < 0 or not sum(item.tokens for item in others):
        return _scale_sections(sections, total)
    scaled = {item.name: item.tokens for item in _scale_sections(others, rest)} | unscaled
    return tuple(replace(item, tokens=scaled[item.name]) for item in sections)


def _scale_sections(sections: Sequence[MeterSection], total: int) -> tuple[MeterSection, ...]:
    shares = scale_to_total([item.tokens for item in sections], total)
    return tuple(replace(item, tokens=share) for item, share in zip(sections, shares, strict=True))


def scale_to_total(parts: Sequence[int], total: int) -> list[int]:
    """Return integers that add up to `total`, in proportion to `parts` (largest remainder method)."""
    parts_sum = sum(parts)
    if parts_sum in (0, total):
        return list(parts)
    exact = [part * total / parts_sum for part in parts]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: shares[index] - exact[index])
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return shares


def _changed_sections(before: ContextPacked, after: ContextPacked) -> str:
    old_fragments, new_fragments = (
        {(item.section, item.id, item.digest) for item in packed.fragments} for packed in (before, after)
    )
    # The working memory comes after the cached prefix.
    differing = {section for section, _, _ in old_fragments ^ new_fragments} - {"working_memory"}
    return ", ".join(name for section, name in SECTION_LABELS.items() if section in differing)
