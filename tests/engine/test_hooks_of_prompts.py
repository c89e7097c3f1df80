"""Hooks hear prompts, turns and sessions begin and end; what they add reaches the model, and stays in the log."""

from collections.abc import Sequence

import anyio

from tests.engine.harness import EchoTool, call, running, say
from tests.engine.hooking import ONE_CALL, Asked, a_turn, notices, ran, says, told
from tests.stubs.strict_history import faults_in
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.fold import Trace
from tui_agent.ports.hook import HookReply
from tui_agent.protocol.commands import Close, Interrupt, Queue, Steer, SubmitPrompt
from tui_agent.protocol.events.hook import HookEvent
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived, UserSteered
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.tui.panes.status_text import status_of


async def test_a_refused_prompt_never_reaches_the_model(tmp_path):
    async def no_secrets(asked: JsonMap) -> HookReply:
        return says("deny", "it names a customer") if "ACME" in str(asked["prompt"]) else HookReply()

    hook = Asked("before_prompt", no_secrets)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="What does ACME owe us?"))
        rejected = await bench.until_payload(CommandRejected)
        assert rejected.reason == "A hook refused this message: it names a customer."
        await a_turn(bench, "Hi.")
    assert "ACME" not in told(bench)
    assert [one.text for one in bench.of(UserMessageReceived)] == ["Hi."]


async def test_a_prompt_brings_what_the_hook_adds(tmp_path):
    hook = Asked("before_prompt", says(additional_context="It is Monday."))
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        await a_turn(bench, "Which day?")
    assert told(bench).startswith("Which day?") and "It is Monday." in told(bench)


async def test_steering_and_queued_messages_are_heard_too(tmp_path):
    async def no_secrets(asked: JsonMap) -> HookReply:
        return says("deny", "no") if "bad" in str(asked["prompt"]) else HookReply()

    hook = Asked("before_prompt", no_secrets)
    seen = anyio.Event()

    async def wait() -> None:
        await seen.wait()

    answers = [[wait, *call(("echo", '{"words":"a"}'))], say("Done."), say("And done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        await bench.until("model.requested")
        bench.submit(Steer(text="a bad word"))
        await bench.until("command.rejected")
        bench.submit(Steer(text="a good word"))
        await bench.until("user.steered")
        bench.submit(Queue(text="bad too"))
        bench.submit(Queue(text="good too"))
        await bench.until("user.queued", 2)
        seen.set()
        await bench.until("turn.finished", 2)
    assert [one.text for one in bench.of(UserSteered)] == ["a good word"]
    assert [one.text for one in bench.of(UserMessageReceived)] == ["Go.", "good too"]
    assert "bad" not in told(bench)


async def test_stopping_while_a_hook_hears_a_prompt_sends_nothing(tmp_path):
    async def for_ever(asked: JsonMap) -> HookReply:
        await anyio.sleep_forever()
        raise AssertionError

    hook = Asked("before_prompt", for_ever)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        state = fold(SessionState(), bench.events)
        shown = status_of(state, fold(Trace(), bench.events))
        assert state.is_busy and (shown.word, shown.detail) == ("waiting", "for a hook")
        bench.submit(Interrupt())
        rejected = await bench.until_payload(CommandRejected)
        assert rejected.reason == "The message was stopped before it was sent."
    assert not bench.model.requests
    assert ran(bench)[0].fault


async def test_stopping_the_turn_ends_the_hook_of_a_call_and_the_call_never_starts(tmp_path):
    async def for_ever(asked: JsonMap) -> HookReply:
        await anyio.sleep_forever()
        raise AssertionError

    hook = Asked("before_tool", for_ever)
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        shown = status_of(fold(SessionState(), bench.events), fold(Trace(), bench.events))
        assert (shown.word, shown.detail) == ("waiting", "for a hook")
        bench.submit(Interrupt())
        ended = await bench.until_payload(TurnFinished)
        assert ended.reason == "interrupted"
    assert tool.ran == []
    assert ran(bench)[0].fault
    assert notices(bench) == ["A hook for echo a was stopped"]
    assert [one.status for one in bench.of(ToolFinished)] == ["interrupted"]


async def test_a_refused_turn_asks_no_model(tmp_path):
    hook = Asked("before_turn", says("deny", "the budget is spent"))
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        await a_turn(bench)
        ended = bench.of(TurnFinished)[0]
    assert ended.reason == "rejected"
    assert "the budget is spent" in ended.detail
    assert not bench.model.requests


async def test_the_edges_of_session_prompt_and_turn_are_told_in_order(tmp_path):
    order: list[object] = []

    async def note(asked: JsonMap) -> HookReply:
        order.append(asked["hook_event"])
        return HookReply()

    events: Sequence[HookEvent] = (
        "session_end", "after_turn", "before_turn", "after_prompt", "before_prompt", "session_start",
    )  # fmt: skip
    hooks = [Asked(event, note).hook for event in events]
    async with running(tmp_path, [say("Hello.")], hooks=hooks) as bench:
        await a_turn(bench)
        bench.submit(Close())
        await bench.until("hook.ran", 6)
    assert order == list(reversed(events))


async def test_a_prompt_waits_for_the_hooks_of_the_start_and_brings_what_they_add(tmp_path):
    go = anyio.Event()

    async def slow(asked: JsonMap) -> HookReply:
        await go.wait()
        return says(additional_context=f"branch main, {asked['source']}")

    hook = Asked("session_start", slow)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        assert not bench.of(UserMessageReceived)
        go.set()
        await bench.until("turn.finished")
    assert "branch main, new" in told(bench)


async def test_a_decision_that_means_nothing_where_it_is_said_is_a_fault_that_stops_nothing(tmp_path):
    hooks = [
        Asked("after_tool", says("ask")).hook,
        Asked("before_prompt", says(updated_input={"words": "b"})).hook,
    ]
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=hooks) as bench:
        await a_turn(bench)
        ended = bench.of(TurnFinished)[0]
    assert ended.reason == "finished"
    assert all(one.fault for one in ran(bench)) and len(notices(bench)) == 2


async def test_a_taken_up_session_tells_the_model_the_same_and_runs_no_hook_again(tmp_path):
    hook = Asked("after_tool", says(additional_context="Remember the milk."))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
        before = bench.recorder.messages()
    async with running(tmp_path, [say("Again.")], [EchoTool()], hooks=[hook.hook]) as bench:
        assert bench.recorder.messages() == before
        await a_turn(bench)
    assert "Remember the milk." in told(bench)
    assert len(hook.asked) == 1


async def test_cut_at_any_event_of_a_turn_with_hooks_the_history_stays_legal(tmp_path):
    hooks = [
        Asked("before_tool", says(updated_input={"words": "b"}, additional_context="one")).hook,
        Asked("after_tool", says("deny", "two", additional_context="three")).hook,
        Asked("before_prompt", says(additional_context="four")).hook,
        Asked("after_turn", says(additional_context="five")).hook,
    ]
    answers = [call(("echo", '{"words":"a"}'), ("echo", '{"words":"c"}')), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=hooks) as bench:
        await a_turn(bench)
    for cut in range(len(bench.events)):
        messages = ModelMessages()
        for event in bench.events[: cut + 1]:
            messages.apply(event)
        if not messages.history.open_calls:
            assert faults_in(messages.view()) == [], cut
