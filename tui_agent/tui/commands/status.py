"""The command /status, and the facts about the session for /doctor.

Invariant: every number is the same as in the panes.
"""

from pathlib import Path

from tui_agent.folds.text.session_figures import (
    describe_context,
    describe_cost,
    describe_instructions,
    describe_limits,
    describe_model,
    describe_sandbox,
    describe_tokens,
    describe_work,
    measure_rows,
)
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import json_rows, text_of
from tui_agent.tui.commands.help_and_lists import offers
from tui_agent.tui.modals.viewer import show, warn_newest_only
from tui_agent.tui.panes.context_bar import words as meter_words
from tui_agent.tui.panes.policy import policy_words
from tui_agent.tui.panes.status_text import status_of
from tui_agent.tui.untrusted_text import clean_line, shorten_home
from tui_agent.tui.widgets.facts import Facts
from tui_agent.units import format_cost, format_tokens


def show_status(context: AppContext, argument: str) -> None:
    """Show the current model, policy, sandbox, folder, context, cost and settings."""
    hidden_files = "checking …"

    def draw(facts: Facts) -> None:
        warn_newest_only(context, facts)
        for name, value in _status_pairs(context, hidden_files):
            if value:
                facts.pair(name, value, names=14)
        facts.gap()
        facts.text("/status tools and /status plugins list more; /doctor checks everything.", "t3")

    plain = "\n".join(f"{name}: {value}" for name, value in _status_pairs(context, "") if value)
    viewer = show(context, "Status", draw, plain=plain)

    async def ask() -> None:
        nonlocal hidden_files
        _, output = await context.ask("doctor", "--only", "secrets", "--json", *context.place)
        text = " ".join(f"{text_of(row, 'message')} {text_of(row, 'advice')}" for row in json_rows(output))
        hidden_files = text.removeprefix("Hidden from commands: ").strip()
        viewer.redraw()

    context.worker(ask(), "secrets")


def _status_pairs(context: AppContext, hidden_files: str) -> list[tuple[str, str]]:
    """Return the rows of /status as (name, value); a value can be empty."""
    state, settings, config = context.state, context.state.settings, context.config
    status = status_of(state, context.views.trace.view())
    header, fork = context.app.header, ", a fork" if state.is_fork else ""
    branch = f" ({header.branch})" if header.branch else ""
    folder = f"{shorten_home(Path(state.workspace))}{branch}{fork}"
    pairs = [("session", f"{clean_line(state.title) or 'new'}  ({context.app.session_id})")]
    if settings is not None:
        words = policy_words(settings.policy, unconfined=not state.sandbox, program=settings.program)
        pairs = [
            ("model", describe_model(settings.model)),
            ("policy", f"{settings.policy}: {words}"),
            ("commands", clean_line(state.environment_details)),
            ("sandbox", clean_line(describe_sandbox(state))),
            ("hidden files", "" if state.environment_details else hidden_files),
            ("commands see", clean_line(", ".join(f"${name}" for name in state.exposed_variables))),
            *pairs,
        ]
    return [
        *pairs,
        ("folder", folder if state.workspace else ""),
        ("now", f"{status.word}  {status.detail}".strip()),
        ("context", _describe_context(context)),
        ("cost", describe_cost(state)),
        ("instructions", clean_line(describe_instructions(state))),
        *(("left out", clean_line(note)) for note in state.instruction_notes),
        ("agent", _describe_agent(context)),
        ("settings", _describe_settings(context) if config is not None else ""),
    ]


def _describe_context(context: AppContext) -> str:
    meter = context.views.meter.view()
    level = f": {meter_words(meter)}" if meter.used and meter.window else ""
    return f"{describe_context(meter)}{level}"


def _describe_agent(context: AppContext) -> str:
    views, settings = context.views, context.state.settings
    plugins = views.plugins.values()
    failed = sum(isinstance(plugin, PluginFailed) for plugin in plugins)
    counts = [
        format_count(len(offers(context, "tool")), "tool"),
        format_count(len({plugin.plugin for plugin in plugins}), "plugin")
        + (f" ({failed} failed)" if failed else ""),
        format_count(sum(not skill.fault for skill in context.state.skills), "skill"),
    ]
    return f"{settings.agent if settings is not None else 'default'}, {', '.join(counts)}"


def _describe_settings(context: AppContext) -> str:
    config, app = context.config, context.app
    if config is None:
        return ""
    switches = f"vim {'on' if config.vim else 'off'}, mouse {'on' if app.first.mouse else 'off'}"
    return f"{shorten_home(config.paths.user_config)} (theme {app.theme_name}, {switches})"


def session_pairs(context: AppContext) -> list[tuple[str, str]]:
    """Return facts about the session for bug reports."""
    state, metrics, trace = context.state, context.views.metrics.view(), context.views.trace.view()
    pairs = [
        ("session", f"{context.app.session_id}, in {state.workspace}"),
        ("log", str(context.folder / "events.jsonl") if context.folder else "none"),
        (
            "run",
            f"{state.run_id or 'none'}, newest event {context.views.last_kind or 'none'} (number {context.views.seq})",
        ),
    ]
    if state.settings is not None:
        model = state.settings.model
        price = "price unknown"
        if model.input_price is not None:
            price = f"{_price(model.input_price)} in, {_price(model.output_price)} out per million tokens"
        window = format_tokens(model.window) if model.window else "not known"
        pairs += [
            ("model", f"{describe_model(model)} {model.base_url}".strip()),
            ("window", f"{window}, {price}"),
            ("context mode", state.settings.context_mode),
            ("limits", describe_limits(state)),
        ]
    return [
        *pairs,
        ("work", describe_work(metrics)),
        ("tokens", describe_tokens(state)),
        ("tools", format_count(metrics.tool_calls, "call")),
        ("failed", f"{format_count(trace.failed, 'tool or model call')}, {trace.denied} denied"),
        ("queue", format_count(len(state.queue), "message")),
        *measure_rows(metrics),
    ]


def _price(usd: float | None) -> str:
    return "an unknown price" if usd is None else format_cost(usd)
