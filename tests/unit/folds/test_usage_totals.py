"""Totals of model calls: tokens, cost and precision."""

from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import BudgetUse


def answer(cost: float | None, *, estimated: bool = False) -> ModelResponded:
    usage = Usage(input_tokens=100, output_tokens=10, cached_tokens=40, estimated=estimated)
    return ModelResponded(
        request_id=RequestId("r"),
        first_part=0,
        parts=(),
        finish="stop",
        usage=usage,
        cost_usd=cost,
        duration_ms=1.0,
    )


def test_the_end_of_each_model_call_adds_its_tokens_and_cost() -> None:
    refused = ModelFailed(request_id=RequestId("r"), fault="overflow", message="too long")
    totals = NO_USAGE.with_call(answer(0.5)).with_call(refused).with_call(answer(0.25, estimated=True))
    assert totals == UsageTotals(200, 20, 80, 0.75, "estimated", 3)
    assert (totals.tokens, NO_USAGE.tokens) == (220, 0)


def test_a_sum_without_a_known_price_is_unknown_and_a_partly_known_one_is_partial() -> None:
    unknown = NO_USAGE.with_call(answer(None))
    assert (unknown.cost_usd, unknown.cost_precision) == (None, "partial")
    both = unknown.with_totals(NO_USAGE.with_call(answer(0.0)))
    assert (both.cost_usd, both.cost_precision, both.model_calls, both.input_tokens) == (
        0.0,
        "partial",
        2,
        200,
    )
    assert NO_USAGE.with_costs([(None, "exact"), (0.5, "exact"), (0.25, "exact")]).cost_usd == 0.75


def test_a_budget_without_a_cost_has_no_known_cost() -> None:
    assert UsageTotals.from_budget(BudgetUse(input_tokens=5)).cost_usd is None
    assert UsageTotals.from_budget(BudgetUse(cost_usd=0.5, cost_precision="partial")) == UsageTotals(
        cost_usd=0.5, cost_precision="partial"
    )
