"""Totals of model calls: number of calls, tokens, cost, and the precision of the cost.

Invariant: this is the only place that adds tokens or costs of model calls.
"""

from collections.abc import Iterable

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import BudgetUse
from tui_agent.units import CostPrecision, combine_precision


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """The totals of some model calls. `cost_usd`: None if no call had a known price."""

    # The sums are built with positional arguments: `dataclasses.replace` takes four times as long, and a log can have
    # many thousands of calls.

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    model_calls: int = 0

    @classmethod
    def from_budget(cls, budget: BudgetUse) -> "UsageTotals":
        """Return the tokens and the cost in a session's used budget. The number of calls is 0, because a budget has
        none.
        """
        # A budget has the cost 0 for calls without a known price.
        cost = budget.cost_usd or None
        return cls(
            budget.input_tokens, budget.output_tokens, budget.cached_tokens, cost, budget.cost_precision
        )

    @property
    def tokens(self) -> int:
        """The number of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def with_call(self, end: ModelResponded | ModelFailed) -> "UsageTotals":
        """Return the totals with one more model call, which ended with the event `end`."""
        return self.with_usage(end.usage, end.cost_usd, end.cost_precision)

    def with_usage(
        self, usage: Usage, cost_usd: float | None, precision: CostPrecision = "exact"
    ) -> "UsageTotals":
        """Return the totals with one more model call. `cost_usd`: None if the call's price is unknown."""
        return UsageTotals(
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
            self.cached_tokens + usage.cached_tokens,
            _add_cost(self.cost_usd, cost_usd),
            combine_precision(self.cost_precision, precision),
            self.model_calls + 1,
        )

    def with_costs(self, costs: Iterable[tuple[float | None, CostPrecision]]) -> "UsageTotals":
        """Return the totals with the costs and precisions of more model calls, whose tokens are not counted."""
        total, precision, calls = self.cost_usd, self.cost_precision, self.model_calls
        for cost, cost_precision in costs:
            total, precision = _add_cost(total, cost), combine_precision(precision, cost_precision)
            calls += 1
        return UsageTotals(self.input_tokens, self.output_tokens, self.cached_tokens, total, precision, calls)

    def with_totals(self, other: "UsageTotals") -> "UsageTotals":
        """Return the sums of these totals and the totals `other`."""
        return UsageTotals(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            _add_cost(self.cost_usd, other.cost_usd),
            combine_precision(self.cost_precision, other.cost_precision),
            self.model_calls + other.model_calls,
        )


NO_USAGE = UsageTotals()


def _add_cost(total: float | None, cost: float | None) -> float | None:
    return total if cost is None else (total or 0.0) + cost
