"""Twenty thousand acts of whole sessions against plain lists, and a chaotic model for long (ACTS=n, CHAOS=n turns)."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.engine.test_chaos import chaotic
from tests.properties.session_machine import GitSessionMachine, SessionMachine
from tests.properties.test_session_machine import play
from tests.soak.conftest import Report

ACTS = int(os.environ.get("ACTS", "20000"))
CHAOS = int(os.environ.get("CHAOS", "4000"))
A_SEQUENCE = 25
TURNS = 400

pytestmark = pytest.mark.soak


@pytest.mark.parametrize(("machine", "share"), [(SessionMachine, 0.95), (GitSessionMachine, 0.05)])
def test_sessions_are_what_plain_lists_say_for_long(
    machine: type[SessionMachine], share: float, report: Report
) -> None:
    began, before = time.monotonic(), SessionMachine.checked
    count = max(1, int(ACTS * share / A_SEQUENCE))
    try:
        play(machine, count, A_SEQUENCE)
    finally:
        took, states = time.monotonic() - began, SessionMachine.checked - before
        kind = "checkpoints by git" if machine.git else "checkpoints as plain files"
        report(
            f"sessions ({kind}): {count} sequences of up to {A_SEQUENCE} acts, {states} states, {took:.0f} s"
        )


async def test_a_chaotic_model_for_long(tmp_path: Path, report: Report) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(max(1, CHAOS // TURNS)):
        kinds.update(event.payload.kind for event in await chaotic(tmp_path / str(seed), seed, TURNS))
    report(
        f"chaos: {kinds['turn.finished']} turns, {kinds['model.requested']} requests, "
        f"{kinds['model.retried']} retries, {kinds['tool.started']} calls run, {kinds['model.failed']} failures"
    )
