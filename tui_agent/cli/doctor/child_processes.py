"""What holds the processes that commands start on this machine, tried out with one that does nothing."""

import os
import sys
import tempfile
from pathlib import Path

import anyio

from tui_agent.ports.environment import ExecSpec, Holding
from tui_agent.workspace.local.environment import LocalEnvironment


def holding() -> Holding | None:
    """What is in force for commands here; None where none can be started."""
    return anyio.run(_tried)


async def _tried() -> Holding | None:
    with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder:
        env = LocalEnvironment(Path(folder))
        try:
            result = await env.exec(ExecSpec(argv=(sys.executable, "-I", "-S", "-c", "")), lambda data: None)
        finally:
            await env.aclose()
    return env.holding if result.ended == "exited" else None


def ended_by(held: Holding) -> str:
    """How what a command leaves behind is ended."""
    if not held.reaper:
        return "by their process group: one that leaves it is found by a variable that it carries, where /proc is"
    kernel = ", and all at once by the kernel (cgroup.kill)" if held.cgroup_kill else ""
    return f"whatever they do, by a process above them (subreaper){kernel}"


def bounded_by(held: Holding) -> str:
    """What bounds how many there are; empty where nothing does."""
    match held.by:
        case "cgroup":
            return f"{held.processes:,} a command (pids.max of a control group)"
        case "uid":
            return f"{held.processes:,} of this user in all (RLIMIT_NPROC)"
        case _:
            return ""


def why_unbounded() -> str:
    """Why nothing bounds them, and what would."""
    if os.getuid() == 0:
        return "Run it as another user than root, or where it may make control groups."
    return "Run it where it may make control groups."
