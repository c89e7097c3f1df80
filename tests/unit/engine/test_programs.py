"""Programs that tools keep open: confined like commands, one for all calls, ended with the plugin or the session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tui_agent.engine.tools.sandbox_retry import SandboxGrant
from tui_agent.engine.tools.tool_programs import ProgramKeeper
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.ports.environment import ExecSpec, PipedProcess
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.workspace.local.environment import LocalEnvironment

SCRIPT = (
    'echo "${TUI_AGENT_SANDBOX:-free}"; { echo x > new; } 2> /dev/null && echo wrote || echo refused; cat'
)


@asynccontextmanager
async def lines_of(process: PipedProcess) -> AsyncIterator[Any]:
    """Yield a function that sends a line and returns everything that the program has written with it."""
    written = b""

    async def ask(line: str) -> str:
        nonlocal written
        await process.write(f"{line}\n".encode())
        while f"{line}\n".encode() not in written:
            written += await process.read_output()
        return written.decode()

    yield ask


async def test_a_program_stays_open_with_the_limits_of_the_call_and_ends_with_its_plugin() -> None:
    require_sandbox()
    with elsewhere() as folder:
        for name in ("work", "home", "records"):
            (folder / name).mkdir()
        limits = confinement(folder / "work", folder / "home", folder / "records")
        env = LocalEnvironment(folder / "work", confinement=limits)
        events: list[Any] = []
        parts: Any = SimpleNamespace(env=env, recorder=SimpleNamespace(append=events.append))
        keeper = ProgramKeeper(parts)
        spec = ExecSpec(script=SCRIPT)
        async with anyio.create_task_group() as group:
            keeper.begin(group)
            free = keeper.for_call("plugin", SandboxGrant())
            ask = await free.use("cat", spec, lines_of)
            assert await ask("a") == "1\nwrote\na\n"
            assert await free.use("cat", spec, lines_of) is ask
            reading = keeper.for_call("plugin", SandboxGrant(read_only=True))
            limited = await reading.use("cat", spec, lines_of)
            assert await limited("b") == "1\nrefused\nb\n"
            with pytest.raises(EnvironmentFault, match="not found"):
                await free.use("none", ExecSpec(argv=("no-such-program",)), lines_of)

            @asynccontextmanager
            async def fail_later(process: PipedProcess) -> AsyncIterator[None]:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(inner_fault)
                    yield

            async def inner_fault() -> None:
                await process_ended.wait()
                raise ValueError("a mistake")

            process_ended = anyio.Event()
            await free.use("faulty", spec, fail_later)
            process_ended.set()
            while not events:
                await anyio.lowlevel.checkpoint()
            [failed] = events
            assert isinstance(failed, PluginFailed) and failed.part == "connection to faulty"
            assert "ValueError: a mistake" in failed.message
            await keeper.end_all({"another"})
            assert await reading.use("cat", spec, lines_of) is limited
            await keeper.end_all({"plugin"})
            assert await reading.use("cat", spec, lines_of) is not limited
            await keeper.end_all()
        assert await env.aclose() == 0
        assert list((folder / "records" / "private").iterdir()) == []


async def test_another_environment_refuses_in_words() -> None:
    parts: Any = SimpleNamespace(env=SimpleNamespace(name="docker"), recorder=None)
    keeper = ProgramKeeper(parts)
    async with anyio.create_task_group() as group:
        keeper.begin(group)
        with pytest.raises(ToolError, match="cat cannot run in the environment docker"):
            await keeper.for_call("plugin", SandboxGrant()).use("cat", ExecSpec(argv=("cat",)), lines_of)
