"""The line of a log: the same, however its records come."""

import pytest

from tests.golden.make import LOGS
from tests.stubs.golden import golden
from tui_agent.folds.trace.timeline import build_timeline, extend_timeline


@pytest.mark.parametrize("name", LOGS)
def test_a_line_that_grows_is_the_line_of_the_whole(name: str) -> None:
    records = golden(name)
    whole = build_timeline(records)
    for cut in (1, 2, len(records) // 3, len(records) - 1):
        line = build_timeline(records[:cut])
        assert extend_timeline(line, records[cut - 1].time, records[cut:]) == whole
    line = build_timeline(())
    for place, record in enumerate(records):
        line = extend_timeline(line, records[max(0, place - 1)].time, [record])
    assert line == whole
