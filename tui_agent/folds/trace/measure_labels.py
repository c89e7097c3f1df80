"""A session's measures in words, for a terminal's lines and for the screen.

Invariant: pure; what was not measured has no line. How sizes and times are written says who asks.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.folds.trace.measures import MeasuresView
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.unicode_text import counted


@dataclass(frozen=True, slots=True)
class Units:
    """How a number of bytes and one of seconds are written."""

    size: Callable[[int], str]
    seconds: Callable[[float], str]


def told(metrics: MetricsView, view: MeasuresView, units: Units) -> list[tuple[str, str]]:
    """The figures of the output, of the context, of the map and of the way to the first edit and test, by name."""
    share = "" if view.compression_ratio is None else f", {view.compression_ratio:.0%} of it told to models"
    artifacts = f"{counted(view.artifact_count, 'output')} put away, {units.size(view.artifact_bytes)}"
    rows = [
        ("output", f"{view.raw_output_chars} characters{share}" if view.raw_output_chars else ""),
        ("context", _context(view, units) if view.context_peak_tokens else ""),
        ("observations", _observations(metrics, view, units)),
        ("artifacts", artifacts if view.artifact_count else ""),
        ("map", _map(view, units)),
        ("memory", counted(view.memory_updates, "update") if view.memory_updates else ""),
        ("first edit", _way(metrics, view, units)),
    ]
    return [(name, value) for name, value in rows if value]


def _context(view: MeasuresView, units: Units) -> str:
    real = view.context_real_tokens
    provider = "" if real is None else f" (the provider counted {real} in the newest it answered)"
    return (
        f"about {view.context_peak_tokens} tokens at most, {view.context_estimated_tokens} in the newest request{provider}; "
        f"{counted(view.context_compression_count, 'summary', 'summaries')}, outputs shortened "
        f"{counted(view.context_reduction_count, 'time')}"
    )


def _observations(metrics: MetricsView, view: MeasuresView, units: Units) -> str:
    said = []
    if view.hot_observation_count:
        said.append(f"{view.hot_observation_count} told as they came")
    if view.cold_summary_chars:
        said.append(f"a summary of {view.cold_summary_chars} characters for the others")
    if metrics.repeated_reads:
        said.append(f"{counted(metrics.repeated_reads, 'reading')} repeated")
    return ", ".join(said)


def _map(view: MeasuresView, units: Units) -> str:
    if not view.repomap_builds and not view.repomap_uses:
        return ""
    asked = view.repomap_uses - view.repomap_injections
    return (
        f"built {counted(view.repomap_builds, 'time')}, in {counted(view.repomap_injections, 'request')}, "
        f"asked for {counted(asked, 'time')}"
    )


def _way(metrics: MetricsView, view: MeasuresView, units: Units) -> str:
    """How the session came to its first edit, and from there to a test."""
    if view.first_edit_part is None:
        return ""
    said = [f"part {view.first_edit_part}"]
    if metrics.seconds_to_first_edit is not None:
        said.append(f"after {units.seconds(metrics.seconds_to_first_edit)}")
    if view.first_target_read_part is not None:
        said.append(f"a file of it first read at part {view.first_target_read_part}")
    if view.search_to_edit_parts is not None:
        said.append(f"{counted(view.search_to_edit_parts, 'part')} after the search before it")
    if view.edit_to_test_parts is not None:
        said.append(f"a test {counted(view.edit_to_test_parts, 'part')} later")
    if view.seconds_to_first_test is not None:
        said.append(f"the first test after {units.seconds(view.seconds_to_first_test)}")
    return ", ".join(said)
