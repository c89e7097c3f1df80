"""A hundred thousand scripts that change variables and folders; bash runs those that may run unasked, and they do no harm."""

import os
from collections.abc import Callable

import pytest

from tests.properties.policy.test_shell_state import allowed_scripts, find_harm

pytestmark = pytest.mark.soak
SCRIPTS = int(os.environ.get("SHELL_SCRIPTS", "100000"))
SEED = int(os.environ.get("SHELL_SEED", "2"))
_SLICE = 10_000


def test_scripts_that_run_unasked_do_no_harm(report: Callable[[str], None]) -> None:
    done = 0
    harm: list[str] = []
    for number in range(-(-SCRIPTS // _SLICE)):
        scripts = allowed_scripts(SEED * 1_000 + number, _SLICE)
        done += len(scripts)
        harm += find_harm(scripts)
    report(
        f"scripts that change the shell's state: {SCRIPTS:,} made, {done:,} run unasked, {len(harm)} do harm"
    )
    assert harm == []
