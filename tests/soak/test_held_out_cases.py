"""The held-out cases of bench-40 by their oracle."""

from pathlib import Path

import pytest

from tests.evals.test_bench import home, run
from tui_agent.evals.cases.suites import load_suite

__all__ = ["home"]
HELD_OUT = [case for case in load_suite("bench-40", Path()).cases if case.split == "heldout"]


@pytest.mark.soak
@pytest.mark.parametrize("case", HELD_OUT, ids=lambda case: case.id)
async def test_the_oracle_solves_a_held_out_case(case, tmp_path: Path) -> None:
    result = await run(case, tmp_path)
    assert (result.passed, result.failure, result.detail) == (True, "", "")
