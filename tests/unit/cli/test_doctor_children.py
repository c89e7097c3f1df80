"""The doctor says what ends the processes of commands, and what bounds them."""

import anyio
import pytest

from tui_agent.cli.doctor.command import describe_cleanup, describe_process_limit, probe_limits
from tui_agent.ports.environment import ProcessControl


@pytest.mark.parametrize(
    ("held", "ended", "bounded"),
    [
        (
            ProcessControl(True, True, 4096, "cgroup"),
            "cgroup.kill",
            "at most 4,096 processes per command (pids.max",
        ),
        (
            ProcessControl(True, False, 5000, "uid"),
            "(subreaper)",
            "at most 5,000 processes of this user in total (RLIMIT_NPROC)",
        ),
        (ProcessControl(True), "(subreaper)", ""),
        (ProcessControl(), "by process group", ""),
    ],
)
def test_what_is_in_force_is_said(held: ProcessControl, ended: str, bounded: str) -> None:
    assert ended in describe_cleanup(held)
    assert describe_process_limit(held).startswith(bounded) and bool(describe_process_limit(held)) is bool(
        bounded
    )


def test_what_is_in_force_here_is_tried_out() -> None:
    held = anyio.run(probe_limits)
    assert held is not None and held.max_processes >= 0
