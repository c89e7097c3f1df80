"""The doctor says what ends the processes of commands, and what bounds them."""

import pytest

from tui_agent.cli.doctor.command import bounded_by, ended_by, holding
from tui_agent.ports.environment import Holding


@pytest.mark.parametrize(
    ("held", "ended", "bounded"),
    [
        (Holding(True, True, 4096, "cgroup"), "cgroup.kill", "at most 4,096 per command (pids.max"),
        (
            Holding(True, False, 5000, "uid"),
            "(subreaper)",
            "at most 5,000 of this user in total (RLIMIT_NPROC)",
        ),
        (Holding(True), "(subreaper)", ""),
        (Holding(), "by their process group", ""),
    ],
)
def test_what_is_in_force_is_said(held: Holding, ended: str, bounded: str) -> None:
    assert ended in ended_by(held)
    assert bounded_by(held).startswith(bounded) and bool(bounded_by(held)) is bool(bounded)


def test_what_is_in_force_here_is_tried_out() -> None:
    held = holding()
    assert held is not None and held.processes >= 0
