"""Five thousand turns of one session (TURNS=n for another number): nothing grows with them but the log."""

import os

import pytest

from tests.e2e.conftest import Program
from tests.soak.conftest import Report
from tests.soak.many_turns import play, spread

TURNS = int(os.environ.get("TURNS", "5000"))
SETTLED = min(500, TURNS // 2)
MOST_GROWTH_MB = 50.0

pytestmark = [pytest.mark.soak, pytest.mark.e2e]


def test_five_thousand_turns_hold_no_more_than_five_hundred(program: Program, report: Report) -> None:
    samples = [one for one in play(program, TURNS, max(TURNS // 50, 1)) if one.turn >= SETTLED]
    first, last = samples[0], samples[-1]
    growth = max(one.rss_mb for one in samples) - first.rss_mb
    report(
        f"{last.turn} turns: memory {first.rss_mb} MB at turn {first.turn}, {last.rss_mb} MB at the end, "
        f"at most {growth:.1f} MB more; "
        + ", ".join(spread(samples, name) for name in ("descriptors", "threads", "tasks", "below"))
        + f"; {(last.at - first.at) / (last.turn - first.turn) * 1000:.0f} ms a turn"
    )
    assert growth < MOST_GROWTH_MB
    for name in ("descriptors", "threads", "tasks", "below"):
        counts = [getattr(one, name) for one in samples]
        assert max(counts) <= counts[0] + 2, f"{name}: {counts}"
