"""Sessions by HTTP: chat and its stream, approval, task lists, checkpoints, revert and fork."""

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, ClientTimeout, web
from aiohttp.test_utils import TestServer

from tests.stubs.fake_session import FakeSession
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import PluginError, SessionLocked
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    ContinueTurn,
    DecidePermission,
    Revert,
    SetModel,
    SubmitPrompt,
)
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import CommandRejected, SessionStarted, SettingsChanged
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import QuestionAsked, TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId, CommandId, RequestId
from tui_agent.protocol.parts import TextContent, TextPart, Usage
from tui_agent.protocol.settings import AgentState, ModelInfo, SessionSettings
from tui_agent.serve.hosted_sessions import HostedSessions
from tui_agent.serve.http_api import HttpApi

INFO = ModelInfo(profile="p", provider="x", model="m")
STARTED = SessionStarted(workspace="/w", product="tui-agent", settings=SessionSettings(model=INFO))
CALL, ANSWER = CallId("call_1"), RequestId("req_1")
TODOS = (TodoItem(id="1", content="Look", status="in_progress"),)
SHOWN_TODOS = [{"id": "1", "content": "Look", "status": "in_progress", "parent": None}]
DONE = TurnFinished(turn=1, reason="finished")
CHECKPOINT = CheckpointTaken(commit="c0", part=1, author="agent", paths=("a.py",))
HELPER = AgentId("helper")


def turn(fake: FakeSession, command_id: CommandId) -> None:
    """What an engine records of one turn with a call and a delegate."""
    responded = {"first_part": 0, "finish": "stop", "usage": Usage(), "cost_usd": None, "duration_ms": 1.0}
    fake.feed(UserMessageReceived(text="go"), TurnStarted(turn=1), cause=command_id)
    fake.feed(
        ContextPacked(request_id=ANSWER, window=1000, total_tokens=250, total_chars=9, sections=()),
        TodoUpdated(items=TODOS),
        ToolCalled(call_id=CALL, name="read_file", arguments={}, iteration=1, verb="read", target="a.py"),
        ToolStarted(call_id=CALL, writes=False),
        ToolFinished(
            call_id=CALL,
            name="read_file",
            status="ok",
            part=1,
            content=(TextContent(text="x"),),
            summary="1 line",
        ),
    )
    fake.feed(
        AgentSpawned(
            name="explore",
            parent_agent=AgentId("main"),
            delegate_level=1,
            task="Find it",
            tools=(),
            model=INFO,
        ),
        ModelDelta(request_id=RequestId("req_h"), part_kind="text", part_index=0, text="not shown"),
        AgentFinished(success=True, summary="Found.", reason="completed"),
        agent=HELPER,
    )
    fake.feed(
        ModelDelta(request_id=ANSWER, part_kind="text", part_index=0, text="All "),
        ModelDelta(request_id=ANSWER, part_kind="text", part_index=0, text="done."),
        ModelResponded(request_id=ANSWER, parts=(TextPart(text="All done."),), **responded),  # type: ignore[arg-type]
        DONE,
    )


class Server:
    """The interface over fake sessions. `react` is called with each command that a session gets."""

    def __init__(
        self, client: ClientSession, server: TestServer, sessions: HostedSessions, fakes: list[FakeSession]
    ) -> None:
        self.client, self.server, self.sessions, self.fakes = client, server, sessions, fakes

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        async with self.client.post(self.server.make_url(path), json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.client.get(self.server.make_url(path)) as answer:
            return answer.status, await answer.json()

    async def stream(
        self, path: str, body: object = None, most: int = 99, **headers: str
    ) -> list[tuple[int, str, dict[str, Any]]]:
        """The events of a stream until its end, or the first ones."""
        method = "GET" if body is None else "POST"
        async with self.client.request(
            method, self.server.make_url(path), json=body, headers=headers
        ) as answer:
            assert (answer.status, answer.content_type) == (200, "text/event-stream"), await answer.text()
            events: list[tuple[int, str, dict[str, Any]]] = []
            while len(events) < most and (lines := (await answer.content.readuntil(b"\n\n")).decode()):
                fields = dict(line.split(": ", 1) for line in lines.strip().split("\n"))
                events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                if events[-1][1] == "done" and method == "POST":
                    assert await answer.content.read() == b""
                    break
        return events


@asynccontextmanager
async def serving(
    tmp_path: Path,
    *history: Payload,
    react: Callable[[FakeSession, Command, CommandId], None] | None = None,
    failure: SessionLocked | None = None,
    stall_s: float = 30.0,
) -> AsyncIterator[Server]:
    fakes: list[FakeSession] = []

    def spawn(options: SessionOptions) -> Any:
        fake = FakeSession(session_id=options.session or "", failure=failure)
        fake.feed(STARTED, *history)
        if react is not None:
            fake.react = lambda command: react(fake, command, CommandId(f"cmd_{len(fake.submitted)}"))
        fakes.append(fake)
        return fake

    options = SessionOptions(cwd=tmp_path, client="web", data_dir=tmp_path / "data")
    async with anyio.create_task_group() as group:
        sessions = HostedSessions(options, group, spawn)
        app = web.Application()
        app.add_routes(HttpApi(sessions, stall_s=stall_s).routes())
        async with TestServer(app) as server, ClientSession(timeout=ClientTimeout(20)) as client:
            yield Server(client, server, sessions, fakes)
        await sessions.aclose()
        group.cancel_scope.cancel()


def answer_prompts(fake: FakeSession, command: Command, command_id: CommandId) -> None:
    match command:
        case SubmitPrompt(text="refuse me"):
            fake.feed(CommandRejected(command="submit_prompt", reason="No.", hint="Wait."), cause=command_id)
        case SubmitPrompt(text="/day"):
            shown = CommandRan(name="day", display=(TextBlock(text="Monday"), TextBlock(text="cloudy")))
            fake.feed(shown, cause=command_id)
        case SubmitPrompt():
            turn(fake, command_id)
        case SetModel(model=model):
            changed = SettingsChanged(
                key="model",
                value=INFO.model_copy(update={"profile": model}).model_dump(mode="json"),
                previous=None,
            )
            fake.feed(changed, cause=command_id)
        case _:
            pass


async def test_a_chat_streams_its_turn_with_the_seq_of_each_event(tmp_path: Path) -> None:
    async with serving(tmp_path, react=answer_prompts) as api:
        events = await api.stream("/api/chat", {"message": "go", "model": "fast"})
        session_id = events[0][2]["sessionId"]
        # SetModel was event 1; the message is event 2.
        assert [(seq, name) for seq, name, _ in events] == [
            (1, "session"),
            (1, "todo_update"),
            (4, "context_update"),
            (5, "todo_update"),
            (7, "tool_start"),
            (8, "tool_complete"),
            (9, "subtask_start"),
            (11, "subtask_complete"),
            (12, "text"),
            (13, "text"),
            (15, "done"),
        ]
        assert [data for _, _, data in events[1:]] == [
            {"todos": []},
            {"usage": 250, "percentage": 25.0},
            {"todos": SHOWN_TODOS},
            {"id": "call_1", "name": "read_file", "summary": "read a.py"},
            {"id": "call_1", "name": "read_file", "success": True, "summary": "1 line"},
            {"id": "helper", "prompt": "Find it"},
            {"id": "helper", "summary": "Found.", "success": True},
            {"content": "All ", "answer": "req_1"},
            {"content": "done.", "answer": "req_1"},
            {"reason": "finished", "detail": ""},
        ]
        assert (await api.get(f"/api/todos/{session_id}")) == (200, {"todos": SHOWN_TODOS})
        again = await api.stream(f"/api/events/{session_id}", most=3, **{"Last-Event-ID": "11"})
        assert again == events[8:]
        cut = await api.stream(f"/api/events/{session_id}", most=1, **{"Last-Event-ID": "13"})
        assert cut == [(14, "text", {"content": "All done.", "answer": "req_1", "complete": True})]
        second = await api.stream("/api/chat", {"message": "refuse me"})
        assert second[0][2] == {"sessionId": session_id}
        assert [(name, data) for _, name, data in second[2:]] == [
            ("error", {"message": "No. Wait."}),
            ("done", {"reason": "rejected", "detail": ""}),
        ]
        third = await api.stream("/api/chat", {"message": "/day"})
        assert [(name, data) for _, name, data in third[2:]] == [
            ("text", {"content": "Monday\ncloudy", "answer": "", "complete": True}),
            ("done", {"reason": "finished", "detail": ""}),
        ]
        assert len(api.fakes) == 1


@pytest.mark.parametrize("is_turn_running", [True, False])
async def test_a_program_that_follows_a_session_gets_the_reason_why_its_engine_ended(
    is_turn_running: bool, tmp_path: Path
) -> None:
    history = (TurnStarted(turn=1),) if is_turn_running else ()
    async with serving(tmp_path, *history) as api:

        async def end_engine() -> None:
            await until(lambda: bool(api.fakes) and len(api.fakes[0].followers) == 2)
            api.fakes[0].failure = PluginError("The function hung of the plugin mine blocked the session.")
            api.fakes[0].end()

        session_id = api.sessions.issue_id()
        async with anyio.create_task_group() as group:
            group.start_soon(end_engine)
            events = await api.stream(f"/api/events/{session_id}")
    message = "The function hung of the plugin mine blocked the session."
    expected: list[tuple[str, object]] = [("error", {"message": message})]
    if is_turn_running:
        expected.append(("done", {"reason": "error", "detail": message}))
    assert [(name, data) for _, name, data in events] == expected


async def test_a_chat_gives_the_reason_why_its_engine_ended(tmp_path: Path) -> None:
    called = ToolCalled(call_id=CALL, name="hung", arguments={}, iteration=1, verb="use", target="hung")

    def react(fake: FakeSession, command: Command, command_id: CommandId) -> None:
        fake.feed(TurnStarted(turn=1), called, ToolStarted(call_id=CALL, writes=False), cause=command_id)
        fake.failure = reason
        fake.end()

    reason: PluginError | None = PluginError("The function hung of the plugin mine blocked the session.")
    async with serving(tmp_path, react=react) as api:
        events = await api.stream("/api/chat", {"message": "go"})
        message = "The function hung of the plugin mine blocked the session."
        assert [(name, data) for _, name, data in events[2:]] == [
            ("tool_start", {"id": CALL, "name": "hung", "summary": "use hung"}),
            ("error", {"message": message}),
            ("done", {"reason": "error", "detail": message}),
        ]
        reason = None
        [*_, (_, name, error), _] = await api.stream("/api/chat", {"message": "go", **events[0][2]})
        message = "The session ended. To open the session, send the request again."
        assert (name, error, len(api.fakes)) == ("error", {"message": message}, 2)


REQUESTED = PermissionRequested(
    request_id=RequestId("req_p"),
    call_id=CALL,
    tool="run_command",
    verb="run",
    target="make",
    effects=(),
    digest="d",
    preview=(),
    choices=(),
)
PLAN = QuestionAsked(
    question_id=RequestId("q"), text="The plan", form="plan", options=("Approve", "Keep planning")
)


@pytest.mark.parametrize(
    ("waits_for", "command"),
    [
        (REQUESTED, DecidePermission(request_id=RequestId("req_p"), decision="allow")),
        (PLAN, AnswerQuestion(question_id=RequestId("q"), answer="Approve", choice=0)),
        (TurnFinished(turn=1, reason="interrupted"), ContinueTurn()),
    ],
)
async def test_approval_starts_with_the_tasks_and_goes_on(
    waits_for: Payload, command: Command, tmp_path: Path
) -> None:
    def react(fake: FakeSession, command: Command, command_id: CommandId) -> None:
        if isinstance(command, SubmitPrompt):
            fake.feed(TurnStarted(turn=1), TodoUpdated(items=TODOS), waits_for, cause=command_id)
        else:
            fake.feed(TurnFinished(turn=2, reason="finished"), cause=command_id)

    async with serving(tmp_path, react=react) as api:
        first = await api.stream("/api/chat", {"message": "go"}, most=4)
        session_id = first[0][2]["sessionId"]
        events = await api.stream("/api/approve", {"sessionId": session_id})
        assert [(name, data) for _, name, data in events] == [
            ("session", {"sessionId": session_id}),
            ("todo_update", {"todos": SHOWN_TODOS}),
            ("done", {"reason": "finished", "detail": ""}),
        ]
        assert api.fakes[0].submitted[-1] == command.model_copy(update={"id": CommandId("cmd_2")})


async def test_a_call_that_starts_after_its_approval_is_named(tmp_path: Path) -> None:
    called = ToolCalled(call_id=CALL, name="read_file", arguments={}, iteration=1, verb="read", target="a.py")

    def react(fake: FakeSession, command: Command, command_id: CommandId) -> None:
        if isinstance(command, SubmitPrompt):
            fake.feed(TurnStarted(turn=1), called, REQUESTED, cause=command_id)
        else:
            started = ToolStarted(call_id=CALL, writes=False)
            fake.feed(started, TurnFinished(turn=1, reason="finished"), cause=command_id)

    async with serving(tmp_path, react=react) as api:
        first = await api.stream("/api/chat", {"message": "go"}, most=2)
        events = await api.stream("/api/approve", {"sessionId": first[0][2]["sessionId"]})
    [start] = [data for _, name, data in events if name == "tool_start"]
    assert start == {"id": CALL, "name": "read_file", "summary": "read a.py"}


async def test_a_question_that_needs_words_is_not_approved(tmp_path: Path) -> None:
    asked = QuestionAsked(question_id=RequestId("q"), text="Which?", form="choice", options=("A", "B"))
    async with serving(tmp_path, asked, react=answer_prompts) as api:
        session_id = (await api.stream("/api/chat", {"message": "refuse me"}, most=1))[0][2]["sessionId"]
        status, body = await api.post("/api/approve", {"sessionId": session_id})
        assert (status, body) == (409, {"error": "The agent waits for an answer, not for approval."})


async def test_a_revert_needs_a_checkpoint_of_the_session(tmp_path: Path) -> None:
    def react(fake: FakeSession, command: Command, command_id: CommandId) -> None:
        if isinstance(command, Revert):
            fake.feed(AgentStateChanged(state=AgentState.IDLE), cause=command_id)
        answer_prompts(fake, command, command_id)

    async with serving(tmp_path, CHECKPOINT, react=react) as api:
        session_id = (await api.stream("/api/chat", {"message": "refuse me"}))[0][2]["sessionId"]
        expected = {"checkpointId": 1, "turn": 0, "files": ["a.py"], "onBranch": True}
        assert await api.get(f"/api/checkpoints/{session_id}") == (200, {"checkpoints": [expected]})
        known = {"sessionId": session_id, "checkpointId": 1}
        assert await api.post("/api/revert", known) == (200, known)
        assert api.fakes[0].submitted[-1] == Revert(id=CommandId("cmd_2"), to_seq=1)
        for path in ("/api/revert", "/api/fork"):
            status, body = await api.post(path, known | {"checkpointId": 2})
            assert (status, body) == (404, {"error": "The session has no checkpoint 2."})


async def test_bad_requests_are_named_and_open_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        rows: list[tuple[str, object, int, str]] = [
            ("/api/chat", {}, 400, "message: Field required."),
            ("/api/chat", {"message": ""}, 400, "message: String should have at least 1 character."),
            ("/api/chat", {"message": "x", "extra": 1}, 400, "extra: Extra inputs are not permitted."),
            ("/api/chat", [1], 400, "body: Input should be an object."),
            ("/api/chat", {"message": "x", "sessionId": "../x"}, 404, "There is no session '../x'."),
            (
                "/api/revert",
                {"sessionId": "ses_none", "checkpointId": 1},
                404,
                "There is no session 'ses_none'.",
            ),
            (
                "/api/revert",
                {"sessionId": "s", "checkpointId": "x"},
                400,
                "checkpointId: Input should be a valid integer",
            ),
            ("/api/approve", {"sessionId": "ses_none"}, 404, "There is no session 'ses_none'."),
        ]
        for path, sent, status, message in rows:
            answer = await api.post(path, sent)
            assert answer[0] == status and answer[1]["error"].startswith(message), (path, sent, answer)
        for path in ("/api/todos/ses_none", "/api/events/ses_none", "/api/checkpoints/ses_none"):
            assert (await api.get(path))[0] == 404
        async with api.client.post(api.server.make_url("/api/chat"), data="message=x") as plain:
            assert plain.status == 415
        assert not api.fakes


async def test_a_session_that_another_program_has_is_a_conflict(tmp_path: Path) -> None:
    async with serving(tmp_path, failure=SessionLocked("Open elsewhere.")) as api:
        assert await api.post("/api/chat", {"message": "x"}) == (409, {"error": "Open elsewhere."})


async def test_a_client_that_stops_reading_is_dropped_and_nobody_waits_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path, react=answer_prompts, stall_s=0.05) as api:
        session_id = (await api.stream("/api/chat", {"message": "refuse me"}))[0][2]["sessionId"]
        (fake,) = api.fakes
        followers = len(fake.followers)
        stalled = socket.create_connection(("127.0.0.1", api.server.port or 0))
        stalled.sendall(f"GET /api/events/{session_id} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await until(lambda: len(fake.followers) > followers)
        flood = ModelDelta(request_id=ANSWER, part_kind="text", part_index=0, text="x" * 500_000)
        fake.feed(*[flood] * 40)
        await until(lambda: fake.followers[-1].closed)
        events = await api.stream("/api/chat", {"message": "go"})
        assert events[-1][1] == "done"
        received = 0
        with stalled:
            while data := stalled.recv(1 << 20):
                received += len(data)
        assert received < 40 * len(flood.text)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - what the server does has no event here
            await anyio.sleep(0.01)
