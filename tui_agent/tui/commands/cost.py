"""The command /cost: the session's cost, its limits, and the tokens of each turn.

Invariant: every number is the same as in the panes.
"""

from collections.abc import Sequence

from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import describe_limits
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.viewer import show, warn_newest_only
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part
from tui_agent.units import format_cost, format_tokens

MAX_TURNS = 20
"""Maximum number of turns in the table, the newest ones."""
_PRECISION_NOTES = {
    "estimated": "~ marks an estimate: the provider reported no token count, for example for a stopped request.",
    "partial": "The cost of some requests is unknown: the model had no price, or tui-agent ended during the answer.",
}


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
            facts.pair("session", format_cost(state.cost_usd, state.cost_precision), names=16)
        if is_priced and metrics.turns:
            turn = "this turn" if state.turn_running else "last turn"
            sums = state.turn_totals
            newest = sums.cost_usd if sums.model_calls else 0.0
            facts.pair(turn, format_cost(newest, sums.cost_precision) or "not known", names=16)
        facts.pair("limits", describe_limits(state), names=16)
        facts.gap()
        has_turns = bool(metrics.turns or state.undone.turns)
        if not has_turns:
            facts.text("Nothing spent yet. The cost of the first answer will appear here.", "t3")
        else:
            _draw_turns(facts, context.views.trace.view(), state, is_priced=is_priced)
        facts.gap()
        if is_priced and state.cost_precision != "exact":
            facts.text(_PRECISION_NOTES[state.cost_precision], "t3")
        if is_priced or not has_turns:
            facts.text("/cost 2.50 stops the session at $2.50.", "t3")
        else:
            facts.text(
                "The price of this model is not known. Set input_price and output_price in its profile.",
                "t3",
            )

    show(context, "Cost", draw)


def _draw_turns(facts: Facts, trace: TraceView, state: SessionStateView, *, is_priced: bool) -> None:
    """Add a row for each turn: cost, tokens sent and received, and the largest request.

    All undone turns share one row. `is_priced`: False to leave out the column for the cost.
    """
    wide = facts.width >= 62
    # Widths of the columns; a column of width 0 is left out.
    cells = (10, 10 * is_priced, 13, 11, 18) if wide else (9, 10 * is_priced, 8, 9, 9)

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
        usage = NO_USAGE.with_costs((span.cost_usd, span.cost_precision) for span in spans)
        unknown = "not known" if usage.cost_precision == "partial" else ""
        cost = format_cost(usage.cost_usd, usage.cost_precision, short=True) or unknown
        largest = [span.tokens_in for span in spans if span.tokens_in is not None]
        counts = (sent, received, max(largest, default=0))
        # Without a model call, nothing was spent; the cost is not unknown.
        if not any(_has_model_calls(trace, span) for span in spans):
            cost, largest = format_cost(0.0), [0]
        add_row((name, cost, *(format_tokens(count) if largest else "unknown" for count in counts)))

    for span in turns[-MAX_TURNS:]:
        add_sums(span.name, [span])
    summaries = [trace.spans[index] for index in trace.roots if trace.spans[index].kind == "model"]
    if summaries:
        add_sums("summaries", summaries)
    undone, usage = state.undone, state.usage
    if undone.input_tokens or undone.cost_usd:
        unknown = "not known" if undone.cost_precision == "partial" else format_cost(0.0)
        cost = format_cost(undone.cost_usd or None, undone.cost_precision, short=True) or unknown
        tokens = (undone.input_tokens, undone.output_tokens)
        counts = (format_tokens(count) if undone.input_tokens else "unknown" for count in tokens)
        add_row(("undone", cost, *counts, ""))
    session = format_cost(state.cost_usd, state.cost_precision, short=True)
    total = (format_tokens(usage.input_tokens), format_tokens(usage.output_tokens))
    add_row(("session", session, *total, ""), bold=True)


def _has_model_calls(trace: TraceView, span: Span) -> bool:
    """Return True if `span` is a model call, or a turn with a model call."""
    return span.kind == "model" or any(trace.spans[child].children for child in span.children)
