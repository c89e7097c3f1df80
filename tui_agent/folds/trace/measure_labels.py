"""Labels for a session's measures, for the terminal and the screen.

Invariant: pure; values that were not measured have no line.
"""

from tui_agent.folds.trace.measures import MeasuresView
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.unicode_text import counted
from tui_agent.units import format_bytes, format_duration


def told(metrics: MetricsView, view: MeasuresView) -> list[tuple[str, str]]:
    """Return (name, text) rows on output, context, map, and the first edit and test."""
    share = "" if view.compression_ratio is None else f", {view.compression_ratio:.0%} sent to models"
    artifacts = f"{counted(view.artifact_count, 'output')} stored, {format_bytes(view.artifact_bytes)}"
    rows = [
        ("output", f"{view.raw_output_chars} characters{share}" if view.raw_output_chars else ""),
        ("context", _describe_context(view) if view.context_peak_tokens else ""),
        ("observations", _describe_observations(metrics, view)),
        ("artifacts", artifacts if view.artifact_count else ""),
        ("map", _describe_map(view)),
        ("memory", counted(view.memory_updates, "update") if view.memory_updates else ""),
        ("first edit", _describe_first_edit(metrics, view)),
    ]
    return [(name, value) for name, value in rows if value]


def _describe_context(view: MeasuresView) -> str:
    counted_tokens = view.context_real_tokens
    provider_note = "" if counted_tokens is None else f" (provider's count: {counted_tokens})"
    return (
        f"peak about {view.context_peak_tokens} tokens, newest request {view.context_estimated_tokens}{provider_note}; "
        f"{counted(view.context_compression_count, 'summary', 'summaries')}, outputs shortened "
        f"{counted(view.context_reduction_count, 'time')}"
    )


def _describe_observations(metrics: MetricsView, view: MeasuresView) -> str:
    phrases = []
    if view.hot_observation_count:
        phrases.append(f"{view.hot_observation_count} in full")
    if view.cold_summary_chars:
        phrases.append(f"the others in a summary of {view.cold_summary_chars} characters")
    if metrics.repeated_reads:
        phrases.append(f"{counted(metrics.repeated_reads, 'repeated read')}")
    return ", ".join(phrases)


def _describe_map(view: MeasuresView) -> str:
    if not view.repomap_builds and not view.repomap_uses:
        return ""
    tool_uses = view.repomap_uses - view.repomap_injections
    return (
        f"built {counted(view.repomap_builds, 'time')}, in {counted(view.repomap_injections, 'request')}, "
        f"requested {counted(tool_uses, 'time')} by tool"
    )


def _describe_first_edit(metrics: MetricsView, view: MeasuresView) -> str:
    """Return how the session reached its first edit, and from there a test."""
    if view.first_edit_part is None:
        return ""
    phrases = [f"part {view.first_edit_part}"]
    if metrics.seconds_to_first_edit is not None:
        phrases.append(f"after {format_duration(metrics.seconds_to_first_edit)}")
    if view.first_target_read_part is not None:
        phrases.append(f"first read of an edited file at part {view.first_target_read_part}")
    if view.search_to_edit_parts is not None:
        phrases.append(f"{counted(view.search_to_edit_parts, 'part')} after the last search")
    if view.edit_to_test_parts is not None:
        phrases.append(f"next test {counted(view.edit_to_test_parts, 'part')} later")
    if view.seconds_to_first_test is not None:
        phrases.append(f"first test after {format_duration(view.seconds_to_first_test)}")
    return ", ".join(phrases)
