"""The real bash against our parser for two hundred thousand generated lines (LINES=n, SEED=n)."""

import os
import time

import pytest

from tests.properties.policy.bash_lines import LineSource
from tests.properties.policy.bash_runs import BASH, BWRAP, differences
from tests.soak.conftest import Report
from tests.stubs.left_out import only_where

LINES = int(os.environ.get("LINES", "200000"))
SEED = int(os.environ.get("SEED", "2"))
BATCH = 1_000

pytestmark = [pytest.mark.soak, only_where(bool(BASH and BWRAP), "bash and bubblewrap are not installed")]


def test_bash_runs_no_command_that_was_not_read_for_long(report: Report) -> None:
    source, began = LineSource(SEED), time.monotonic()
    read = accepted = 0
    found: list[str] = []
    while read < LINES:
        lines = [source.line() for _ in range(min(BATCH, LINES - read))]
        inside, differing = differences(lines)
        read, accepted = read + len(lines), accepted + inside
        found += differing
    report(
        f"bash against the parser: {read} lines, {accepted} inside the subset and run by bash, {len(found)} differences, "
        f"{time.monotonic() - began:.0f} s"
    )
    assert not found, "\n".join(found)
    assert accepted > 0.15 * read
