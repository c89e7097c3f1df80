"""The words that people read for states, ends and failures. Invariant: one word for a thing, in every pane and summary."""

from typing import Final

from tui_agent.folds.trace.spans import SpanState
from tui_agent.protocol.events.session import ForkChange
from tui_agent.protocol.events.tool import ToolStatus
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.unicode_text import counted

TURN_ENDS: Final[dict[TurnEnd, str]] = {
    "finished": "done",
    "rejected": "the agent declined",
    "interrupted": "stopped",
    "part_limit": "stopped at the limit of parts",
    "iteration_limit": "stopped at the limit of iterations",
    "turn_limit": "stopped at the limit of turns",
    "time_limit": "stopped at the time limit",
    "cost_limit": "stopped at the cost limit",
    "denied": "denied",
    "stuck": "stopped: the same calls again",
    "model_error": "the model failed",
    "error": "failed",
}
SPAN_STATES: Final[dict[SpanState, str]] = {
    "queued": "queued",
    "running": "running",
    "waiting": "waiting for you",
    "done": "done",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "stopped",
}
TOOL_ENDS: Final[dict[ToolStatus, str]] = {
    "ok": "",
    "failed": "failed",
    "invalid": "not a valid call",
    "denied": "denied",
    "interrupted": "stopped",
    "lost": "lost",
}
FAILURES: Final[dict[str, str]] = {
    "model": "a request to the model",
    "tool": "a tool call",
    "environment": "a tool call, by the files or programs of the workspace",
    "policy": "a call that was denied",
    "budget": "a limit that was reached",
    "engine": "the engine itself",
}
"""By the categories of `MetricsView.failures`: what it was that failed."""


def unpriced(model: str, price: float | None, limit_usd: float | None) -> str:
    """What to say where a limit of cost limits nothing, because nobody knows the model's price; else empty."""
    if limit_usd is None or price is not None or not model:
        return ""
    return f"The price of {model} is not known, so the cost limit of ${limit_usd:g} cannot hold."


def fork_changes(changed: ForkChange) -> tuple[str, ...]:
    """What is different in a fork, a few words each: a model's, a tool's and a user's own words are left out."""
    named = {
        "model": changed.model,
        "reasoning effort": changed.reasoning_effort,
        "context mode": changed.context_mode,
        "folder": changed.workspace,
    }
    found = [f"{what} {value}" for what, value in named.items() if value]
    if changed.result is not None:
        found.append("another tool result")
    if changed.message is not None:
        found.append("another message")
    return tuple(found)


CAME: Final = "A later request had it."
LATER: Final = "A later request has it."


def unmapped(waited_ms: float) -> str:
    """That a request went out before the map of the repository was made."""
    return f"Sent without the map of the repository, which was not there after {waited_ms / 1_000:g} s."


def stepped_over(count: int) -> str:
    """How many lines of a log could not be read."""
    return counted(count, "damaged line was stepped over", "damaged lines were stepped over")


def unknown_events(count: int, *, newer: bool = False) -> str:
    """How many events of a log could be read but not understood."""
    return f"{counted(count, 'event')} of {'a newer log version' if newer else 'a kind'} that this version does not know"
