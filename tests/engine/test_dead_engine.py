"""An engine process that a plugin ends or blocks: its clients have every event up to then, the running call's too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.engine.test_session_contract import Reading, opened, options
from tui_agent.config.options import SessionOptions
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished

__all__ = ["options"]
PLUGIN = """
import ctypes, os
from tui_agent.plugin_api import ToolContext, tool

@tool(internal="nothing")
async def leave(ctx: ToolContext) -> str:
    "End the process."
    os._exit(3)

@tool(internal="nothing")
async def crash(ctx: ToolContext) -> str:
    "End the process as a fault in C code does."
    ctypes.CDLL(None)._exit(3)

@tool(internal="nothing")
async def spin(ctx: ToolContext) -> str:
    "Never await."
    while True:
        pass
"""

pytestmark = pytest.mark.slow


@asynccontextmanager
async def calling(
    options: SessionOptions, tmp_path: Path, tool: str
) -> AsyncIterator[tuple[Session, Reading]]:
    """A session with an engine process that calls the tool."""
    (tmp_path / "hostile.py").write_text(PLUGIN, encoding="utf-8")
    script = tmp_path / "hostile.yaml"
    script.write_text(f"answers:\n  - calls:\n      - {tool}: {{}}\n  - text: Done.\n", encoding="utf-8")
    chosen = replace(
        options, client="app", model=f"scripted:{script}", plugin_dirs=(tmp_path / "hostile.py",)
    )
    async with opened("remote", chosen) as session:
        reading = Reading(session)
        session.submit(SubmitPrompt(text="go"))
        yield session, reading


async def test_the_call_that_ended_the_engine_is_known(options: SessionOptions, tmp_path: Path) -> None:
    async with calling(options, tmp_path, "crash") as (_, reading):
        events = await reading.rest()
    payloads = [event.payload for event in events]
    assert [payload.name for payload in payloads if isinstance(payload, ToolCalled)] == ["crash"]
    assert isinstance(payloads[-1], ToolStarted)
    assert [event.seq for event in events] == sorted({event.seq for event in events})


async def test_a_call_that_tries_to_end_the_engine_is_named_and_the_session_goes_on(
    options: SessionOptions, tmp_path: Path
) -> None:
    async with calling(options, tmp_path, "leave") as (_, reading):
        *_, error = await reading.until(ErrorRaised)
        await reading.until(TurnFinished)
    assert isinstance(error.payload, ErrorRaised)
    assert error.payload.message == (
        "The tool leave (plugin hostile), in `run`, failed: SystemExit: "
        "os._exit(3) would end tui-agent itself; raise an error instead"
    )
    assert error.payload.hint == "To turn the plugin off: tui-agent plugins disable hostile"


async def test_a_call_that_blocks_the_engine_is_known_and_stopped_by_the_user(
    options: SessionOptions,
    tmp_path: Path,
) -> None:
    async with calling(options, tmp_path, "spin") as (session, reading):
        await reading.until(ToolStarted)
        with anyio.fail_after(30):
            session.submit(Interrupt())
            (end,) = await reading.until(ToolFinished)
            await reading.until(TurnFinished)
    assert isinstance(end.payload, ToolFinished)
    assert "spin (plugin hostile)" in str(end.payload.content) and "you stopped it" in str(
        end.payload.content
    )
