"""Context windows of models, inferred from the requests that providers refused and accepted.

Invariant: the windows are inferred from the log alone, for all agents.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked, ContextWindowInferred
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import ModelInfo

BELOW_REFUSED: Final = 0.75
"""Limit of a request after a refusal, as a fraction of the refused size.

The limit is never lower than the largest accepted request.
"""
_MIN_GAP: Final = 0.02
"""Minimum difference between the accepted and the refused size for trying a size in between.

It is a fraction of the accepted size.
"""
_COUNT_TOLERANCE: Final = 0.98
"""Maximum of `accepted`, as a fraction of `refused`. Token counts are not exact, so the two sizes could overlap."""
_ANNOUNCED_CHANGE: Final = 0.15
"""The user is told if a window changes by more than this fraction."""


@dataclass(frozen=True, slots=True)
class InferredWindow:
    """The known limits of one model's window, in tokens. 0 means unknown.

    - `accepted`: size of the largest accepted request.
    - `refused`: size of the smallest refused request.
    - `stated`: window that the provider stated: the maximum for a request and its answer together.
    """

    accepted: int = 0
    refused: int = 0
    stated: int = 0

    @property
    def window(self) -> int:
        """The window that the provider stated. 0 if unknown, or if the provider refused a smaller request."""
        return self.stated if 0 < self.stated < self.refused else 0

    @property
    def tokens(self) -> int:
        """Maximum tokens of a request, inferred from refusals. 0 if there was no refusal, or if `window` is known."""
        if not self.refused or self.window:
            return 0
        return max(round(self.refused * BELOW_REFUSED), self.accepted)

    @property
    def last_resort(self) -> int:
        """A higher limit, in tokens, to try if the user's messages alone do not fit in `tokens`."""
        gap = self.refused - self.accepted
        is_small_gap = gap <= self.accepted * _MIN_GAP
        return max(self.tokens, self.accepted + gap // 4) if self.tokens and not is_small_gap else self.tokens

    @property
    def refusal_state(self) -> tuple[int, int]:
        """The limits that are known from refusals: (`refused`, `stated`)."""
        return self.refused, self.stated

    def stated_window(self, window: int) -> int:
        """Return the smaller of two window sizes: the provider's, and `window` from the settings.

        A size of 0 means unknown. Return 0 if both sizes are unknown.
        """
        return min((size for size in (window, self.window) if size), default=0)

    def effective_window(self, window: int) -> int:
        """Return the number of tokens to use as the window: the smallest known limit (0: unknown).

        `window`: the window in the model's profile, or 0.
        """
        return min((size for size in (self.stated_window(window), self.tokens) if size), default=0)

    def with_accepted(self, tokens: int) -> "InferredWindow":
        """Return the limits after a request of `tokens` tokens was accepted."""
        if tokens <= self.accepted:
            return self
        # A larger request than the refused one was accepted, so the refused size was counted too low.
        refused = max(self.refused, round(tokens / _COUNT_TOLERANCE)) if self.refused else 0
        return replace(self, accepted=tokens, refused=refused)

    def with_refused(self, tokens: int, stated: int) -> "InferredWindow":
        """Return the limits after a request of `tokens` tokens was refused.

        `stated`: the window that the refusal states, or 0.
        """
        accepted = min(self.accepted, round(tokens * _COUNT_TOLERANCE))
        return InferredWindow(accepted, min(self.refused or tokens, tokens), stated or self.stated)


UNKNOWN_WINDOW: Final = InferredWindow()


class InferredWindows:
    """Infers each model's window from the accepted and refused requests of all agents."""

    def __init__(self, known: Mapping[str, InferredWindow] | None = None) -> None:
        self.known: dict[str, InferredWindow] = dict(known or {})
        self._packed: dict[RequestId, int] = {}
        self._asked: dict[RequestId, tuple[str, int]] = {}
        self._announced: dict[str, int] = {}

    def window_of(self, model: ModelInfo) -> InferredWindow:
        """Return the known limits of a model's window."""
        return self.known.get(_key(model), UNKNOWN_WINDOW)

    def effective_window(self, model: ModelInfo) -> int:
        """Return the number of tokens to use as the model's window, or 0 if the window is unknown."""
        return self.window_of(model).effective_window(model.window)

    def has_news(self, model: ModelInfo) -> bool:
        """Return True if the user should be told the model's window, because the window is new or changed
        noticeably.
        """
        window, announced = self.effective_window(model), self._announced.get(model.profile, 0)
        return abs(window - announced) > _ANNOUNCED_CHANGE * window

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case ContextPacked(request_id=request, total_tokens=tokens):
                self._packed[request] = tokens
            case ModelRequested(request_id=request, model=model):
                self._asked[request] = _key(model), self._packed.pop(request, 0)
            case ModelResponded(request_id=request, usage=usage) if request in self._asked:
                key, tokens = self._asked.pop(request)
                counted = 0 if usage.estimated else usage.input_tokens
                return self._learn(
                    key, self.known.get(key, UNKNOWN_WINDOW).with_accepted(max(tokens, counted))
                )
            case ModelFailed(request_id=request, fault=fault, window=stated) if request in self._asked:
                key, tokens = self._asked.pop(request)
                if fault == "overflow" and tokens:
                    return self._learn(key, self.known.get(key, UNKNOWN_WINDOW).with_refused(tokens, stated))
            case ContextWindowInferred(profile=profile, window=window):
                self._announced[profile] = window
            case _:
                pass
        return False

    def _learn(self, key: str, updated: InferredWindow) -> bool:
        previous = self.known.get(key)
        self.known[key] = updated
        return updated != previous


def _key(model: ModelInfo) -> str:
    return f"{model.provider} {model.model} {model.base_url}"
