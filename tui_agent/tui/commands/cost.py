"""The command /cost: the session's cost, its limits, and the tokens of each turn.

Invariant: every number equals the number that the panes show.
"""

from collections.abc import Sequence

from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.viewer import show, warn_newest_only
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part
from tui_agent.units import format_cost, format_number, format_time_limit, format_tokens

MAX_TURNS = 20


def show_cost(context: AppContext, argument: str) -> None:
    """Show the session's cost so far; if `argument` is an amount in dollars, set the cost limit."""
    if argument:
        context.act("limit_cost", argument)
        return

    def draw(facts: Facts) -> None:
        metrics, state = context.views.metrics.view(), context.state
        warn_newest_only(context, facts)
        is_priced = state.cost_usd is not None
        if is_priced:
            turn = "this turn" if state.turn_running else "last turn"
            facts.pair("session", format_cost(state.cost_usd), names=16)
            newest = state.turn_cost_usd if state.turn_totals.model_calls else 0.0
            facts.pair(turn, format_cost(newest) or "not known", names=16)
        facts.pair("limits", describe_limits(context), names=16)
        facts.gap()
        if not metrics.turns:
            facts.text("Nothing spent yet. The cost of the first answer will appear here.", "t3")
        else:
            _draw_turns(facts, context.views.trace.view(), metrics, state, is_priced=is_priced)
        facts.gap()
        if is_priced or not metrics.turns:
            facts.text("/cost 2.50 stops the session at $2.50.", "t3")
        else:
            facts.text(
                "The price of this model is not known. Set input_price and output_price in its profile.",
                "t3",
            )

    show(context, "Cost", draw)


def describe_limits(context: AppContext) -> str:
    """Return the session's limits, e.g. `20 turns, 600 s, $2.50`, or `none`."""
    settings = context.state.settings
    if settings is None:
        return "none"
    budgets = settings.budgets
    limits = (
        (budgets.max_parts, "parts"),
        (budgets.max_iterations, "iterations"),
        (budgets.max_turns, "turns"),
    )
    texts = [f"{format_number(value)} {unit}" for value, unit in limits if value is not None]
    if budgets.timeout_seconds is not None:
        texts.append(format_time_limit(budgets.timeout_seconds))
    if budgets.max_cost_usd is not None:
        texts.append(format_cost(budgets.max_cost_usd))
    return ", ".join(texts) or "none"


def _draw_turns(
    facts: Facts, trace: TraceView, metrics: MetricsView, state: SessionStateView, *, is_priced: bool
) -> None:
    """Add a row for each turn: cost, tokens sent and received, and the largest request. The last row has the totals.

    An undone turn counts in the total cost, but its tokens do not count. Without a price, there is no cost column.
    """
    wide = facts.width >= 62
    cells = (10, 10 * is_priced, 13, 11, 18) if wide else (9, 9 * is_priced, 8, 10, 9)

    def add_row(texts: Sequence[str], role: Role = "t1", *, bold: bool = False) -> None:
        name = part(texts[0].ljust(cells[0]), facts.style("t2", bold=bold))
        columns = zip(texts[1:], cells[1:], strict=True)
        figures = "".join(f" {text}".rjust(room) for text, room in columns if room)
        facts.line([name, (figures, facts.style(role, bold=bold))])

    add_row(
        (
            "turn",
            "cost",
            "tokens sent" if wide else "sent",
            "received",
            "largest request" if wide else "largest",
        ),
        "t3",
    )
    turns = [trace.spans[index] for index in trace.roots if trace.spans[index].kind == "turn"]
    if len(turns) > MAX_TURNS:
        facts.text(f"{len(turns) - MAX_TURNS} earlier turns", "t3")

    def add_sums(name: str, spans: Sequence[Span]) -> None:
        sent, received = sum(span.billed_in for span in spans), sum(span.billed_out for span in spans)
        prices = [span.cost_usd for span in spans if span.cost_usd is not None]
        cost = format_cost(sum(prices)) if prices else "not known" if sent else ""
        largest = [span.tokens_in for span in spans if span.tokens_in is not None]
        counts = (sent, received, max(largest, default=0))
        if not any(_has_model_calls(trace, span) for span in spans):
            cost, largest = format_cost(0.0), [0]
        add_row((name, cost, *(format_tokens(count) if largest else "unknown" for count in counts)))

    for span in turns[-MAX_TURNS:]:
        add_sums(span.name, [span])
    summaries = [trace.spans[index] for index in trace.roots if trace.spans[index].kind == "model"]
    if summaries:
        add_sums("summaries", summaries)
    if state.undone_cost_usd:
        add_row(("undone", format_cost(state.undone_cost_usd), "", "", ""))
    total = (format_tokens(metrics.input_tokens), format_tokens(metrics.output_tokens))
    add_row(("session", format_cost(state.cost_usd), *total, ""), bold=True)


def _has_model_calls(trace: TraceView, span: Span) -> bool:
    """Return True if the span is a model call, or a turn with at least one model call."""
    return span.kind == "model" or any(trace.spans[child].children for child in span.children)
