"""Scripts that change variables and folders are judged, and those that may run unasked do no harm when bash runs them."""

import random
import shlex
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.properties.policy.program_runs import BWRAP, FACTS, run_calls
from tests.properties.policy.shell_scripts import make_script
from tests.stubs.left_out import only_where
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.effects import RunEffect

SCRIPTS = 1_000
"""`tests/soak/test_shell_state_for_long.py` plays a hundred thousand."""
LEAST_ALLOWED = 0.03
HOSTILE = replace(
    FACTS, option_names=("odd/-delete", "odd/-rf", "odd/@f"), odd_names=("odd/'q'", "odd/x y.py")
)
"""The folder of `program_runs`, with the names in it that may mean something else."""

needs_sandbox = only_where(BWRAP is not None, "bubblewrap is not installed")


def allowed_scripts(seed: int, count: int) -> list[str]:
    """Return those of `count` scripts that run unasked."""
    policy, chance = RulePolicy(), random.Random(seed)
    scripts = dict.fromkeys(make_script(chance) for _ in range(count))
    return [
        script
        for script in scripts
        if policy.decide("run_command", (RunEffect(script=script),), HOSTILE).verdict == "allow"
    ]


def find_harm(scripts: Sequence[str]) -> list[str]:
    """Run scripts, each by a bash of its own; return what they did and may not do."""
    outcomes = run_calls([f"/bin/bash -c {shlex.quote(script)}" for script in scripts])
    return [
        f"{script!r}: {fault}"
        for script, outcome in zip(scripts, outcomes, strict=True)
        for fault in outcome.faults
    ]


@pytest.mark.slow
@needs_sandbox
def test_scripts_that_run_unasked_do_no_harm() -> None:
    scripts = allowed_scripts(1, SCRIPTS)
    assert len(scripts) > LEAST_ALLOWED * SCRIPTS
    assert find_harm(scripts) == []


@needs_sandbox
def test_harm_is_noticed() -> None:
    scripts = ["x=ls; x=EVIL y=$x; $y", "cd .. && cat outside/key", 'x=README.md; x=.env; cat "$x"']
    assert len({fault.partition(": ")[0] for fault in find_harm(scripts)}) == len(scripts)
