"""What `tui-agent trace` tells of the context, the map and the way to an edit, beside the counts."""

from tests.tui.app.driving import golden
from tui_agent.cli.trace import measured
from tui_agent.folds.base import fold
from tui_agent.folds.measures import Measures, MeasuresView


def test_the_figures_of_the_json_stand_in_the_text_too() -> None:
    view = fold(Measures(), golden("night_shift"))
    told = dict(measured(view))
    assert f"{view.raw_output_chars} characters" in told["output"] and "told to models" in told["output"]
    assert f"about {view.context_peak_tokens} tokens at most" in told["context"]
    assert "0 summaries" in told["context"]
    assert told["first edit"].startswith(f"part {view.first_edit_part}")


def test_what_was_not_measured_has_no_line() -> None:
    assert measured(MeasuresView()) == []
