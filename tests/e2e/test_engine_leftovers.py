"""Nothing that a plugin leaves running keeps the engine process once its session is closed."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import to_thread

from tests.engine.test_session_contract import Reading, opened, options
from tests.stubs.left_out import only_where
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Close, Interrupt, SubmitPrompt
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.remote_session import RemoteSession

__all__ = ["options"]
PATIENCE_S = 30.0
PLUGIN = """
import asyncio, atexit, threading, time
from tui_agent.plugin_api import tool

def stay():
    while True:
        time.sleep(1)

@tool(internal="nothing")
async def leave_thread() -> str:
    "Start a thread that never ends."
    threading.Thread(target=stay).start()
    return "left"

@tool(internal="nothing")
async def leave_executor() -> str:
    "Run a function that never returns in the event loop's executor."
    asyncio.get_running_loop().run_in_executor(None, stay)
    return "left"

@tool(internal="nothing")
async def leave_exit_function() -> str:
    "Register an exit function that never returns."
    atexit.register(stay)
    return "left"

@tool(internal="nothing")
async def leave_coroutine() -> str:
    "Catch every exception, also when the coroutine is closed."
    while True:
        try:
            await asyncio.sleep(1000)
        except BaseException:
            pass
"""

pytestmark = [
    pytest.mark.e2e,
    only_where(hasattr(os, "pidfd_open"), "watches processes by descriptors, which this system has not"),
]


@contextmanager
def watching(pid: int) -> Iterator[int]:
    """A descriptor that becomes readable when the process ends."""
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


@pytest.mark.parametrize("tool", ["leave_thread", "leave_executor", "leave_exit_function", "leave_coroutine"])
async def test_the_process_ends_after_its_session(options: SessionOptions, tmp_path: Path, tool: str) -> None:
    (tmp_path / "leaver.py").write_text(PLUGIN, encoding="utf-8")
    script = tmp_path / "leaver.yaml"
    script.write_text(f"answers:\n  - calls:\n      - {tool}: {{}}\n  - text: Done.\n", encoding="utf-8")
    chosen = replace(options, client="app", model=f"scripted:{script}", plugin_dirs=(tmp_path / "leaver.py",))
    async with opened("remote", chosen) as session:
        assert isinstance(session, RemoteSession)
        reading = Reading(session)
        session.submit(SubmitPrompt(text="go"))
        await reading.until(ToolStarted)
        if tool == "leave_coroutine":
            session.submit(Interrupt())
        await reading.until(TurnFinished)
        with watching((await session.wait_until_open()).pid) as process:
            session.submit(Close())
            ready, _, _ = await to_thread.run_sync(select.select, [process], [], [], PATIENCE_S)
        assert ready
