"""A fork that is opened: what is different in it is taken on once, what stood open is closed, its parent stays as it is."""

from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.engine.harness import Bench, EchoTool, HeldTool, QuickClock, call, running, say
from tests.engine.test_session_contract import FORMS, Reading, opened, options
from tests.stubs.clock import FakeClock
from tests.stubs.strict_history import faults_in
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.transcript.entries import ToolEntry, TurnEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import ContinueTurn, Queue, Steer, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import ForkChange, RunResumed, SettingsChanged
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.session.clock import SystemClock
from tui_agent.session.fork import find_fork_start
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

__all__ = ["options"]
PARENT = "ses_parent"


def sessions(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", QuickClock(), Redactor())


async def parent(tmp_path: Path) -> list[Envelope]:
    """A session in which two calls ran, one after the other, and a second turn."""
    answers = [call(("echo", '{"words": "a"}'), ("echo", '{"words": "b"}')), say("Done."), say("Hello.")]
    async with running(tmp_path, answers, [EchoTool(safe=False)], session=PARENT) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="second"))
        await bench.until("turn.finished", 2)
        return list(bench.events)


def place(events: list[Envelope], kind: type, number: int = 1) -> Envelope:
    return [event for event in events if isinstance(event.payload, kind)][number - 1]


async def gone_on(bench: Bench) -> list[str]:
    """The fork's agent goes on; its history at the end, in words."""
    ended = bench.kinds().count("turn.finished")
    bench.submit(ContinueTurn())
    await bench.until("turn.finished", ended + 1)
    for request in bench.model.requests:
        assert faults_in(request.messages) == []
    return [told(message) for message in bench.model.requests[-1].messages]


def told(message: object) -> str:
    match message:
        case UserMessage(content=(TextContent(text=text), *_)):
            return f"user: {text}"
        case ToolMessage(content=(TextContent(text=text), *_)):
            return f"result: {text}"
        case AssistantMessage(parts=parts):
            calls = [part.name for part in parts if isinstance(part, ToolCallPart)]
            return f"agent: {calls}"
    return repr(message)


async def test_another_result_takes_the_place_of_the_one_that_the_call_had(tmp_path: Path) -> None:
    events = await parent(tmp_path)
    finished = place(events, ToolFinished)
    assert isinstance(finished.payload, ToolFinished) and finished.parent is not None
    started = place(events, ToolStarted)
    assert started.parent is not None
    change = ForkChange(call_id=finished.payload.call_id, result="something else")
    sessions(tmp_path).fork(PARENT, started.parent, "ses_fork", change)
    async with running(tmp_path, [say("I see.")], [EchoTool()], session="ses_fork") as bench:
        assert await gone_on(bench) == [
            "user: first",
            "agent: ['echo', 'echo']",
            "result: something else",
            "result: Not run: the session was forked at this point",
        ]
        done, other = bench.recorder.messages()[2:4]
        assert (isinstance(done, ToolMessage) and done.ok, isinstance(other, ToolMessage) and other.ok) == (
            True,
            False,
        )
        ended = bench.recorder.state
        assert ended.fork_changes is None
        assert ended.parts == 4, "the answer's two calls, the result that was replaced, the new answer"


async def test_what_was_taken_on_is_not_taken_on_again_where_the_first_opening_broke_off(
    tmp_path: Path,
) -> None:
    events = await parent(tmp_path)
    started = place(events, ToolStarted)
    assert isinstance(started.payload, ToolStarted) and started.parent is not None
    change = ForkChange(call_id=started.payload.call_id, result="something else")
    sessions(tmp_path).fork(PARENT, started.parent, "ses_fork", change)
    for _ in range(2):
        async with running(tmp_path, (), (), session="ses_fork", serve=False) as bench:
            pass
    results = [one for one in bench.recorder.messages() if isinstance(one, ToolMessage)]
    assert [told(one) for one in results] == [
        "result: something else",
        "result: Not run: the session was forked at this point",
    ]


async def test_a_fork_in_the_midst_of_an_answer_forgets_what_had_come_of_it(tmp_path: Path) -> None:
    begun = anyio.Event()

    async def hang() -> None:
        begun.set()
        await anyio.sleep_forever()

    async with running(tmp_path, [[*say("Half an answer")[:1], hang]], session=PARENT) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await begun.wait()
        delta = await bench.until("model.delta")
        sessions(tmp_path).fork(PARENT, delta.seq, "ses_fork")
    async with running(tmp_path, [say("Whole.")], session="ses_fork") as bench:
        assert await gone_on(bench) == ["user: first"]
        (ended,) = (one for one in bench.of(TurnFinished) if one.detail)  # type: ignore[attr-defined]
        assert isinstance(ended, TurnFinished)
        assert (ended.reason, ended.detail) == ("interrupted", "Forked in the middle of this turn.")


async def test_another_message_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    events = await parent(tmp_path)
    second = place(events, UserMessageReceived, 2)
    assert second.parent is not None
    sessions(tmp_path).fork(PARENT, second.parent, "ses_fork", ForkChange(message="otherwise " + "x" * 9_000))
    async with running(tmp_path, [say("I see."), say("Again.")], session="ses_fork") as bench:
        history = await gone_on(bench)
        assert history[:3] == ["user: first", "agent: ['echo', 'echo']", "result: echo: a"]
        assert history[-1].startswith("user: otherwise xxx"), "a long one is put back"
        bench.submit(ContinueTurn())
        await bench.until("command.rejected")


async def test_a_fork_starts_without_the_messages_queued_in_its_parent(tmp_path: Path) -> None:
    begun = anyio.Event()

    async def hang() -> None:
        begun.set()
        await anyio.sleep_forever()

    async with running(tmp_path, [[hang]], session=PARENT) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await begun.wait()
        bench.submit(Queue(text="later"))
        queued = await bench.until("user.queued")
        sessions(tmp_path).fork(PARENT, queued.seq, "ses_fork")
    async with running(tmp_path, [say("One.")], session="ses_fork") as bench:
        await bench.until("agent.state_changed")
        assert not bench.model.requests
        assert bench.recorder.state.queue == ()
        (resumed,) = bench.of(RunResumed)
        assert resumed.clean, "nothing had gone wrong"


async def test_a_what_if_with_another_message_sends_only_that_message(tmp_path: Path) -> None:
    begun, go = anyio.Event(), anyio.Event()

    async def wait() -> None:
        begun.set()
        await go.wait()

    answers = [[wait, *say("One.")], say("Two.")]
    async with running(tmp_path, answers, session=PARENT) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await begun.wait()
        bench.submit(Queue(text="second task"))
        await bench.until("user.queued")
        go.set()
        await bench.until("turn.finished", 2)
        sent = place(bench.events, UserMessageReceived, 2)
        assert isinstance(sent.parent, int)
        sessions(tmp_path).fork(PARENT, sent.parent, "ses_fork", ForkChange(message="other words"))
    async with running(tmp_path, [say("Three."), say("Four.")], session="ses_fork") as bench:
        assert await gone_on(bench) == ["user: first", "agent: []", "user: other words"]
        await anyio.lowlevel.checkpoint()
        assert [one.text for one in bench.of(UserMessageReceived)] == ["other words"]
        assert bench.recorder.state.queue == ()


@pytest.mark.parametrize("before", [0, 1], ids=["at the message", "at the event before it"])
async def test_another_message_replaces_one_that_was_sent_while_a_command_ran(
    tmp_path: Path, before: int
) -> None:
    tool = HeldTool(writes=True)
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool], session=PARENT) as bench:
        bench.submit(SubmitPrompt(text="first"))
        await tool.started.wait()
        bench.submit(Steer(text="use tabs"))
        steered = await bench.until("user.steered")
        tool.go.set()
        await bench.until("turn.finished")
        change = ForkChange(message="use spaces")
        start = find_fork_start(bench.events, steered.seq - before, change)
        sessions(tmp_path).fork(PARENT, start.at_seq, "ses_fork", start.change)
    async with running(tmp_path, [say("I see.")], [EchoTool()], session="ses_fork") as bench:
        assert await gone_on(bench) == [
            "user: first",
            "agent: ['echo']",
            "result: Not run: the session was forked at this point",
            "user: use spaces",
        ]


@pytest.mark.slow
async def test_wherever_it_is_forked_the_history_is_legal_and_the_parent_stays_as_it_is(
    tmp_path: Path,
) -> None:
    events = await parent(tmp_path)
    log = tmp_path / "sessions" / PARENT
    before = {path: path.read_bytes() for path in log.rglob("*") if path.is_file() and path.name != "lock"}
    last = next(event.seq for event in events if isinstance(event.payload, TurnFinished))
    first = place(events, UserMessageReceived).seq
    calls = [event.payload.call_id for event in events if isinstance(event.payload, ToolStarted)]
    for seq in range(first, last):
        store = sessions(tmp_path)
        change = ForkChange(call_id=CallId(calls[seq % 2]), result="another")
        store.fork(PARENT, seq, f"ses_at{seq}", change)
        async with running(tmp_path, [say("I see.")], [EchoTool()], session=f"ses_at{seq}") as bench:
            answered = isinstance(bench.recorder.messages()[-1], AssistantMessage)
            if not answered:
                await gone_on(bench)
            assert faults_in(bench.recorder.messages()) == []
    assert {path: path.read_bytes() for path in before} == before


OTHER = "answers:\n  - text: Not asked.\n  - text: From the other one.\n"


async def first_turn(form: str, options: SessionOptions) -> list[Envelope]:
    async with opened(form, replace(options, session=PARENT)) as session:
        reading = Reading(session)
        session.submit(SubmitPrompt(text="read"))
        await reading.until(TurnFinished)
    return await reading.rest()


async def answers(session: Session, count: int) -> list[str]:
    """The words of the newest answers."""
    reading = Reading(session)
    session.submit(ContinueTurn())
    await reading.until(TurnFinished, count)
    found = [event.payload for event in reading.events if isinstance(event.payload, ModelResponded)]
    return [str(part.text) for one in found for part in one.parts if isinstance(part, TextPart)]


def store_of(options: SessionOptions) -> SessionStore:
    assert options.data_dir is not None
    return SessionStore(options.data_dir / "sessions", SystemClock(), Redactor())


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
async def test_a_fork_is_opened_with_its_own_model_effort_and_context_mode(
    form: str, options: SessionOptions, tmp_path: Path
) -> None:
    events = await first_turn(form, options)
    other = tmp_path / "other.yaml"
    other.write_text(OTHER)
    change = ForkChange(model=f"scripted:{other}", reasoning_effort="low", context_mode="memory")
    store_of(options).fork(PARENT, place(events, ToolFinished).seq, "ses_fork", change)
    again = replace(options, model=None, policy=None, session="ses_fork")
    async with opened(form, again) as session:
        assert (await answers(session, 2))[-1] == "From the other one."
        reading = Reading(session)
        await reading.until(SettingsChanged, 3)
        changed = {one.payload.key for one in reading.events if isinstance(one.payload, SettingsChanged)}
        assert changed == {"model", "context_mode", "policy"}  # a session opened again does not keep bypass
    async with opened(form, again) as session:
        reading = Reading(session)
        await reading.until(RunResumed, 2)
        assert len([one for one in reading.events if isinstance(one.payload, SettingsChanged)]) == 3


@pytest.mark.slow
async def test_a_forks_model_that_is_not_there_is_told_headless_and_another_one_named_wins(
    options: SessionOptions,
) -> None:
    events = await first_turn("local", options)
    store_of(options).fork(
        PARENT, place(events, ToolFinished).seq, "ses_fork", ForkChange(model="scripted:/no")
    )
    again = replace(options, session="ses_fork")
    with pytest.raises(ConfigError, match="/no"):
        async with opened("local", replace(again, model=None)):
            pass
    async with opened("local", again) as session:
        reading = Reading(session)
        await reading.until(RunResumed)
        assert not [one for one in reading.events if isinstance(one.payload, SettingsChanged)]


async def test_a_fork_of_long_ago_does_not_count_the_time_until_it_was_made(tmp_path: Path) -> None:
    events = await parent(tmp_path)
    started = place(events, ToolStarted)
    assert isinstance(started.payload, ToolStarted)
    change = ForkChange(call_id=started.payload.call_id, result="something else")
    later = SessionStore(tmp_path / "sessions", FakeClock(start=started.time + 90_000.0), Redactor())
    later.fork(PARENT, started.seq, "ses_fork", change)
    transcript, trace = Transcript(), Trace()
    async with running(tmp_path, (), (), session="ses_fork", serve=False):
        pass
    for event in later.read("ses_fork"):
        assert isinstance(event, Envelope)
        transcript.apply(event)
        trace.apply(event)
    rows = [entry for entry in transcript.view().entries if isinstance(entry, ToolEntry | TurnEntry)]
    assert len(rows) == 3
    assert all((row.duration_ms or 0.0) < 60_000 for row in rows)
    assert next(row.blocks for row in rows if isinstance(row, ToolEntry)) == (
        TextBlock(text="something else"),
    )
    assert all((span.end or span.start) - span.start < 60 for span in trace.view().spans)
