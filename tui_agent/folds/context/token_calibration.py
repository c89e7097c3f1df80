"""Ratios between a provider's token counts and our own, for each model and tokenizer.

Invariant: the ratios are computed from the log alone, so that all runs of a session make the same estimates.
"""

from collections.abc import Mapping
from typing import Final

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.ids import MAIN_AGENT, RequestId

_SMOOTHING: Final = 0.3
_MIN_RATIO, _MAX_RATIO = 0.4, 2.5
_MIN_TOKENS: Final = 100
"""Minimum token count for computing a ratio, because ratios of smaller counts are inaccurate."""


class Calibration:
    """Compares the token counts of providers with our own counts, for the requests of all agents.

    A ratio is an exponential moving average of the provider's count divided by our own count. A ratio stays between 0.4
    and 2.5. Before the provider's first count, the ratio is 1.
    """

    # The main agent and the subtasks have separate ratios, because some servers do not count tool definitions. Requests
    # of subtasks consist mostly of tool definitions.

    def __init__(self, ratios: Mapping[str, float] | None = None) -> None:
        self.ratios: dict[str, float] = dict(ratios or {})
        self._counted: dict[RequestId, tuple[str, int]] = {}
        """Maps each request without an answer to (name of the tokenizer, token count by this tokenizer)."""

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case ContextPacked(request_id=request, counted_tokens=counted, tokenizer=tokenizer):
                self._counted[request] = tokenizer, counted
            case ModelRequested(request_id=request, model=model) if request in self._counted:
                tokenizer, counted = self._counted[request]
                self._counted[request] = _key(model.model, tokenizer, ev.agent == MAIN_AGENT), counted
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
        if counted < _MIN_TOKENS or truth <= 0:
            return False
        ratio = min(max(truth / counted, _MIN_RATIO), _MAX_RATIO)
        known = self.ratios.get(key)
        self.ratios[key] = ratio if known is None else known + (ratio - known) * _SMOOTHING
        return True

    def ratio(self, model: str, tokenizer: str) -> float:
        """Return the factor that converts a count by `tokenizer` to the provider's count for this model."""
        others = self.ratios.get(_key(model, tokenizer, False), 1.0)
        return self.ratios.get(_key(model, tokenizer, True), others)


def _key(model: str, tokenizer: str, is_main: bool) -> str:
    return f"{'' if is_main else 'subtasks: '}{tokenizer} {model}"
