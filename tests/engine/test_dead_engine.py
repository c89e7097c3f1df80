"""An engine process that a plugin ends or blocks: its clients have every event up to then, the running call's too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import acp
import anyio
import pytest

from tests.engine.test_session_contract import Reading, opened, options
from tests.engine.test_shared_engine import attached, served
from tui_agent.acp.editor_agent import EditorAgent
from tui_agent.config.session_options import SessionOptions
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.remote_session import RemoteSession

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

@tool(internal="nothing")
async def catch_everything(ctx: ToolContext) -> str:
    "Never await, and go on after every error."
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""

pytestmark = pytest.mark.slow


@asynccontextmanager
async def calling(
    options: SessionOptions, tmp_path: Path, tool: str
) -> AsyncIterator[tuple[Session, Reading]]:
    """A session with an engine process that calls the tool."""
    async with opened("remote", with_tool(options, tmp_path, tool)) as session:
        reading = Reading(session)
        session.submit(SubmitPrompt(text="go"))
        yield session, reading


def with_tool(options: SessionOptions, tmp_path: Path, tool: str) -> SessionOptions:
    """The options of a session whose model calls the tool once."""
    (tmp_path / "hostile.py").write_text(PLUGIN, encoding="utf-8")
    script = tmp_path / "hostile.yaml"
    script.write_text(f"answers:\n  - calls:\n      - {tool}: {{}}\n  - text: Done.\n", encoding="utf-8")
    return replace(options, client="app", model=f"scripted:{script}", plugin_dirs=(tmp_path / "hostile.py",))


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


async def test_a_call_that_cannot_be_stopped_ends_the_engine_with_a_reason(
    options: SessionOptions, tmp_path: Path
) -> None:
    async with calling(options, tmp_path, "catch_everything") as (session, reading):
        await end_by_stopping(session, reading)


async def test_each_client_of_a_server_gets_the_reason_why_the_engine_ended(
    options: SessionOptions, tmp_path: Path
) -> None:
    options, path = with_tool(options, tmp_path, "catch_everything"), tmp_path / "s"
    async with served(options, path), attached(options, path) as one, attached(options, path) as two:
        engine = (await one.wait_until_open()).pid
        one.submit(SubmitPrompt(text="go"))
        for session in (one, two):
            await end_by_stopping(session, Reading(session))
        with anyio.fail_after(30):
            while Path(f"/proc/{engine}").exists():  # noqa: ASYNC110, ASYNC240 - the server reaps the process
                await anyio.sleep(0.01)


async def end_by_stopping(session: Session, reading: Reading) -> None:
    """Stop the running call of `catch_everything`, which ends the engine, and check the reason that the client gets."""
    await reading.until(ToolStarted)
    with anyio.fail_after(30):
        session.submit(Interrupt())
        await reading.rest()
    assert isinstance(session, RemoteSession) and session.failure is not None
    assert session.failure.message.startswith(
        "The function catch_everything of the plugin hostile (hostile.py, line "
    )


class StoppingEditor:
    """An editor in which the first call is stopped as soon as it runs."""

    def __init__(self) -> None:
        self.engines: list[RemoteSession] = []

    def open_session(self, options: SessionOptions) -> RemoteSession:
        self.engines.append(RemoteSession.spawn(options))
        return self.engines[-1]

    async def session_update(self, update: Any, **_: Any) -> None:
        if getattr(update, "status", "") == "in_progress":
            self.engines[0].submit(Interrupt())


async def test_an_editor_gets_the_reason_and_its_next_prompt_opens_the_session_again(
    options: SessionOptions, tmp_path: Path
) -> None:
    editor: Any = StoppingEditor()  # of a client's methods one
    async with anyio.create_task_group() as group:
        agent = EditorAgent(
            with_tool(options, tmp_path, "catch_everything"), editor.open_session, group, tmp_path
        )
        agent.on_connect(editor)
        session_id = (await agent.new_session(str(options.cwd))).session_id
        with anyio.fail_after(30):
            with pytest.raises(acp.RequestError, match="The function catch_everything of the plugin hostile"):
                await agent.prompt(session_id, [acp.text_block("go")])
            answer = await agent.prompt(session_id, [acp.text_block("again")])
        assert (answer.stop_reason, len(editor.engines)) == ("end_turn", 2)
        assert editor.engines[1].id == session_id
        await agent.aclose()
