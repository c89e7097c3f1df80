"""What `tui-agent trace` and `/status` tell of the context, the map and the way to an edit, beside the counts."""

from tests.tui.app.driving import golden
from tui_agent.folds.projection import fold
from tui_agent.folds.text.session_figures import describe_work, measure_rows
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.units import format_tokens


def test_the_figures_of_the_json_stand_in_the_text_too() -> None:
    metrics = fold(Metrics(), golden("night_shift"))
    said = dict(measure_rows(metrics))
    assert f"{metrics.raw_output_chars:,} characters" in said["output"] and "sent to models" in said["output"]
    assert f"peak about {format_tokens(metrics.context_peak_tokens)} tokens" in said["context"]
    assert f"provider's count: {format_tokens(metrics.context_real_tokens or 0)}" in said["context"]
    assert f"last request {format_tokens(metrics.context_estimated_tokens)} tokens" in said["context"]
    assert "0 summaries" in said["context"]
    assert describe_work(metrics) == "2 turns, 9 iterations, 49 parts"
    assert said["observations"].startswith(f"{metrics.hot_observation_count} tool results in full")
    assert said["first edit"].startswith(f"part {metrics.first_edit_part}, after ")


def test_what_was_not_measured_has_no_line() -> None:
    assert measure_rows(MetricsView()) == []
