"""What models' windows seem to hold: by what providers refused and took, of all agents, for each model.

Invariant: learnt from the log alone, so that a later run, a fork and a delegate know it without a refusal of their own.
What was taken once counts as held, however much is refused later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextLearnt, ContextPacked
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import ModelInfo

TAKES = (ContextPacked, ModelRequested, ModelResponded, ModelFailed, ContextLearnt)
"""Payload classes that this fold handles."""

BELOW_REFUSED: Final = 0.75
"""What is tried next of a request that a provider found too long, where it took no longer one."""
_NEAR: Final = 0.02
"""Between what was taken and what was refused nothing is tried where so little is between them."""
_OFF: Final = 0.98
"""Of a request that is refused though a longer one was taken, so much counts as held, and the other way round: our counts
are a little off."""
_NEWS: Final = 0.15
"""A window that differs by less from what was told is not told again."""


@dataclass(frozen=True, slots=True)
class LearntWindow:
    """Tokens: the most that the provider took, the fewest that it refused (0: it refused nothing), and what it says that
    the model holds with the answer (0: nothing)."""

    held: int = 0
    refused: int = 0
    told: int = 0

    @property
    def window(self) -> int:
        """The model's window in the provider's own words; 0 where it has not said, or refused what should fit."""
        return self.told if 0 < self.told < self.refused else 0

    @property
    def tokens(self) -> int:
        """What a request may take; 0 where nothing was refused, or `window` says it."""
        if not self.refused or self.window:
            return 0
        return max(round(self.refused * BELOW_REFUSED), self.held)

    @property
    def last(self) -> int:
        """What it may take where a person's words need it: a little more than what is known to fit."""
        between = self.refused - self.held
        near = between <= self.held * _NEAR
        return max(self.tokens, self.held + between // 4) if self.tokens and not near else self.tokens

    @property
    def limit(self) -> tuple[int, int]:
        """What does not change but by a refusal."""
        return self.refused, self.told

    def said(self, window: int) -> int:
        """The model's window with its answer, as its profile (0: that does not) or its provider says; 0: neither does."""
        return min((one for one in (window, self.window) if one), default=0)

    def least(self, window: int) -> int:
        """The tokens that count as its window; 0: nobody knows."""
        return min((one for one in (self.said(window), self.tokens) if one), default=0)

    def took(self, tokens: int) -> "LearntWindow":
        """It took a request of so many."""
        if tokens <= self.held:
            return self
        refused = max(self.refused, round(tokens / _OFF)) if self.refused else 0
        return replace(self, held=tokens, refused=refused)

    def refuses(self, tokens: int, told: int) -> "LearntWindow":
        """It refused so many, and said how many it holds."""
        held = min(self.held, round(tokens * _OFF))
        return LearntWindow(held, min(self.refused or tokens, tokens), told or self.told)


NOTHING: Final = LearntWindow()


class LearntWindows:
    """Folds requests and what became of them."""

    def __init__(self, kept: Mapping[str, LearntWindow] | None = None) -> None:
        self._known: dict[str, LearntWindow] = dict(kept or {})
        self._packed: dict[RequestId, int] = {}
        self._asked: dict[RequestId, tuple[str, int]] = {}
        self._told: dict[str, int] = {}

    def kept(self) -> dict[str, LearntWindow]:
        """The state between two requests, to be taken up."""
        return dict(self._known)

    def of(self, model: ModelInfo) -> LearntWindow:
        """What is known of a model."""
        return self._known.get(_key(model), NOTHING)

    def least(self, model: ModelInfo) -> int:
        """The tokens that count as its window; 0: nobody knows."""
        return self.of(model).least(model.window)

    def news(self, model: ModelInfo) -> bool:
        """Whether what counts as its window is another than was told."""
        now, told = self.least(model), self._told.get(model.profile, 0)
        return abs(now - told) > _NEWS * now

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if something was learnt."""
        match ev.payload:
            case ContextPacked(request_id=request, total_tokens=tokens):
                self._packed[request] = tokens
            case ModelRequested(request_id=request, model=model):
                self._asked[request] = _key(model), self._packed.pop(request, 0)
            case ModelResponded(request_id=request, usage=usage) if request in self._asked:
                key, tokens = self._asked.pop(request)
                counted = 0 if usage.estimated else usage.input_tokens
                return self._learn(key, self._known.get(key, NOTHING).took(max(tokens, counted)))
            case ModelFailed(request_id=request, fault=fault, window=told) if request in self._asked:
                key, tokens = self._asked.pop(request)
                if fault == "overflow" and tokens:
                    return self._learn(key, self._known.get(key, NOTHING).refuses(tokens, told))
            case ContextLearnt(profile=profile, window=window):
                self._told[profile] = window
            case _:
                pass
        return False

    def _learn(self, key: str, now: LearntWindow) -> bool:
        before = self._known.get(key)
        self._known[key] = now
        return now != before


def _key(model: ModelInfo) -> str:
    return f"{model.provider} {model.model} {model.base_url}"
