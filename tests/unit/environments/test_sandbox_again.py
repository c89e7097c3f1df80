"""A sandbox that cannot be made at that moment is made again: nothing has run yet."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tui_agent.environments.sandbox.running import confined
from tui_agent.environments.spawn import Command
from tui_agent.ports.environment import ExecResult, ExecSpec

GONE = b"bwrap: Can't bind mount /oldroot/ on /newroot/: remount /newroot/mnt: No such file or directory\n"


@dataclass
class Machine:
    """Where making the sandbox fails a few times before a command begins, as beside a mount that goes away."""

    failing: int
    starts: list[Command] = field(default_factory=list)

    async def run(self, command: Command) -> ExecResult:
        self.starts.append(command)
        if len(self.starts) <= self.failing:
            return ExecResult(1, "exited", GONE, 0, 1.0)
        return ExecResult(0, "exited", b"done", 0, 1.0)


async def ended(machine: Machine, base: Path) -> ExecResult:
    root = base / "work"
    root.mkdir()
    command = Command(("/bin/true",), os.open(root, os.O_RDONLY), str(root), {}, None, 1_000)
    try:
        made = confinement(root, base / "home", base / "records")
        return await confined(made, command, ExecSpec(argv=("/bin/true",)), machine.run)
    finally:
        os.close(command.folder)


@pytest.mark.parametrize("failing", [1, 2])
async def test_it_is_made_again(failing: int) -> None:
    require_sandbox()
    machine = Machine(failing)
    with elsewhere() as base:
        result = await ended(machine, base)
    assert (result.exit_code, result.output, result.blocked) == (0, b"done", "")
    assert len(machine.starts) == failing + 1


async def test_after_three_times_it_says_why() -> None:
    require_sandbox()
    machine = Machine(9)
    with elsewhere() as base:
        result = await ended(machine, base)
    assert len(machine.starts) == 3
    assert result.ended == "failed" and "remount /newroot/mnt" in result.blocked
