"""The limits for child processes on this machine, found by running one that does nothing."""

import os
import sys
import tempfile
from pathlib import Path

import anyio

from tui_agent.ports.environment import ExecSpec, Holding
from tui_agent.workspace.local.environment import LocalEnvironment


def holding() -> Holding | None:
    """Return the limits that apply to commands here; None if no command can be started."""
    return anyio.run(_run_probe)


async def _run_probe() -> Holding | None:
    with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder:
        env = LocalEnvironment(Path(folder))
        try:
            result = await env.exec(ExecSpec(argv=(sys.executable, "-I", "-S", "-c", "")), lambda data: None)
        finally:
            await env.aclose()
    return env.holding if result.ended == "exited" else None


def ended_by(held: Holding) -> str:
    """Describe how processes that a command leaves behind are stopped."""
    if not held.reaper:
        return "by their process group; one that leaves the group is found by an environment variable, if /proc exists"
    kernel = ", and together by the kernel (cgroup.kill)" if held.cgroup_kill else ""
    return f"reliably, by a parent process (subreaper){kernel}"


def bounded_by(held: Holding) -> str:
    """Describe the limit on the number of processes; empty if there is none."""
    match held.by:
        case "cgroup":
            return f"at most {held.processes:,} per command (pids.max of a control group)"
        case "uid":
            return f"at most {held.processes:,} of this user in total (RLIMIT_NPROC)"
        case _:
            return ""


def why_unbounded() -> str:
    """Return advice on how to get a limit on the number of processes."""
    if os.getuid() == 0:
        return "Run it as a user other than root, or where it may create control groups."
    return "Run it where it may create control groups."
