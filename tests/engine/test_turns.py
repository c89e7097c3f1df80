"""A turn: iterations, tools, limits, interruption, steering and queueing, as recorded."""

from pathlib import Path

import anyio

from tests.engine.harness import Bench, EchoTool, HeldTool, Words, ask, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.engine.middleware.repetition_note import StuckNotice
from tui_agent.ports.agent import Action, AskModel, Finish
from tui_agent.ports.model import FinishChunk, ModelFault, TextChunk
from tui_agent.protocol.commands import (
    AnswerQuestion,
    DecidePermission,
    Interrupt,
    Pause,
    Queue,
    Resume,
    SetBudgets,
    SetModel,
    SetPolicy,
    Steer,
    SubmitPrompt,
    Unqueue,
)
from tui_agent.protocol.effects import Effect, ReadEffect
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import ModelFailed, ModelResponded, ModelRetried
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import QuestionAsked, TurnFinished, UserMessageReceived, UserQueued
from tui_agent.protocol.messages import ToolMessage, UserMessage
from tui_agent.protocol.settings import PAUSE_PENDING, AgentState, Budgets

DENIED_CALL = ["tool.called", "permission.requested", "permission.decided", "tool.finished"]


def call_kinds(bench: Bench) -> list[str]:
    """Return the kinds of events about calls, in order."""
    return [kind for kind in bench.kinds() if kind.startswith(("tool.", "permission."))]


async def test_a_turn_records_message_model_decision_result_and_end_in_this_order(tmp_path: Path) -> None:
    echo = EchoTool()
    async with running(tmp_path, [call(("echo", '{"words": "hi"}')), say("Done.")], [echo]) as bench:
        bench.submit(SubmitPrompt(text="say hi"))
        end = await bench.until_payload(TurnFinished)
    wanted = [
        "user.message",
        "turn.started",
        "iteration.started",
        "context.packed",
        "model.requested",
        "model.responded",
        "tool.called",
        "permission.decided",
        "tool.started",
        "tool.progress",
        "tool.finished",
        "iteration.finished",
        "iteration.started",
        "context.packed",
        "model.requested",
        "model.responded",
        "iteration.finished",
        "turn.finished",
    ]
    assert [kind for kind in bench.kinds() if kind in wanted] == wanted
    assert end.reason == "finished"
    assert echo.ran == ["hi"]


async def test_parts_are_numbered_without_gaps_across_iterations(tmp_path: Path) -> None:
    answers = [call(("echo", "{}"), ("echo", "{}"), text="Two calls."), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    numbers = []
    for event in bench.events:
        if isinstance(event.payload, ModelResponded):
            numbers += [event.payload.first_part + n for n in range(len(event.payload.parts))]
        elif isinstance(event.payload, ToolFinished):
            numbers.append(event.payload.part)
    assert numbers == list(range(6))


async def test_calls_that_are_safe_run_side_by_side_and_none_overtakes_a_write(tmp_path: Path) -> None:
    order: list[str] = []
    both = anyio.Event()

    async def meet(words: str) -> None:
        order.append(words)
        if len(order) == 2:
            both.set()
        await both.wait()

    safe = EchoTool(before=meet)
    write = EchoTool("write", safe=False, writes=True, before=lambda words: order.append(words))
    calls = call(
        ("echo", '{"words":"a"}'),
        ("echo", '{"words":"b"}'),
        ("write", '{"words":"w"}'),
        ("echo", '{"words":"c"}'),
    )
    async with running(tmp_path, [calls, say("Done.")], [safe, write]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        results = [m for m in bench.model.requests[1].messages if isinstance(m, ToolMessage)]
    assert sorted(order[:2]) == ["a", "b"] and order[2:] == ["w", "c"]
    assert [result.content[0].text for result in results] == ["echo: a", "echo: b", "echo: w", "echo: c"]


async def test_an_interrupt_leaves_a_legal_history_and_the_next_turn_works(tmp_path: Path) -> None:
    tool = HeldTool(safe=False)
    answers = [call(("echo", '{"words":"1"}'), ("echo", '{"words":"2"}')), say("Again.")]
    async with running(tmp_path, answers, [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Interrupt())
        end = await bench.until_payload(TurnFinished)
        assert end.reason == "interrupted"
        finished = bench.of(ToolFinished)
        assert [event.status for event in finished] == ["interrupted", "interrupted"]
        assert bench.recorder.state.agent_state is AgentState.STOPPED
        assert check_pairs(bench.recorder.messages()) == []
        bench.submit(SubmitPrompt(text="and now?"))
        await bench.until("turn.finished", 2)
        assert check_pairs(bench.model.requests[1].messages) == []


async def test_an_interrupt_while_the_model_streams_keeps_what_came(tmp_path: Path) -> None:
    streaming = anyio.Event()

    async def hang() -> None:
        streaming.set()
        await anyio.sleep_forever()

    async with running(tmp_path, [[TextChunk("Half an ans"), hang]]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await streaming.wait()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
    (failed,) = bench.of(ModelFailed)
    assert (failed.fault, failed.partial) == ("cancelled", "Half an ans")


async def test_one_call_can_be_stopped_while_the_turn_goes_on(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Fine.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        running_call = bench.recorder.state.open_calls[0].call_id
        bench.submit(Interrupt(scope="call", call_id=running_call))
        end = await bench.until_payload(TurnFinished)
    assert end.reason == "finished"


async def test_steering_reaches_the_model_with_the_next_request_and_queueing_begins_a_turn(
    tmp_path: Path,
) -> None:
    tool = HeldTool()
    answers = [call(("echo", "{}")), say("First."), say("Second.")]
    async with running(tmp_path, answers, [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Steer(text="use tabs"))
        bench.submit(Queue(text="then this"))
        await bench.until("user.queued")
        tool.go.set()
        await bench.until("turn.finished", 2)
        _, second, third = bench.model.requests
    assert isinstance(second.messages[-1], UserMessage) and second.messages[-1].content[0].text == "use tabs"
    assert isinstance(second.messages[-2], ToolMessage)
    assert isinstance(third.messages[-1], UserMessage) and third.messages[-1].content[0].text == "then this"
    sources = [m.source for m in bench.of(UserMessageReceived)]
    assert sources == ["prompt", "queue"]


async def test_a_queued_message_can_be_taken_back(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Queue(text="later"))
        queued = await bench.until_payload(UserQueued)
        bench.submit(Unqueue(queue_id=queued.queue_id))
        await bench.until("user.unqueued")
        tool.go.set()
        await bench.until("turn.finished")
        assert bench.recorder.state.queue == ()
    assert len(bench.model.requests) == 2


async def test_a_message_queued_at_a_place_keeps_it_and_waits_with_those_before_it(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}"))], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        for text, place in (("one", None), ("three", None), ("two", 1), ("zero", 0), ("last", 9)):
            bench.submit(Queue(text=text, place=place))
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        bench.submit(Queue(text="half", place=1))
        await bench.until("user.queued", 6)
        queue = [message.text for message in bench.recorder.state.queue]
        assert queue == ["zero", "half", "one", "two", "three", "last"]
        assert not bench.recorder.state.turn_running


async def test_while_a_turn_runs_no_second_one_begins_and_its_ground_stays(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(SubmitPrompt(text="another"))
        bench.submit(SetModel(model="other"))
        bench.submit(SetPolicy(policy="plan"))
        await bench.until("settings.changed")
        tool.go.set()
        await bench.until("turn.finished")
    refused = [event.command for event in bench.of(CommandRejected)]
    assert refused == ["submit_prompt", "set_model"]


async def test_a_paused_turn_waits_before_its_next_model_call(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Pause())
        tool.go.set()
        while bench.recorder.state.agent_state != "paused":
            await bench.until("agent.state_changed", bench.kinds().count("agent.state_changed") + 1)
        assert len(bench.model.requests) == 1
        bench.submit(Resume())
        await bench.until("turn.finished")
    assert len(bench.model.requests) == 2


async def test_a_pause_that_is_asked_for_is_said_at_once_and_can_be_taken_back(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        for command, reason in (
            (Pause(), PAUSE_PENDING),
            (Resume(), ""),
            (Pause(), PAUSE_PENDING),
            (Resume(), ""),
        ):
            changes = bench.kinds().count("agent.state_changed")
            bench.submit(command)
            await bench.until("agent.state_changed", changes + 1)
            state = bench.recorder.state
            assert (state.agent_state, state.state_reason) == ("running", reason)
        tool.go.set()
        await bench.until("turn.finished")
    assert len(bench.model.requests) == 2


async def test_a_pause_that_came_too_late_holds_no_other_turn(tmp_path: Path) -> None:
    tool = HeldTool()
    answers = [call(("echo", "{}")), say("Done."), say("Again.")]
    async with running(tmp_path, answers, [tool], budgets=Budgets(max_iterations=1)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Pause())
        await bench.until("agent.state_changed", bench.kinds().count("agent.state_changed") + 1)
        tool.go.set()
        await bench.until("turn.finished")
        bench.submit(SetBudgets(budgets=Budgets()))
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
    states = [one.state for one in bench.of(AgentStateChanged)]
    assert AgentState.PAUSED not in states


async def test_a_transient_fault_is_retried_and_recorded(tmp_path: Path) -> None:
    fault = ModelFault("rate_limit", "Too many requests.", retry_after=0.0, status=429)
    async with running(tmp_path, [[TextChunk("lost"), fault], say("Hello.")]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("model.retried")
        await bench.until("turn.finished")
    (retried,) = bench.of(ModelRetried)
    assert (retried.attempt, retried.fault) == (1, "rate_limit")
    states = [e.payload.state for e in bench.events if e.payload.kind == "agent.state_changed"]
    assert "throttled" in states and bench.recorder.state.last_turn_end == "finished"


async def test_a_final_fault_ends_the_turn_as_model_error_and_keeps_the_message(tmp_path: Path) -> None:
    fault = ModelFault("auth", "The key is not valid.", status=401, hint="Check ANTHROPIC_API_KEY.")
    async with running(tmp_path, [[fault], say("Works.")]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
        assert end.reason == "model_error"
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
        assert len(bench.model.requests[1].messages) == 2
    (failed,) = bench.of(ModelFailed)
    assert failed.hint == "Check ANTHROPIC_API_KEY."


async def test_a_stream_without_the_providers_end_is_a_cut_and_its_calls_never_run(tmp_path: Path) -> None:
    whole = call(("echo", '{"words":"danger"}'))
    cut = [chunk for chunk in whole if not isinstance(chunk, FinishChunk)]
    echo = EchoTool()
    async with running(tmp_path, [cut, say("Fine.")], [echo]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert echo.ran == []
    (retried,) = bench.of(ModelRetried)
    assert retried.fault == "cut"


async def test_a_question_of_the_policy_waits_for_the_user_and_a_session_grant_is_not_asked_again(
    tmp_path: Path,
) -> None:
    answers = [call(("echo", '{"words":"1"}')), call(("echo", '{"words":"2"}')), say("Done.")]
    echo = EchoTool()
    async with running(tmp_path, answers, [echo], policy=ask) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        assert echo.ran == []
        bench.submit(
            DecidePermission(
                request_id=request.request_id, decision="allow", reach="session", rule="allow tool echo"
            )
        )
        await bench.until("turn.finished")
    assert echo.ran == ["1", "2"]
    decided = bench.of(PermissionDecided)
    assert [(event.decided_by, event.reach) for event in decided] == [("user", "session"), ("rule", "once")]
    assert decided[0].digest == request.digest


async def test_a_no_is_told_to_the_model_with_the_users_words(tmp_path: Path) -> None:
    echo = EchoTool()
    async with running(tmp_path, [call(("echo", "{}")), say("All right.")], [echo], policy=ask) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny", message="use the API"))
        await bench.until("turn.finished")
        result = bench.model.requests[1].messages[-1]
    assert echo.ran == [] and call_kinds(bench) == DENIED_CALL
    assert isinstance(result, ToolMessage) and "use the API" in str(result.content[0].text)


async def test_without_anyone_to_ask_what_the_policy_asks_is_denied(tmp_path: Path) -> None:
    echo = EchoTool()
    async with running(
        tmp_path, [call(("echo", "{}")), say("Hm.")], [echo], policy=ask, interactive=False
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert echo.ran == [] and call_kinds(bench) == [
        kind for kind in DENIED_CALL if kind != "permission.requested"
    ]
    (finished,) = bench.of(ToolFinished)
    assert finished.status == "denied"


async def test_an_unknown_tool_and_broken_arguments_are_answered_not_run(tmp_path: Path) -> None:
    answers = [call(("ekko", "{}"), ("echo", '{"words": 3}'), ("echo", '{"words": "x')), say("Sorry.")]
    echo = EchoTool()
    async with running(tmp_path, answers, [echo]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert check_pairs(bench.model.requests[1].messages) == []
    finished = bench.of(ToolFinished)
    assert [event.status for event in finished] == ["invalid"] * 3
    assert "echo" in str(finished[0].content[0]) and "words" in str(finished[1].content[0])
    assert echo.ran == []


async def test_a_tool_that_breaks_fails_its_call_and_not_the_turn(tmp_path: Path) -> None:
    def broken(words: str) -> None:
        raise RuntimeError("boom")

    async with running(tmp_path, [call(("echo", "{}")), say("I see.")], [EchoTool(before=broken)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
    assert end.reason == "finished"
    assert "error.raised" in bench.kinds()


async def test_the_third_equal_call_is_told_to_the_model_and_the_fourth_asks_the_user(tmp_path: Path) -> None:
    answers = [call(("echo", '{"words":"same"}')) for _ in range(6)]
    stuck = lambda recorder: StuckNotice(lambda: recorder.state)  # noqa: E731
    async with running(tmp_path, answers, [EchoTool()], middlewares=[stuck]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        question = await bench.until_payload(QuestionAsked)
        assert question.form == "stuck"
        bench.submit(AnswerQuestion(question_id=question.question_id, answer="Stop here", choice=1))
        end = await bench.until_payload(TurnFinished)
    assert end.reason == "stuck"
    results = bench.of(ToolFinished)
    assert [len(event.content) for event in results] == [1, 1, 2, 2]


async def test_own_words_about_repeated_calls_reach_the_model_and_the_turn_continues(tmp_path: Path) -> None:
    answers = [*[call(("echo", '{"words":"same"}')) for _ in range(4)], say("I read it.")]
    async with running(tmp_path, answers, [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        question = await bench.until_payload(QuestionAsked)
        bench.submit(AnswerQuestion(question_id=question.question_id, answer="read a.py instead"))
        end = await bench.until_payload(TurnFinished)
        assert end.reason == "finished"
        assert "read a.py instead" in str(bench.model.requests[-1].messages[-1])


async def test_another_agent_of_the_hub_needs_only_its_step(tmp_path: Path) -> None:
    class Done:
        name = "done"

        async def step(self, state: object, ask: AskModel) -> Action:
            return Finish()

    async with running(tmp_path, [], agents={"default": Done}) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert bench.kinds().count("iteration.started") == 1 and bench.model.requests == []


async def test_a_path_that_cannot_be_looked_up_is_the_calls_fault(tmp_path: Path) -> None:
    class Lost(EchoTool):
        def effects(self, args: Words) -> tuple[Effect, ...]:
            return (ReadEffect(path=args.words),)

    lost = Lost()
    async with running(tmp_path, [call(("echo", '{"words": "a\\u0000b"}')), say("Sorry.")], [lost]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
        assert check_pairs(bench.model.requests[1].messages) == []
    (finished,) = bench.of(ToolFinished)
    assert finished.status == "invalid"
    assert end.reason == "finished"
    assert lost.ran == []
