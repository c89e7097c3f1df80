"""How a provider's counts of tokens stand to ours, for each model and each way of counting.

Invariant: learnt from the log alone, so that a later run of a session estimates as well as the one before.
"""

from collections.abc import Mapping
from typing import Final

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.ids import RequestId

TAKES = (ContextPacked, ModelRequested, ModelResponded, ModelFailed)
"""Payload classes that this fold handles."""

_SMOOTHING: Final = 0.3
_LOWEST, _HIGHEST = 0.4, 2.5
_ENOUGH: Final = 100
"""Tokens below which a provider's count says nothing about the ratio."""


class Calibration:
    """Folds manifests and the counts of providers, of all agents: an exponential moving average of truth over count.

    A ratio starts at 1 and stays between 0.4 and 2.5, so that one odd count cannot spoil it.
    """

    def __init__(self, kept: Mapping[str, float] | None = None) -> None:
        self._ratios: dict[str, float] = dict(kept or {})
        self._counted: dict[RequestId, tuple[str, int]] = {}
        """Requests under way: who counted, and how much."""

    def kept(self) -> dict[str, float]:
        """The state between two requests, to be taken up."""
        return dict(self._ratios)

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if a ratio changed."""
        match ev.payload:
            case ContextPacked(request_id=request, counted_tokens=counted, tokenizer=tokenizer):
                self._counted[request] = tokenizer, counted
            case ModelRequested(request_id=request, model=model) if request in self._counted:
                tokenizer, counted = self._counted[request]
                self._counted[request] = _key(model.model, tokenizer), counted
            case ModelFailed(request_id=request):
                self._counted.pop(request, None)
            case ModelResponded(request_id=request, usage=usage):
                key, counted = self._counted.pop(request, ("", 0))
                if not usage.estimated:
                    return self._learn(key, counted, usage.input_tokens)
            case _:
                pass
        return False

    def _learn(self, key: str, counted: int, truth: int) -> bool:
        if counted < _ENOUGH or truth <= 0:
            return False
        now = min(max(truth / counted, _LOWEST), _HIGHEST)
        known = self._ratios.get(key)
        self._ratios[key] = now if known is None else known + (now - known) * _SMOOTHING
        return True

    def ratio(self, model: str, tokenizer: str) -> float:
        """What this model's provider counts where `tokenizer` counts 1."""
        return self._ratios.get(_key(model, tokenizer), 1.0)


def _key(model: str, tokenizer: str) -> str:
    return f"{tokenizer} {model}"
