"""A sandbox that cannot be made at that moment is made again: nothing has run yet."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.workspace.local.subprocesses import Command
from tui_agent.workspace.sandbox.command_run import run_confined

GONE = b"bwrap: Can't bind mount /oldroot/ on /newroot/: remount /newroot/mnt: No such file or directory\n"


@dataclass
class Machine:
    """Where making the sandbox fails a few times before a command begins, as beside a mount that goes away."""

    failing: int
    says: tuple[bytes, ...] = (b"done",)
    starts: list[Command] = field(default_factory=list)
    heard: list[bytes] = field(default_factory=list)

    async def run(self, command: Command, sink: OutputSink) -> ExecResult:
        self.starts.append(command)
        if len(self.starts) <= self.failing:
            for at in range(0, len(GONE), 40):
                sink(GONE[at : at + 40])
            return ExecResult(1, "exited", GONE, 0, 1.0)
        for piece in self.says:
            sink(piece)
        return ExecResult(0, "exited", b"".join(self.says), 0, 1.0)


async def ended(machine: Machine, base: Path) -> ExecResult:
    root = base / "work"
    root.mkdir()
    command = Command(("/bin/true",), os.open(root, os.O_RDONLY), str(root), {}, None, 1_000)
    try:
        made = confinement(root, base / "home", base / "records")
        return await run_confined(
            made, command, ExecSpec(argv=("/bin/true",)), machine.heard.append, machine.run
        )
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
    assert machine.heard == [b"done"]  # nothing of what failed


async def test_after_three_times_it_says_why() -> None:
    require_sandbox()
    machine = Machine(9)
    with elsewhere() as base:
        result = await ended(machine, base)
    assert len(machine.starts) == 3 and machine.heard == []
    assert result.outcome == "failed" and "remount /newroot/mnt" in result.blocked


@pytest.mark.parametrize(
    ("says", "heard"),
    [
        ((b"a", b"b"), [b"a", b"b"]),
        ((b"bw", b"rap: no", b"ne\n"), [b"bwrap: none\n"]),
        ((b"bwrap: a\n", b"b", b"c"), [b"bwrap: a\nb", b"c"]),
        ((b"bwr", b"ong", b"c"), [b"bwrong", b"c"]),
        ((b"bwrap: " + b"a" * 5000, b"c"), [b"bwrap: " + b"a" * 5000, b"c"]),
        ((), []),
    ],
)
async def test_what_a_command_says_is_all_heard_though_it_may_read_like_that(
    says: tuple[bytes, ...], heard: list[bytes]
) -> None:
    require_sandbox()
    machine = Machine(1, says)
    with elsewhere() as base:
        await ended(machine, base)
    assert machine.heard == heard
