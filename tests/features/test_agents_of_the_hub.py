"""Agents beside the default one: what a `step` may return, what it is given, and what the log says of it."""

from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, ToolError
from tui_agent.folds.projection import fold
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.plugin_api import (
    Action,
    AskModel,
    CallTools,
    Finish,
    ModelQuery,
    Reject,
    SayMessage,
    act,
    actions,
)
from tui_agent.protocol.commands import Steer, SubmitPrompt
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session


class Acting:
    """Returns one thing after the other, without a model."""

    name = "acting"

    def __init__(self, *returned: Action) -> None:
        self.returned = list(returned)
        self.states: list[SessionStateView] = []

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        self.states.append(state)
        return self.returned.pop(0) if self.returned else Finish()


def _echo(words: str, call_id: str = "") -> ToolCallPart:
    return ToolCallPart(call_id=CallId(call_id), name="echo", arguments={"words": words})


async def _turn(bench: Bench, text: str = "go", count: int = 1) -> TurnFinished:
    bench.submit(SubmitPrompt(text=text))
    return await bench.until_payload(TurnFinished, count)


async def test_an_agent_that_finishes_ends_the_run_after_one_iteration(tmp_path: Path) -> None:
    agent = Acting(Finish())
    async with running(tmp_path, [], agents={"default": lambda: agent}) as bench:
        end = await _turn(bench)
    assert end.reason == "finished"
    assert bench.kinds().count("iteration.started") == len(agent.states) == 1


async def test_an_agent_without_a_model_speaks_and_runs_tools_and_all_of_it_is_recorded(
    tmp_path: Path,
) -> None:
    agent = Acting(CallTools((_echo("one"), _echo("two", "taken"))), SayMessage("Both done."))
    echo = EchoTool(safe=False)
    async with running(tmp_path, [], [echo], agents={"default": lambda: agent}) as bench:
        await _turn(bench)
        events, messages, state = list(bench.events), bench.recorder.messages(), bench.recorder.state
    assert echo.ran == ["one", "two"] and bench.model.requests == []
    assert check_pairs(messages) == []
    metrics = fold(Metrics(), events)
    assert (metrics.final_answer, metrics.model_calls, metrics.parts) == ("Both done.", 0, 5)
    assert state.totals.model_calls == 0 and state.tool_calls == 2
    shown = [getattr(entry, "text", "") for entry in fold(Transcript(), events).entries]
    assert "Both done." in shown


async def test_calls_of_the_model_that_an_agent_leaves_out_are_closed_and_the_history_stays_legal(
    tmp_path: Path,
) -> None:
    class Choosy:
        name = "choosy"
        asked = False

        async def step(self, state: SessionStateView, ask: AskModel) -> Action:
            reply = await ask(ModelQuery())
            calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
            return CallTools((*calls[:1], _echo("mine"))) if calls else Finish("All I wanted.")

    echo = EchoTool(safe=False)
    answers = [call(("echo", '{"words":"a"}'), ("echo", '{"words":"b"}')), say("Well.")]
    async with running(tmp_path, answers, [echo], agents={"default": Choosy}) as bench:
        await _turn(bench)
        messages = bench.recorder.messages()
    assert echo.ran == ["a", "mine"]
    assert check_pairs(messages) == [] and check_pairs(bench.model.requests[1].messages) == []
    statuses = [event.status for event in bench.of(ToolFinished)]
    assert sorted(statuses) == ["interrupted", "ok", "ok"]


async def test_every_agent_has_the_users_model_for_any_question(tmp_path: Path) -> None:
    class Asking:
        name = "asking"

        async def step(self, state: SessionStateView, ask: AskModel) -> Action:
            question = UserMessage(content=(TextContent(text="Two words for rain?"),))
            reply = await ask(ModelQuery(messages=(question,), system="Be brief.", tools=()))
            words = [part.text for part in reply.parts if isinstance(part, TextPart)]
            return Finish() if words == ["Drizzle, downpour."] else Reject("The model said something else.")

    async with running(
        tmp_path, [say("Drizzle, downpour.")], [EchoTool()], agents={"default": Asking}
    ) as bench:
        end = await _turn(bench)
    (request,) = bench.model.requests
    assert end.reason == "finished"
    assert (request.system, request.tools, request.model.profile) == ("Be brief.", (), "fake")
    assert len(request.messages) == 1 and "model.responded" in bench.kinds()


async def test_after_a_finish_and_after_a_rejection_the_session_takes_a_new_task(tmp_path: Path) -> None:
    agent = Acting(Finish(), Reject("Not my work."), SayMessage("Third."))
    async with running(tmp_path, [], agents={"default": lambda: agent}) as bench:
        ends = [await _turn(bench, "task", count) for count in (1, 2, 3)]
        state = bench.recorder.state
    assert [end.reason for end in ends] == ["finished", "rejected", "finished"]
    assert ends[1].detail == "Not my work." and state.turn == 3


async def test_a_failing_agent_ends_its_turn_and_not_the_session(tmp_path: Path) -> None:
    class Broken:
        name = "broken"

        async def step(self, state: SessionStateView, ask: AskModel) -> Action:
            raise RuntimeError("a bug of the agent")

    async with running(tmp_path, [], agents={"default": Broken}) as bench:
        assert (await _turn(bench)).reason == "error"
        assert (await _turn(bench, count=2)).reason == "error"  # the session goes on
        assert bench.recorder.state.last_error == "RuntimeError: a bug of the agent"


async def test_words_said_into_the_turn_of_an_agent_that_asks_no_model_wait_for_the_next_request(
    tmp_path: Path,
) -> None:
    class Late:
        name = "late"

        def __init__(self) -> None:
            self.count = 0

        async def step(self, state: SessionStateView, ask: AskModel) -> Action:
            self.count += 1
            if self.count == 1:
                bench.submit(Steer(text="and the docs"))
                await steered.wait()
            return SayMessage(f"Answer {self.count}.")

    steered = anyio.Event()
    async with running(tmp_path, [], agents={"default": Late}) as bench:
        bench.on_event = lambda event: steered.set() if event.payload.kind == "user.steered" else None
        end = await _turn(bench)
        messages = bench.recorder.messages()
    assert end.reason == "finished" and bench.kinds().count("iteration.started") == 2
    assert "and the docs" in str(messages[-1])


async def test_named_actions_are_carried_out_as_their_calls(tmp_path: Path) -> None:
    wanted = (
        actions.CmdRun(command="echo hi"),
        actions.FileRead(path="a.txt", offset=2, limit=5),
        actions.FileWrite(path="b.txt", content="b"),
        actions.AddTask(goal="Ship it", subtasks=("Build", "Test")),
        actions.ModifyTask(id="1", state="in_progress"),
        actions.IPythonRunCell(code="1 + 1"),
        actions.BrowseURL(url="http://localhost/"),
    )

    class Named(Acting):
        async def step(self, state: SessionStateView, ask: AskModel) -> Action:
            self.states.append(state)
            return (
                act(state, *wanted) if len(self.states) == 1 else act(state, actions.AgentFinish(text="ok"))
            )

    async with running(tmp_path, [], agents={"default": Named}) as bench:
        end = await _turn(bench)
    calls = [event.payload for event in bench.events if event.payload.kind == "tool.called"]
    assert end.reason == "finished"
    assert [(each.name, each.arguments) for each in calls][:3] == [  # type: ignore[union-attr]
        ("run_command", {"command": "echo hi"}),
        ("read_file", {"path": "a.txt", "offset": 2, "limit": 5}),
        ("write_file", {"path": "b.txt", "content": "b", "overwrite": False}),
    ]
    results = bench.of(ToolFinished)
    assert "There is no tool 'run_cell'" in str(results[5].content)


async def test_a_message_and_a_rejection_are_named_actions_too(tmp_path: Path) -> None:
    state = SessionStateView()
    assert act(state, actions.Message(text="Hello.")) == SayMessage("Hello.")
    assert act(state, actions.AgentReject(reason="No.")) == Reject("No.")
    assert act(state, actions.AgentFinish(text="Done.")) == Finish("Done.")


async def test_the_error_of_a_tool_is_the_states_last_error(tmp_path: Path) -> None:
    def fail(words: str) -> None:
        raise ToolError("The disk says no.")

    answers = [call(("echo", '{"words":"x"}')), say("Sad.")]
    async with running(tmp_path, answers, [EchoTool(before=fail)]) as bench:
        await _turn(bench)
        assert bench.recorder.state.last_error == "echo: The disk says no."


async def test_the_reader_reads_and_neither_writes_nor_runs_whatever_the_model_wants(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        "answers:\n"
        "  - calls: [{read_file: {path: a.txt}}, {write_file: {path: b.txt, content: x}}]\n"
        "  - text: It says hello.\n"
    )
    (tmp_path / "a.txt").write_text("hello\n")
    options = _options(tmp_path, agent="reader", model=f"scripted:{script}", policy="bypass")
    async with open_session(options) as opened:
        outcome = await run_turn(opened, "what does a.txt say?", lambda record: None)
    assert (outcome.reason, outcome.answer) == ("finished", "It says hello.")
    assert not (tmp_path / "b.txt").exists()


async def test_an_agent_that_is_not_there_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no agent 'nobody'.*default, opencode, reader"):
        async with open_session(_options(tmp_path, agent="nobody", model="demo")):
            pass
    assert not (tmp_path / "data" / "sessions").exists()


def _options(folder: Path, **said: object) -> SessionOptions:
    return SessionOptions(
        cwd=folder,
        client="headless",
        interactive=False,
        data_dir=folder / "data",
        no_plugins=True,
        **said,  # type: ignore[arg-type]
    )
