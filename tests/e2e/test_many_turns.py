"""Fifty turns in one process: descriptors, threads, tasks and processes do not grow (5,000 in `make soak`)."""

import pytest

from tests.e2e.conftest import Program
from tests.soak.many_turns import play
from tests.stubs.left_out import linux_only

TURNS = 50


@pytest.mark.e2e
@linux_only("counts in /proc")
def test_what_a_session_holds_does_not_grow_with_its_turns(program: Program) -> None:
    samples = play(program, TURNS, TURNS // 5)
    for name in ("descriptors", "threads", "tasks", "below"):
        counts = [getattr(sample, name) for sample in samples]
        assert max(counts) <= counts[0] + 2, f"{name}: {counts}"
