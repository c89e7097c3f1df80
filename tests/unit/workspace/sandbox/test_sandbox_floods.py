"""Too many processes, too much output and a killed program, with commands in the sandbox: against the real bubblewrap."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.reaper_client import ReaperClient

MOST = 60
SIZE = 200_000_000
KILLED = """\
import sys
from pathlib import Path
import anyio
from tests.stubs.sandboxed import confinement
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.ports.environment import ExecSpec

base = Path(sys.argv[1])
env = LocalEnvironment(base / "work", confinement=confinement(base / "work", base / "home", base / "records"))
script = "setsid sleep 1000 & (setsid -f sleep 1000); echo ready; sleep 1000"
anyio.run(env.exec, ExecSpec(script=script), lambda data: (sys.stdout.write(data.decode()), sys.stdout.flush()))
"""


@pytest.fixture
def base() -> Iterator[Path]:
    require_sandbox()
    with elsewhere() as folder:
        (folder / "work").mkdir()
        (folder / "home").mkdir()
        yield folder


def environment(base: Path, keeping: ReaperClient | None = None) -> LocalEnvironment:
    confined = confinement(base / "work", base / "home", base / "records")
    return LocalEnvironment(base / "work", confinement=confined, reaper=keeping, grace=0.2)


async def test_a_fork_bomb_is_bounded_and_gone_with_its_command(base: Path) -> None:
    env = environment(base, ReaperClient(MOST))
    bomb = "bomb() { bomb | bomb & }; bomb; sleep 1000"
    result = await env.exec(ExecSpec(script=bomb, timeout=1.0, max_output=10_000), lambda data: None)
    assert result.outcome in ("timeout", "exited")
    if env.limits_in_force.limited_by != "cgroup":
        pytest.skip("processes are not counted by a control group here")
    count = "import os\nn = 0\ntry:\n    while n < 1000:\n        n += 1\n        os.fork() or os.pause()\nexcept OSError:\n    print(n < 1000)"
    bounded = await env.exec(
        ExecSpec(
            argv=(sys.executable, "-c", count.replace("os.pause()", "__import__('signal').pause()")),
            timeout=20,
        ),
        lambda data: None,
    )
    assert bounded.output == b"True\n"
    after = await env.exec(ExecSpec(script="echo $(ls -d /proc/[0-9]* | wc -l)"), lambda data: None)
    assert int(after.output) < 10
    assert await env.aclose() == 0


@pytest.mark.slow
async def test_a_flood_of_output_is_counted_and_not_kept(base: Path) -> None:
    env, seen = environment(base), 0

    def sink(data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    spec = ExecSpec(script=f"yes 0123456789 | head -c {SIZE}", max_output=100_000, tail_bytes=10_000)
    result = await env.exec(spec, sink)
    await env.aclose()
    assert seen == SIZE and result.dropped_bytes == SIZE - 100_000 and len(result.output) == 100_000


async def test_who_writes_to_a_closed_pipe_ends_in_silence_as_outside(base: Path) -> None:
    env = environment(base)
    script = "yes | head -n 1; yes > /dev/full; grep SigIgn /proc/self/status"
    outside = await env.exec(ExecSpec(script=script, unsandboxed=True), lambda data: None)
    inside = await env.exec(ExecSpec(script=script), lambda data: None)
    await env.aclose()
    assert inside.output == outside.output and inside.output.startswith(b"y\nyes: ")


async def test_nothing_outlives_a_program_that_is_killed_nor_stays_in_the_workspace(base: Path) -> None:
    command = (sys.executable, "-c", KILLED, str(base))
    with anyio.fail_after(60):
        async with await anyio.open_process(command, stderr=None, cwd=Path(__file__).parents[4]) as holder:
            assert holder.stdout is not None
            assert await holder.stdout.receive() == b"ready\n"
            assert sorted(path.name for path in (base / "work").iterdir()) == [".git", "commondir", "refs"]
            left = [os.pidfd_open(pid) for pid in below(holder.pid)]
            holder.send_signal(signal.SIGKILL)
            for handle in left:
                await anyio.wait_readable(handle)
                os.close(handle)
    assert len(left) >= 5
    assert list((base / "work").iterdir()) == []


def below(root: int) -> list[int]:
    """All processes that stand below one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, more = {root}, {root}
    while more:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
    return sorted(found - {root})
