"""What a command leaves behind is ended, with and without control groups; what it may use is bounded."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from tests.e2e.leaving import KINDS, left, lock_of, script
from tests.stubs.left_out import leave_out, linux_only
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.reaper_client import ReaperClient, find_own_groups

pytestmark = linux_only("elsewhere a process can leave its group unseen")

Groups = Callable[[], Sequence[str]]
GROUPS: dict[str, Groups] = {"groups": find_own_groups, "no groups": tuple}
ENDS = {
    "exit": "",
    "failure": "exit 3",
    "timeout": "sleep 1000",
    "cancel": "sleep 1000",
    "close": "sleep 1000",
}
ROOM = 60
FORKS = """
import os, sys, time
made = 0
for number in range(200):
    try:
        if not os.fork():
            time.sleep(20)
            os._exit(0)
        made += 1
    except OSError:
        pass
print("made", made)
"""
"""Bounded by itself: 200 children that end after 20 s."""


def environment(tmp_path: Path, groups: Groups, processes: int = 4096) -> LocalEnvironment:
    folder = tmp_path / "locks"
    folder.mkdir(exist_ok=True)
    return LocalEnvironment(folder, grace=0.2, reaper=ReaperClient(processes, groups))


async def run(env: LocalEnvironment, script: str) -> ExecResult:
    return await env.exec(ExecSpec(script=script), lambda data: None)


@pytest.mark.slow
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("end", ENDS)
async def test_no_kind_of_child_outlives_its_command(tmp_path: Path, end: str, groups: str) -> None:
    env = environment(tmp_path, GROUPS[groups])
    folder = tmp_path / "locks"
    there = anyio.Event()
    said = b""

    def hear(data: bytes) -> None:
        nonlocal said
        said += data
        if b"all are there" in said:
            there.set()

    spec = ExecSpec(script=f"{script(folder)}{ENDS[end]}", timeout=5 if end == "timeout" else None)
    async with anyio.create_task_group() as group:
        group.start_soon(env.exec, spec, hear)
        with anyio.fail_after(60):
            await there.wait()
        if end == "cancel":
            group.cancel_scope.cancel()
        elif end == "close":
            await env.aclose()
    assert await anyio.to_thread.run_sync(left, folder, 0.0) == ([], pytest.approx(0.0, abs=1.0))
    await env.aclose()


@pytest.mark.slow_variants
@pytest.mark.parametrize("groups", GROUPS)
async def test_a_command_that_kills_its_warden_is_ended_all_the_same(tmp_path: Path, groups: str) -> None:
    env = environment(tmp_path, GROUPS[groups])
    result = await run(env, f"{script(tmp_path / 'locks')}\nkill -9 $PPID\nsleep 1000")
    assert result.exit_code == 137
    there, _ = await anyio.to_thread.run_sync(left, tmp_path / "locks")
    assert there == []
    assert (await run(env, "echo still here")).output == b"still here\n"
    await env.aclose()


async def test_a_command_that_kills_the_keeper_too_is_found_by_what_it_carries(tmp_path: Path) -> None:
    env = environment(tmp_path, tuple)
    await run(env, "true")
    lock = lock_of(tmp_path / "locks", "plain")
    (tmp_path / "locks" / "kinds.sh").write_text(script(tmp_path / "locks"))
    hold = f"{shlex.quote(sys.executable)} -I -S hold.py {lock} sleep 1000"
    result = await run(
        env, f"setsid {hold} & until [ -e {lock}.held ]; do sleep 0.02; done; kill -9 {env._reaper.pid} $PPID"
    )
    assert result.exit_code in (0, 137)
    assert (await run(env, "echo again")).output == b"again\n"
    await env.aclose()
    there, _ = await anyio.to_thread.run_sync(left, tmp_path / "locks", 5.0, ("plain",))
    assert there == []


async def test_a_command_that_forks_without_end_gets_no_more_than_its_group_allows(tmp_path: Path) -> None:
    env = environment(tmp_path, find_own_groups, ROOM)
    result = await env.exec(ExecSpec(argv=(sys.executable, "-c", FORKS)), lambda data: None)
    if env.limits_in_force.limited_by != "cgroup":
        leave_out("no control group that counts processes may be made here")
    assert env.limits_in_force.max_processes == ROOM
    assert 0 < int(result.output.split()[-1]) < ROOM
    assert (await run(env, "echo alive")).output == b"alive\n"
    await env.aclose()


UNPRIVILEGED = """
import sys, anyio
from pathlib import Path
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.ports.environment import ExecSpec

async def main():
    env = LocalEnvironment(Path(sys.argv[1]), reaper=ReaperClient(int(sys.argv[2]), tuple))
    result = await env.exec(ExecSpec(argv=(sys.executable, "-c", sys.argv[3])), lambda data: None)
    print(env.limits_in_force.limited_by, env.limits_in_force.max_processes, result.output.decode())
    await env.aclose()

anyio.run(main)
"""

NOBODY = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    *(
        "--bounding-set=-all,+dac_read_search",
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ),
)
"""A user without rights, but for that to read an interpreter that only root may."""


@pytest.mark.slow
def test_an_unprivileged_user_s_command_gets_no_more_than_its_limit(tmp_path: Path) -> None:
    script = [sys.executable, "-c", UNPRIVILEGED, "/tmp", str(ROOM), FORKS]
    done = subprocess.run(
        [*(NOBODY if os.getuid() == 0 else ()), *script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    assert done.returncode == 0, done.stderr
    by, processes, _, made = done.stdout.split()
    assert by == "uid" and int(processes) >= ROOM, done.stderr
    assert 0 < int(made) <= ROOM


async def test_what_a_command_may_use_is_bounded_and_it_has_no_descriptors_of_ours(tmp_path: Path) -> None:
    env = environment(tmp_path, find_own_groups)
    script = "ulimit -c; ulimit -n; cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l; cat /proc/$PPID/oom_score_adj"
    core, files, sacrificed, descriptors, _ = (await run(env, script)).output.split()
    assert core == b"0"
    assert 256 <= int(files) <= 65_536
    assert int(sacrificed) >= 500
    assert int(descriptors) == 4  # the three, and the folder that ls reads
    await env.aclose()


async def test_signals_mean_to_a_command_what_they_mean_in_a_shell(tmp_path: Path) -> None:
    env = environment(tmp_path, find_own_groups)
    ignored = (await run(env, "grep SigIgn /proc/self/status")).output.split()[1]
    blocked = (await run(env, "grep SigBlk /proc/self/status")).output.split()[1]
    threads_own = 0b11 << 31  # two that the C library keeps to itself
    assert (int(ignored, 16) & ~threads_own, int(blocked, 16)) == (0, 0)
    await env.aclose()


def test_the_folders_of_control_groups_are_read_from_what_the_kernel_says(tmp_path: Path) -> None:
    two, pids = tmp_path / "unified", tmp_path / "pids"
    for folder in (two / "app.scope", pids):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text("")
    mounts, own = tmp_path / "mountinfo", tmp_path / "cgroup"
    mounts.write_text(
        f"30 24 0:26 / {two} rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
        f"31 24 0:27 / {pids} rw,relatime shared:10 - cgroup cgroup rw,pids\n"
        "32 24 0:28 / /elsewhere rw - tmpfs tmpfs rw\n"
    )
    own.write_text("9:name=systemd:/x\n8:pids:/\n4:memory:/y\n0::/app.scope\n")
    assert find_own_groups(mounts, own) == [str(pids), str(two / "app.scope")]
    assert find_own_groups(tmp_path / "none", own) == []


def test_every_kind_of_child_is_there(tmp_path: Path) -> None:
    assert len(KINDS) >= 15
