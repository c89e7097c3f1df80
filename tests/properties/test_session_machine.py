"""Random acts on whole sessions end as plain lists of their results say."""

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.session_machine import GitSessionMachine, SessionMachine


def play(machine: type[SessionMachine], count: int, acts: int) -> None:
    """So many sequences of so many acts."""
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    chosen = settings(
        max_examples=count,
        stateful_step_count=acts,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=slow,
        phases=(Phase.generate,),  # a dozen acts can be read as they are; making them fewer takes minutes
    )
    with start_blocking_portal() as portal:
        machine.portal = portal
        run_state_machine_as_test(machine, settings=chosen)


class SomeSessions(SessionMachine):
    """A half of the sequences, so that two processes can play them."""


class OtherSessions(SessionMachine):
    """The other half."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", [SomeSessions, OtherSessions])
def test_sessions_are_what_plain_lists_say(half: type[SessionMachine]) -> None:
    if settings().derandomize:  # as in CI: without seeds of their own both would play the same
        seed(half.__name__)(half)
    play(half, 25, 10)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_sessions_with_checkpoints_by_git_are_what_plain_lists_say() -> None:
    play(GitSessionMachine, 20, 8)
