"""The commands /status and /cost. Invariant: every number equals the one in the panes."""

from collections.abc import Sequence

from tui_agent.folds.trace.measure_labels import measure_rows
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.cli_client import json_rows, place, text_of
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.viewer import show, warn_newest_only
from tui_agent.tui.panes.status_text import status_of
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import part
from tui_agent.units import format_cost, format_estimate, format_tokens

MAX_TURNS = 20


def show_status(context: AppContext, argument: str) -> None:
    """Show the state of the session, its settings and its figures."""

    hidden_files = "looking …"

    def draw(facts: Facts) -> None:
        warn_newest_only(context, facts)
        for name, value in _status_pairs(context):
            if name:
                facts.pair(name, value, names=16)
            else:
                facts.gap()
            if name == "sandbox":
                facts.fact("secrets", hidden_files, names=16)

    plain = "\n".join(f"{name}: {value}" for name, value in _status_pairs(context) if name)
    viewer = show(context, "Status", draw, plain=plain)

    async def ask() -> None:
        nonlocal hidden_files
        _, output = await context.ask("doctor", "--only", "secrets", "--json", *place(context.app.options))
        hidden_files = " ".join(
            f"{text_of(row, 'message')} {text_of(row, 'advice')}" for row in json_rows(output)
        ).strip()
        viewer.redraw()

    context.worker(ask(), "secrets")


def _instruction_pairs(context: AppContext) -> list[tuple[str, str]]:
    """Return labelled rows: the instruction files in use, and notes about instruction files that were left out."""
    state = context.state
    files = [
        f"{clean_line(file.path)} ({format_estimate(file.tokens)} tokens)" for file in state.instructions
    ]
    pairs = [("instructions", ", ".join(files))] if files else []
    return [*pairs, *(("left out", clean_line(note)) for note in state.instruction_notes)]


def _status_pairs(context: AppContext) -> list[tuple[str, str]]:
    state, metrics, trace = context.state, context.views.metrics.view(), context.views.trace.view()
    status = status_of(state, trace)
    newest = f"newest event {context.views.last_kind or 'none'} ({context.views.seq})"
    pairs = [
        ("session", f"{context.app.session_id}  {clean_line(state.title)}".strip()),
        ("folder", state.workspace),
        ("log", str(context.folder / "events.jsonl") if context.folder else "none"),
        ("run", f"{state.run_id or 'none'}, {newest}"),
        ("state", f"{status.word}  {status.what}".strip()),
        ("", ""),
    ]
    if state.settings is not None:
        pairs += [*_model_pairs(state.settings.model), ("policy", state.settings.policy)]
        sandbox = state.sandbox or f"none: {state.no_sandbox_reason or 'not known yet'}"
        pairs.append(("sandbox", clean_line(sandbox)))
        if state.exposed_variables:
            pairs.append(("secrets passed to commands", clean_line(", ".join(state.exposed_variables))))
        pairs += [
            ("agent", state.settings.agent),
            ("context mode", state.settings.context_mode),
            *_instruction_pairs(context),
            ("limits", _limits(context)),
            ("", ""),
        ]
    tokens_in = f"{format_tokens(metrics.input_tokens)} in ({format_tokens(metrics.cached_tokens)} cached)"
    return [
        *pairs,
        ("turns", f"{metrics.turns}, iterations {metrics.iterations}, parts {metrics.parts}"),
        ("tokens", f"{tokens_in}, {format_tokens(metrics.output_tokens)} out"),
        ("cost", format_cost(metrics.cost_usd) or "not known"),
        ("tools", format_count(sum(metrics.tools.values()), "call")),
        ("failed", f"{trace.failed} (calls of tools and models), {trace.denied} denied"),
        ("queue", f"{len(state.queue)} waiting"),
        ("", ""),
        *measure_rows(metrics),
    ]


def _model_pairs(model: ModelInfo) -> list[tuple[str, str]]:
    effort: str = model.effort or "the model's own"
    if model.effective_effort and model.effective_effort != model.effort:
        effort += f", sent as {model.effective_effort}"
    price = "price unknown"
    if model.input_price is not None:
        price = f"{_price(model.input_price)} in, {_price(model.output_price)} out per million tokens"
    return [
        ("model", f"{model.model or 'none'} ({model.provider or 'no provider'}) {model.base_url}".strip()),
        ("reasoning", effort),
        ("window", f"{format_tokens(model.window) if model.window else 'not known'}, {price}"),
    ]


def _price(usd: float | None) -> str:
    return "an unknown price" if usd is None else format_cost(usd, digits=2)


def _limits(context: AppContext) -> str:
    settings = context.state.settings
    if settings is None:
        return "none"
    budgets = settings.budgets
    limits = (
        (budgets.max_parts, "parts"),
        (budgets.max_iterations, "iterations"),
        (budgets.max_turns, "turns"),
        (budgets.timeout_seconds, "s a turn"),
    )
    texts = [f"{value:g} {unit}" for value, unit in limits if value is not None]
    if budgets.max_cost_usd is not None:
        texts.append(format_cost(budgets.max_cost_usd, digits=2))
    return ", ".join(texts) or "none"


def show_cost(context: AppContext, argument: str) -> None:
    """Show the session's cost so far; if `argument` is an amount in dollars, set the cost limit."""
    if argument:
        context.act("limit_cost", argument)
        return

    def draw(facts: Facts) -> None:
        metrics, state = context.views.metrics.view(), context.state
        warn_newest_only(context, facts)
        turn = "this turn" if state.turn_running else "last turn"
        facts.pair("session", format_cost(metrics.cost_usd) or "not known", names=16)
        facts.pair(turn, format_cost(state.turn_cost_usd) or "not known", names=16)
        facts.pair("limits", _limits(context), names=16)
        facts.gap()
        _draw_turns(facts, context.views.trace.view(), metrics)
        facts.gap()
        facts.text("/cost 2.50 stops the session at $2.50.", "t3")

    show(context, "Cost", draw)


def _draw_turns(facts: Facts, trace: TraceView, metrics: MetricsView) -> None:
    """Add a row for each turn: cost, tokens sent and received, and the largest request. The last row has the totals."""
    wide = facts.width >= 62
    cells = (10, 10, 10, 11, 18) if wide else (9, 9, 8, 10, 9)

    def add_row(texts: Sequence[str], role: Role = "t1", *, bold: bool = False) -> None:
        name = part(texts[0].ljust(cells[0]), facts.style("t2", bold=bold))
        figures = "".join(f" {text}".rjust(room) for text, room in zip(texts[1:], cells[1:], strict=True))
        facts.line([name, (figures, facts.style(role, bold=bold))])

    add_row(("turn", "cost", "sent", "received", "largest request" if wide else "largest"), "t3")
    turns = [trace.spans[index] for index in trace.roots if trace.spans[index].kind == "turn"]
    if len(turns) > MAX_TURNS:
        facts.text(f"{len(turns) - MAX_TURNS} earlier turns", "t3")

    def add_sums(name: str, spans: Sequence[Span]) -> None:
        sent, received = sum(span.billed_in for span in spans), sum(span.billed_out for span in spans)
        prices = [span.cost_usd for span in spans if span.cost_usd is not None]
        cost = format_cost(sum(prices)) if prices else "not known" if sent else ""
        largest = max(span.tokens_in or 0 for span in spans)
        add_row((name, cost, format_tokens(sent), format_tokens(received), format_tokens(largest)))

    for span in turns[-MAX_TURNS:]:
        add_sums(span.name, [span])
    summaries = [trace.spans[index] for index in trace.roots if trace.spans[index].kind == "model"]
    if summaries:
        add_sums("summaries", summaries)
    total = (format_tokens(metrics.input_tokens), format_tokens(metrics.output_tokens))
    add_row(("session", format_cost(metrics.cost_usd), *total, ""), bold=True)
