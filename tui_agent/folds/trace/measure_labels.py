"""Labels a session's measured values for the terminal and the screen.

Invariant: a value that was not measured has no row.
"""

from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_bytes, format_duration, format_percent, format_tokens


def measure_rows(metrics: MetricsView) -> list[tuple[str, str]]:
    """Return rows of (name, text) for the measures of a session."""
    share = (
        ""
        if metrics.compression_ratio is None
        else f", {format_percent(metrics.compression_ratio)} sent to models"
    )
    artifacts = (
        f"{format_count(metrics.artifact_count, 'output')} stored, {format_bytes(metrics.artifact_bytes)}"
    )
    rows = [
        (
            "output",
            f"{format_count(metrics.raw_output_chars, 'character')}{share}"
            if metrics.raw_output_chars
            else "",
        ),
        ("context", _describe_context(metrics) if metrics.context_peak_tokens else ""),
        ("observations", _describe_observations(metrics)),
        ("artifacts", artifacts if metrics.artifact_count else ""),
        ("map", _describe_map(metrics)),
        ("memory", format_count(metrics.memory_updates, "update") if metrics.memory_updates else ""),
        ("first edit", _describe_first_edit(metrics)),
    ]
    return [(name, value) for name, value in rows if value]


def describe_work(metrics: MetricsView) -> str:
    """Describe the numbers of turns, iterations and parts, e.g. `1 turn, 2 iterations, 5 parts`."""
    counts = (metrics.turns, "turn"), (metrics.iterations, "iteration"), (metrics.parts, "part")
    return ", ".join(format_count(count, noun) for count, noun in counts)


def _describe_context(metrics: MetricsView) -> str:
    counted_tokens = metrics.context_real_tokens
    provider_note = "" if counted_tokens is None else f" (provider's count: {format_tokens(counted_tokens)})"
    return (
        f"peak about {format_tokens(metrics.context_peak_tokens)} tokens, "
        f"last request {format_tokens(metrics.context_estimated_tokens)} tokens{provider_note}; "
        f"{format_count(metrics.context_compression_count, 'summary', 'summaries')}, outputs shortened "
        f"{format_count(metrics.context_reduction_count, 'time')}"
    )


def _describe_observations(metrics: MetricsView) -> str:
    phrases = []
    if metrics.hot_observation_count:
        phrases.append(f"{format_count(metrics.hot_observation_count, 'tool result')} in full")
    if metrics.cold_summary_chars:
        phrases.append(
            f"older ones replaced by a summary of {format_count(metrics.cold_summary_chars, 'character')}"
        )
    if metrics.repeated_reads:
        phrases.append(f"{format_count(metrics.repeated_reads, 'repeated read')}")
    return ", ".join(phrases)


def _describe_map(metrics: MetricsView) -> str:
    if not metrics.repomap_builds and not metrics.repomap_uses:
        return ""
    tool_uses = metrics.repomap_uses - metrics.repomap_injections
    return (
        f"built {format_count(metrics.repomap_builds, 'time')}, added to "
        f"{format_count(metrics.repomap_injections, 'request')}, {format_count(tool_uses, 'tool call')}"
    )


def _describe_first_edit(metrics: MetricsView) -> str:
    if metrics.first_edit_part is None:
        return ""
    phrases = [f"part {metrics.first_edit_part}"]
    if metrics.seconds_to_first_edit is not None:
        phrases.append(f"after {format_duration(metrics.seconds_to_first_edit)}")
    if metrics.first_target_read_part is not None:
        phrases.append(f"first read of an edited file at part {metrics.first_target_read_part}")
    if metrics.search_to_edit_parts is not None:
        phrases.append(f"last search {format_count(metrics.search_to_edit_parts, 'part')} before the edit")
    if metrics.edit_to_test_parts is not None:
        phrases.append(f"tested {format_count(metrics.edit_to_test_parts, 'part')} after the edit")
    if metrics.seconds_to_first_test is not None:
        phrases.append(f"first test after {format_duration(metrics.seconds_to_first_test)}")
    return ", ".join(phrases)
