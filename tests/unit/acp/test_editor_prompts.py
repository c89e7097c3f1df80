"""Prompts from an editor: how each one ends, also if it is queued, cancelled, a slash command, or fails."""

from typing import Any

import anyio
import pytest
from acp.schema import PromptResponse

from tests.unit.acp.test_editor_session import Editor, opened, run_prompt, said, settle
from tui_agent.acp.editor_session import SESSION_ENDED
from tui_agent.errors import PluginError, UsageError
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.session import (
    CommandRejected,
)
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered, OfferedCommand
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CommandId, RequestId

ENDS = {
    "finished": "end_turn",
    "interrupted": "cancelled",
    "iteration_limit": "max_turn_requests",
    "denied": "end_turn",
}


@pytest.mark.parametrize("reason", ENDS)
async def test_a_prompt_ends_with_its_turn_and_says_why(reason: Any) -> None:
    editor = Editor()
    results: list[PromptResponse | Exception] = []
    async with opened(editor) as (fake, session), anyio.create_task_group() as group:
        fake.feed(TurnStarted(turn=1), TurnFinished(turn=1, reason="finished"))
        group.start_soon(run_prompt, session, results)
        await settle()
        fake.feed(UserMessageReceived(text="go"), TurnStarted(turn=2), cause=CommandId("cmd_1"))
        await settle()
        assert not results
        fake.feed(TurnFinished(turn=2, reason=reason, detail="It ended."))
        await settle()
        assert results == [PromptResponse(stop_reason=ENDS[reason])]  # type: ignore[arg-type]
        assert editor.take()[-1] == said("agent_message_chunk", "It ended.")


async def test_a_queued_prompt_ends_with_its_own_turn() -> None:
    results: list[PromptResponse | Exception] = []
    async with opened(Editor()) as (fake, session), anyio.create_task_group() as group:
        group.start_soon(run_prompt, session, results)
        await settle()
        fake.feed(UserQueued(queue_id=RequestId("q1"), text="go"), cause=CommandId("cmd_1"))
        fake.feed(TurnFinished(turn=1, reason="finished"))
        await settle()
        assert not results
        fake.feed(UserMessageReceived(text="go", queue_id=RequestId("q1"), source="queue"))
        fake.feed(TurnFinished(turn=2, reason="interrupted"))
        await settle()
        assert results == [PromptResponse(stop_reason="cancelled")]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            CommandRejected(command="submit_prompt", reason="A turn is running.", hint="Wait."),
            "A turn is running. Wait.",
        ),
        (TurnFinished(turn=1, reason="model_error", detail="No key."), "No key."),
    ],
)
async def test_a_prompt_that_fails_is_an_error_and_ends_nothing_else(event: Payload, message: str) -> None:
    results: list[PromptResponse | Exception] = []
    async with opened(Editor()) as (fake, session), anyio.create_task_group() as group:
        group.start_soon(run_prompt, session, results)
        await settle()
        fake.feed(event, cause=CommandId("cmd_1"))
        await settle()
        assert [str(result) for result in results] == [message]
        assert not fake.is_closed


@pytest.mark.parametrize("failure", [None, PluginError("The function spin of the plugin mine blocked it.")])
async def test_a_prompt_ends_when_the_engine_does(failure: PluginError | None) -> None:
    results: list[PromptResponse | Exception] = []
    async with opened(Editor()) as (fake, session), anyio.create_task_group() as group:
        group.start_soon(run_prompt, session, results)
        await settle()
        fake.failure = failure
        fake.end()
        await settle()
        await run_prompt(session, results)
    assert results == [failure or SESSION_ENDED] * 2


async def test_a_slash_command_shows_its_blocks_and_ends_its_prompt() -> None:
    editor = Editor()
    results: list[PromptResponse | Exception] = []
    offered = CommandsOffered(
        owner="user", items=(OfferedCommand(name="standup", help="Report", arguments="[DATE]"),)
    )
    async with opened(editor) as (fake, session), anyio.create_task_group() as group:
        fake.feed(offered)
        await settle()
        [update] = editor.take()
        assert update["sessionUpdate"] == "available_commands_update"
        *own, last = update["availableCommands"]
        assert [command["name"] for command in own] == [
            *("compact", "undo", "redo", "context", "cost", "status", "commands", "reload")
        ]
        assert last == {"name": "standup", "description": "Report", "input": {"hint": "[DATE]"}}
        group.start_soon(run_prompt, session, results)
        await settle()
        fake.feed(
            CommandRan(name="standup", display=(TextBlock(text="All done."),)), cause=CommandId("cmd_1")
        )
        await settle()
        assert results == [PromptResponse(stop_reason="end_turn")]
        assert editor.take() == [said("agent_message_chunk", "All done.")]


async def test_cancelling_a_slash_command_ends_its_prompt_as_cancelled() -> None:
    editor = Editor()
    results: list[PromptResponse | Exception] = []
    async with opened(editor) as (fake, session), anyio.create_task_group() as group:
        group.start_soon(run_prompt, session, results)
        await settle()
        session.cancel()
        stopped = CommandRejected(command="run_command", reason="You stopped /standup.")
        fake.feed(stopped, cause=CommandId("cmd_1"))
        await settle()
        assert results == [PromptResponse(stop_reason="cancelled")]
        group.start_soon(run_prompt, session, results)
        await settle()
        refused = CommandRejected(command="run_command", reason="There is no command /x.")
        fake.feed(refused, cause=fake.submitted[-1].id)
        await settle()
        assert isinstance(results[1], UsageError)


async def test_cancelling_a_call_that_ends_the_engine_shows_the_reason() -> None:
    editor = Editor()
    results: list[PromptResponse | Exception] = []
    async with opened(editor) as (fake, session), anyio.create_task_group() as group:
        group.start_soon(run_prompt, session, results)
        await settle()
        session.cancel()
        fake.failure = PluginError("The function spin of the plugin mine blocked it.", hint="Turn it off.")
        fake.end()
        await settle()
    assert results == [PromptResponse(stop_reason="cancelled")]
    reason = "The function spin of the plugin mine blocked it. Turn it off."
    assert editor.take() == [said("agent_message_chunk", reason)]
