"""A queued message can be sent before its time: into the running turn, or where a stopped turn left it waiting."""

from pathlib import Path

from tests.engine.harness import HeldTool, call, running, say
from tui_agent.engine.input.queued_messages import queue_from_steering, steering_from_queue
from tui_agent.protocol.commands import Interrupt, Queue, SendQueued, SubmitPrompt
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued, UserSteered
from tui_agent.protocol.ids import RequestId


async def test_a_queued_message_sent_while_the_turn_runs_steers_it(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Queue(text="look here first\n[a long paste]", own_words="look here first"))
        queued = await bench.until_payload(UserQueued)
        bench.submit(SendQueued(queue_id=queued.queue_id))
        await bench.until("user.steered")
        tool.go.set()
        await bench.until("turn.finished")
        assert bench.recorder.state.queue == () and bench.recorder.state.turn == 1
    assert [(steered.text, steered.own_words) for steered in bench.of(UserSteered)] == [
        ("look here first\n[a long paste]", "look here first")
    ]


async def test_a_message_that_a_stopped_turn_left_waiting_begins_the_next_turn(tmp_path: Path) -> None:
    tool = HeldTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Queue(text="then this"))
        queued = await bench.until_payload(UserQueued)
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        assert len(bench.recorder.state.queue) == 1
        bench.submit(SendQueued(queue_id=queued.queue_id))
        await bench.until("turn.finished", 2)
        assert bench.recorder.state.queue == ()
    said = bench.of(UserMessageReceived)
    assert [(one.text, one.source) for one in said] == [("go", "prompt"), ("then this", "queue")]


async def test_what_is_not_queued_cannot_be_sent(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Done.")]) as bench:
        bench.submit(SendQueued(queue_id=RequestId("gone")))
        refused = await bench.until_payload(CommandRejected)
    assert refused.reason == "This message is no longer queued."


def test_a_message_keeps_its_words_from_the_queue_to_the_turn_and_back() -> None:
    queued = UserQueued(
        queue_id=RequestId("r1"),
        text="see\n[a long paste]",
        command="/look",
        own_words="see",
        typed_mentions=("a.py",),
    )
    assert queue_from_steering(steering_from_queue(queued), queued.queue_id) == queued
