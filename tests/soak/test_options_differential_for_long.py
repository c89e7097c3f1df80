"""Two hundred thousand calls that our reading finds harmless, run by the real programs; and every option of the catalog."""

import os
import random
from collections.abc import Callable

import pytest

from tests.properties.policy.option_words import find_mismatches, make_probes
from tests.properties.policy.program_calls import make_line
from tests.properties.policy.program_runs import is_harmless, run_calls

pytestmark = pytest.mark.soak
CALLS = int(os.environ.get("PROGRAM_CALLS", "200000"))
SEED = int(os.environ.get("PROGRAM_SEED", "2"))
_SLICE = 5_000


def test_what_is_harmless_does_nothing_when_it_is_run(report: Callable[[str], None]) -> None:
    chance = random.Random(SEED)
    made = done = 0
    faults: list[str] = []
    while done < CALLS:
        lines: set[str] = set()
        while len(lines) < min(_SLICE, CALLS - done):
            made += 1
            line = make_line(chance)
            if is_harmless(line):
                lines.add(line)
        done += len(lines)
        ordered = sorted(lines)
        for line, outcome in zip(ordered, run_calls(ordered), strict=True):
            faults += [f"{line!r}: {fault}" for fault in outcome.faults]
    report(f"calls of programs: {made:,} made, {done:,} of them harmless and run, {len(faults)} faults")
    assert faults == []


def test_every_option_takes_its_words_as_the_catalog_says(report: Callable[[str], None]) -> None:
    counts, mismatches = find_mismatches(make_probes())
    report(f"words of options: {dict(counts)}, {len(mismatches)} mismatches")
    assert mismatches == []
