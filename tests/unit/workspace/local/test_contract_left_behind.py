"""The contract of ports.environment, the same for every environment: no process and no descriptor stays."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from tests.unit.workspace.local.contract import PYTHON, Sink, names, shell
from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment

CHILDREN = {
    "plain": "sleep 1000 & echo $!",
    "no output": "sleep 1000 > /dev/null 2>&1 & echo $!",
    "nohup": "nohup sleep 1000 > /dev/null 2>&1 & echo $!",
    "own session": "setsid sleep 1000 & echo $!",
    "own session, no output": "setsid sleep 1000 > /dev/null 2>&1 & echo $!",
    "daemon": "( setsid bash -c 'sleep 1000 & echo $!; exit' ) ",
    "deaf": "bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' &",
    "deaf session": "setsid bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' &",
    "stopped": "sleep 1000 & echo $!; kill -STOP $!",
    "pipeline": "sleep 1000 | cat & echo $!",
    "subshells": "( ( ( sleep 1000 & echo $! ) & ) & )",
    "no environment": "env -i /bin/sleep 1000 & echo $!",
    "python": f"{PYTHON} -c 'import os, time; print(os.getpid(), flush=True); os.setsid(); time.sleep(1000)' &",
}
ENDS = {"exit": "exit 0", "failure": "exit 3", "timeout": "exit 0", "cancel": "exit 0"}


def alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


@pytest.mark.slow_variants
@pytest.mark.parametrize("end", ENDS)
async def test_no_child_outlives_its_command(tmp_path, end):
    env = LocalEnvironment(tmp_path, grace=0.2)
    pids: dict[str, int] = {}
    all_known = anyio.Event()

    async def run(child: str) -> None:
        sink = Sink()
        script = f"{CHILDREN[child]}\nread -r line < '{child}'\n{ENDS[end]}"
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec, ExecSpec(script=script, timeout=3 if end == "timeout" else None), sink)
            pids[child] = int((await sink.until(lambda data: data.endswith(b"\n"))).split()[0])
            if len(pids) == len(CHILDREN):
                all_known.set()

    for child in CHILDREN:
        os.mkfifo(tmp_path / child)
    async with anyio.create_task_group() as group:
        for child in CHILDREN:
            group.start_soon(run, child)
        with anyio.fail_after(30):
            await all_known.wait()
        assert end == "timeout" or all(map(alive, pids.values()))
        if end == "cancel":
            group.cancel_scope.cancel()
        elif end != "timeout":
            for child in CHILDREN:
                await anyio.Path(tmp_path / child).write_text("\n")
    assert [child for child, pid in pids.items() if alive(pid)] == []


@pytest.mark.slow_variants
async def test_closing_ends_what_runs_and_counts_it(env):
    sink = Sink()
    results = []

    async def run() -> None:
        results.append(await env.exec(ExecSpec(script="setsid sleep 1000 & echo $!; sleep 1000"), sink))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        pid = int((await sink.until(lambda data: data.endswith(b"\n"))).split()[0])
        assert await env.aclose() >= 2
    assert env.sandbox.kind or not alive(pid)  # in a sandbox processes have numbers of their own
    assert results[0].exit_code == 137
    with pytest.raises(EnvironmentFault, match="closed"):
        await env.exec(ExecSpec(argv=("true",)), sink)


@pytest.mark.slow_variants
async def test_a_command_that_ends_takes_no_process_of_another_with_it(env, root):
    gates = []
    for name in ("first", "others"):
        os.mkfifo(root / name)
        gates.append(os.open(root / name, os.O_RDWR))
    codes: list[int | None] = []
    others = 12 if env.name == "local" else 3
    first_ended = anyio.Event()

    async def run(gate: str, sink: Sink) -> None:
        script = f"setsid sleep 1000 > /dev/null & echo begun; read -r line < {gate}"
        codes.append((await env.exec(ExecSpec(script=script), sink)).exit_code)
        first_ended.set()

    async with anyio.create_task_group() as group:
        for number in range(others + 1):
            sink = Sink()
            group.start_soon(run, "others" if number else "first", sink)
            await sink.until(lambda data: b"begun" in data)
        os.write(gates[0], b"\n")
        await first_ended.wait()
        os.write(gates[1], b"\n" * others)
    assert codes == [0] * (others + 1)
    for gate in gates:
        os.close(gate)


@pytest.mark.slow_variants
async def test_many_programs_at_once_leave_no_descriptors_open(env):
    async def one(number: int) -> None:
        result, _ = await shell(env, f"echo {number}")
        assert result.output == f"{number}\n".encode()

    await one(0)
    before = len(names(Path("/dev/fd")))
    async with anyio.create_task_group() as group:
        for number in range(30 if env.name == "local" else 8):
            group.start_soon(one, number)
    assert len(names(Path("/dev/fd"))) <= before


# A background job of a script begins with SIGINT ignored, a program under nohup with SIGHUP ignored.
KILLED = """
import signal, sys, anyio
from pathlib import Path
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.ports.environment import ExecSpec

def show(data):
    sys.stdout.write(data.decode())
    sys.stdout.flush()

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
anyio.run(LocalEnvironment(Path(sys.argv[1])).exec, ExecSpec(script=sys.argv[2]), show)
"""


@pytest.mark.slow_variants
@pytest.mark.parametrize("send", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_no_child_outlives_this_program(tmp_path, send):
    script = "\n".join([*CHILDREN.values(), "echo $$", "sleep 1000"])
    command = (PYTHON, "-c", KILLED, str(tmp_path), script)
    with anyio.fail_after(30):
        async with await anyio.open_process(command, stderr=None) as holder:
            assert holder.stdout is not None
            said = b""
            while said.count(b"\n") <= len(CHILDREN):
                said += await holder.stdout.receive()
            handles = [os.pidfd_open(int(pid)) for pid in said.split()]
            holder.send_signal(send)
            for handle in handles:
                await anyio.wait_readable(handle)
                os.close(handle)


async def test_the_keeper_leaves_with_its_environment(tmp_path):
    env = LocalEnvironment(tmp_path)
    await env.exec(ExecSpec(argv=("true",)), lambda data: None)
    pid = env._reaper.pid
    assert alive(pid)
    await env.aclose()
    await env.aclose()
    assert not alive(pid)
