"""A session as an editor sees it: updates, permission requests, questions, prompts and their ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import anyio
import pytest
from acp.schema import AllowedOutcome, DeniedOutcome, PromptResponse, RequestPermissionResponse

from tests.stubs.fake_session import FakeSession
from tests.stubs.story import requested, responded
from tui_agent.acp.editor_session import EditorSession
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    DecidePermission,
    Interrupt,
    SetPolicy,
    SubmitPrompt,
)
from tui_agent.protocol.display_blocks import DiffBlock, TextBlock
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested
from tui_agent.protocol.events.session import (
    ErrorRaised,
    SessionHeadMoved,
    SessionStarted,
    SettingsChanged,
)
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId, CommandId, RequestId
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
STARTED = SessionStarted(workspace="/work", product="tui-agent", settings=SETTINGS)
CALL, REQUEST = CallId("call_1"), RequestId("req_1")
CALLED = ToolCalled(
    call_id=CALL, name="edit_file", arguments={"path": "a.py"}, iteration=1, verb="edit", target="a.py\x1b[2J"
)
ASKED = PermissionRequested(
    request_id=REQUEST,
    call_id=CALL,
    tool="run_command",
    verb="run",
    target="make \u202e",
    effects=(),
    digest="d",
    preview=(TextBlock(text="make \u202e"),),
    choices=(
        PermissionChoice(reach="once", rule=""),
        PermissionChoice(reach="session", rule="allow run make *"),
        PermissionChoice(reach="always", rule="", offered=False, explanation="not here"),
    ),
    risk="It runs code.",
)


class Editor:
    """The other side: keeps the updates, and answers requests with the option `chooses` (None: cancelled)."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.chooses: str | None = "once"
        self.failure: Exception | None = None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        call = tool_call.model_dump(by_alias=True, exclude_none=True)
        self.asked.append(call | {"options": [(option.option_id, option.name) for option in options]})
        if self.failure is not None:
            raise self.failure
        if self.chooses is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.chooses))

    def take(self) -> list[dict[str, Any]]:
        """The updates since the last call, without the name of their kind where it says nothing more."""
        updates, self.updates = self.updates, []
        return updates


@asynccontextmanager
async def opened(
    editor: Editor, *history: Payload, replay: bool = False
) -> AsyncIterator[tuple[FakeSession, EditorSession]]:
    fake = FakeSession()
    fake.feed(STARTED, *history)
    session = EditorSession(fake, editor, Path("/work"))  # type: ignore[arg-type]  # of the client two methods
    async with anyio.create_task_group() as group:
        await session.open(group)
        if replay:
            await session.replay()
        group.start_soon(session.run, group)
        await anyio.wait_all_tasks_blocked()
        [offer] = [update for update in editor.updates if "availableCommands" in update]
        editor.updates.remove(offer)
        yield fake, session
        await session.aclose()


async def settle() -> None:
    await anyio.wait_all_tasks_blocked()


def said(kind: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


async def test_a_streamed_answer_is_sent_once_and_a_complete_one_too() -> None:
    editor = Editor()
    answer = {"first_part": 0, "finish": "stop", "usage": Usage(), "cost_usd": None, "duration_ms": 1.0}
    streamed, whole = RequestId("req_a"), RequestId("req_b")
    async with opened(editor) as (fake, _):
        fake.feed(
            ModelDelta(request_id=streamed, part_kind="reasoning", part_index=0, text="Hm."),
            ModelDelta(request_id=streamed, part_kind="text", part_index=1, text="Hel"),
            ModelDelta(request_id=streamed, part_kind="text", part_index=1, text="lo"),
            ModelDelta(request_id=streamed, part_kind="tool_call", part_index=2, text="{}"),
            ModelResponded(
                request_id=streamed,
                parts=(ReasoningPart(text="Hm."), TextPart(text="Hello")),
                **answer,  # type: ignore[arg-type]
            ),
            ModelResponded(request_id=whole, parts=(TextPart(text="Again"),), **answer),  # type: ignore[arg-type]
            UserMessageReceived(text="typed in the editor"),
        )
        fake.feed(
            ModelResponded(request_id=RequestId("req_c"), parts=(TextPart(text="Of a delegate"),), **answer),  # type: ignore[arg-type]
            agent=AgentId("helper"),
        )
        await settle()
        assert editor.take() == [
            said("agent_thought_chunk", "Hm."),
            said("agent_message_chunk", "Hel"),
            said("agent_message_chunk", "lo"),
            said("agent_message_chunk", "Again"),
        ]


async def test_the_context_of_the_session_has_the_newest_answer_too() -> None:
    editor, request = Editor(), RequestId("req_a")
    packed = ContextPacked(request_id=request, window=9_000, total_tokens=600, total_chars=0, sections=())
    answer = responded(request, "Done", tokens=610)
    async with opened(editor) as (fake, _):
        fake.feed(packed, requested(request), answer)
        await settle()
        used = [update["used"] for update in editor.take() if update["sessionUpdate"] == "usage_update"]
        assert used == [600, 620]


async def test_a_call_is_followed_to_its_diff_and_the_tasks_are_a_plan() -> None:
    editor = Editor()
    diff = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
    async with opened(editor) as (fake, _):
        fake.feed(
            CALLED,
            ToolStarted(call_id=CALL, writes=True),
            ToolProgress(call_id=CALL, text="wor"),
            ToolProgress(call_id=CALL, text="king"),
            ToolFinished(
                call_id=CALL,
                name="edit_file",
                status="ok",
                part=1,
                content=(TextContent(text="for the model"),),
                display=(DiffBlock(path="a.py", diff=diff, added=1, removed=1),),
            ),
            TodoUpdated(
                items=(
                    TodoItem(id="1", content="Look", status="verified"),
                    TodoItem(id="2", content="Edit", status="in_progress"),
                    TodoItem(id="3", content="Gone", status="abandoned"),
                )
            ),
        )
        await settle()
        start, running, wor, working, end, plan = editor.take()
    assert start == {
        "sessionUpdate": "tool_call",
        "toolCallId": "call_1",
        "title": "edit a.py�[2J",
        "kind": "edit",
        "status": "pending",
        "locations": [{"path": "/work/a.py"}],
        "rawInput": {"path": "a.py"},
    }
    assert running == {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "in_progress"}
    assert [update["content"][0]["content"]["text"] for update in (wor, working)] == ["wor", "working"]
    assert end["status"] == "completed"
    assert end["content"] == [
        {"type": "diff", "path": "/work/a.py", "oldText": "one\ntwo\n", "newText": "one\n2"}
    ]
    assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
        ("Look", "completed"),
        ("Edit", "in_progress"),
    ]


async def test_a_line_in_which_only_a_hidden_value_differs_has_a_note_in_results_and_requests() -> None:
    editor = Editor()
    line = "password = '[redacted: secret]'"
    block = DiffBlock(path="a.py", diff=f"@@ -1 +1 @@\n-{line}\n+{line}\n", added=1, removed=1)
    async with opened(editor, CALLED) as (fake, _):
        fake.feed(ASKED.model_copy(update={"preview": (block,)}))
        fake.feed(
            ToolFinished(call_id=CALL, name="edit_file", status="ok", part=1, content=(), display=(block,))
        )
        await settle()
    noted = f"{line} [a hidden value differs]\n"
    assert editor.asked[0]["content"][0]["newText"] == noted
    assert editor.updates[-1]["content"][0] == {
        "type": "diff",
        "path": "/work/a.py",
        "oldText": f"{line}\n",
        "newText": noted,
    }


@pytest.mark.parametrize("replay", [False, True])
async def test_errors_are_shown_once_also_those_of_the_start(replay: bool) -> None:
    editor = Editor()
    start = ErrorRaised(where="model", message="The profile local has no address.", hint="Set base_url.")
    async with opened(editor, start, replay=replay) as (fake, _):
        fake.feed(ErrorRaised(where="turn", message="KeyError: 'a\u202e'", hint="Send it again."))
        await settle()
        assert editor.take() == [
            said("agent_message_chunk", "\n\nError: The profile local has no address. Set base_url.\n\n"),
            said("agent_message_chunk", "\n\nError: KeyError: 'a<U+202E>' Send it again.\n\n"),
        ]


async def test_a_permission_request_shows_what_would_run_and_offers_the_rules() -> None:
    editor = Editor()
    editor.chooses = "session"
    async with opened(editor, CALLED) as (fake, _):
        fake.feed(ASKED)
        await settle()
        assert fake.submitted[0] == DecidePermission(
            id=CommandId("cmd_1"), request_id=REQUEST, decision="allow", reach="session"
        )
    (asked,) = editor.asked
    assert asked["title"] == "run make <U+202E>"
    assert [content["content"]["text"] for content in asked["content"]] == [
        "make <U+202E>",
        "Warning: It runs code.",
    ]
    assert asked["options"] == [
        ("once", "Yes, this once"),
        ("session", "Yes, this session: allow run make *"),
        ("deny", "No"),
    ]


@pytest.mark.parametrize(
    "outcome",
    ["deny", None, "always", "", ConnectionError("gone"), acp.RequestError(-32601, "no such method")],
)
async def test_anything_but_an_offered_yes_denies_and_the_session_goes_on(
    outcome: str | Exception | None,
) -> None:
    editor = Editor()
    editor.chooses, editor.failure = (None, outcome) if isinstance(outcome, Exception) else (outcome, None)
    async with opened(editor, CALLED) as (fake, _):
        fake.feed(ASKED)
        await settle()
        assert fake.submitted == [
            DecidePermission(id=CommandId("cmd_1"), request_id=REQUEST, decision="deny")
        ]
        assert not fake.is_closed


@pytest.mark.parametrize(
    ("chosen", "answer", "choice"),
    [
        ("1", "Blue", 1),
        (
            "later",
            "I will answer in my next message. Repeat the question in your answer, and end the turn.",
            None,
        ),
        (None, "No answer.", None),
        ("7", "No answer.", None),
    ],
)
async def test_a_question_is_asked_with_its_options(
    chosen: str | None, answer: str, choice: int | None
) -> None:
    editor = Editor()
    editor.chooses = chosen
    async with opened(editor, CALLED, ToolStarted(call_id=CALL, writes=False)) as (fake, _):
        fake.feed(
            QuestionAsked(question_id=RequestId("q"), text="Which?", form="choice", options=("Red", "Blue"))
        )
        await settle()
        assert fake.submitted[0] == AnswerQuestion(
            id=CommandId("cmd_1"), question_id=RequestId("q"), answer=answer, choice=choice
        )
    assert editor.asked[0]["options"] == [
        ("0", "Red"),
        ("1", "Blue"),
        ("later", "Answer in the next message"),
    ]


async def run_prompt(session: EditorSession, results: list[PromptResponse | Exception]) -> None:
    try:
        results.append(await session.prompt(SubmitPrompt(text="go")))
    except TuiAgentError as error:
        results.append(error)


async def test_changes_of_plugins_are_said_once_and_not_replayed() -> None:
    editor = Editor()
    failed = PluginFailed(plugin="greeter", message="line 1: '(' was never\u202e closed")
    results: list[PromptResponse | Exception] = []
    async with opened(editor, failed, replay=True) as (fake, session), anyio.create_task_group() as group:
        assert not editor.take()
        group.start_soon(run_prompt, session, results)
        await settle()
        loaded = PluginLoaded(plugin="mine", version="1", source="user", contributions=("tool:a",))
        reloaded = CommandRan(name="reload", display=(TextBlock(text="Changed: mine. Failed: greeter."),))
        fake.feed(loaded, loaded.model_copy(update={"while_running": True}), failed)
        fake.feed(reloaded, cause=CommandId("cmd_1"))
        await settle()
        assert results == [PromptResponse(stop_reason="end_turn")]
        assert editor.take() == [
            said("agent_message_chunk", "\n\nThe plugin mine was loaded. It adds: tool:a.\n\n"),
            said(
                "agent_message_chunk",
                "\n\nThe plugin greeter failed. line 1: '(' was never<U+202E> closed\n\n",
            ),
            said("agent_message_chunk", "Changed: mine. Failed: greeter."),
        ]


async def test_the_mode_follows_the_policy_and_cancelling_interrupts() -> None:
    editor = Editor()

    def react(command: Command) -> None:
        if isinstance(command, SetPolicy):
            changed = SettingsChanged(key="policy", value="plan", previous="ask")
            fake.feed(changed, cause=CommandId(f"cmd_{len(fake.submitted)}"))

    async with opened(editor) as (fake, session):
        fake.react = react
        await session.carry_out(SetPolicy(policy="plan"))
        session.cancel()
        assert session.settings.policy == "plan"
        assert isinstance(fake.submitted[-1], Interrupt)
    assert editor.take() == [{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}]


async def test_a_replayed_call_that_was_never_answered_does_not_stay_pending() -> None:
    editor = Editor()
    history = (
        TurnStarted(turn=1),
        CALLED,
        ASKED,
        TurnFinished(turn=1, reason="interrupted"),
    )
    async with opened(editor, *history, replay=True):
        start, update = editor.take()
    assert (start["status"], update["toolCallId"], update["status"]) == ("pending", CALL, "failed")
    assert update["content"][0]["content"]["text"] == "Not run: the turn ended before you answered."


async def test_history_is_replayed_as_it_is_on_the_current_branch() -> None:
    editor = Editor()
    history = (
        UserMessageReceived(text="first"),
        UserMessageReceived(text="undone"),
        SessionHeadMoved(to_seq=1, from_seq=2, reason="undo"),
        UserMessageReceived(text="second"),
    )
    async with opened(editor, *history, replay=True):
        assert editor.take() == [said("user_message_chunk", text) for text in ("first", "second")]


async def test_a_call_that_ran_when_the_engine_died_ends_as_failed_and_only_then() -> None:
    editor = Editor()
    async with opened(editor) as (fake, _):
        fake.feed(TurnStarted(turn=1), CALLED, ToolStarted(call_id=CALL, writes=True))
        await settle()
        assert [update.get("status") for update in editor.take()] == ["pending", "in_progress"]
        fake.end()
        await settle()
        (update,) = editor.take()
    assert (update["toolCallId"], update["status"]) == (CALL, "failed")
    assert update["content"][0]["content"]["text"].startswith("tui-agent exited while this call ran.")
