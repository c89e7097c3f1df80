"""A session taken up after a crash at any event: closed, legal, and ready for the next turn."""

import json
import shutil
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, HeldTool, ask, call, running, say
from tests.stubs.golden import golden
from tests.stubs.legal_history import check_pairs
from tests.stubs.store import said, store
from tests.stubs.tool_context import tools_of
from tui_agent.models.pricing import cost
from tui_agent.protocol.commands import Queue, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import LogRepaired, RunResumed
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.session.resume import UnfinishedHistory
from tui_agent.store.log_reader import read_records


async def _recorded(tmp_path: Path) -> list[bytes]:
    """The lines of a run with two turns, tools side by side, and a queued message."""
    tool = HeldTool()
    answers = [
        call(("echo", '{"words":"a"}'), ("echo", '{"words":"b"}'), text="Two at once."),
        call(("write", '{"words":"c"}')),
        say("First done."),
        say("Second done."),
    ]
    tools = [tool, EchoTool("write", safe=False, writes=True)]
    async with running(tmp_path, answers, tools, session="ses_whole") as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(Queue(text="then this"))
        await bench.until("user.queued")
        tool.go.set()
        await bench.until("turn.finished", 2)
    return (tmp_path / "sessions" / "ses_whole" / "events.jsonl").read_bytes().splitlines(keepends=True)


@pytest.mark.slow
async def test_after_a_crash_at_any_event_the_history_is_legal_and_the_next_turn_runs(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path)
    for cut in range(1, len(lines) + 1):
        folder = tmp_path / "sessions" / f"ses_cut{cut}"
        shutil.copytree(tmp_path / "sessions" / "ses_whole", folder)
        (folder / "events.jsonl").write_bytes(b"".join(lines[:cut]))
        async with running(tmp_path, [], session=f"ses_cut{cut}", serve=False) as bench:
            state = bench.recorder.state
            assert check_pairs(bench.recorder.messages()) == [], cut
            assert state.open_calls == () and state.open_requests == () and not state.turn_running, cut


async def test_a_call_that_ran_at_the_crash_is_lost_and_one_that_had_not_begun_is_interrupted(
    tmp_path: Path,
) -> None:
    lines = await _recorded(tmp_path)
    start = next(i for i, line in enumerate(lines) if b'"tool.started"' in line)
    folder = tmp_path / "sessions" / "ses_whole"
    (folder / "events.jsonl").write_bytes(b"".join(lines[: start + 1]))
    async with running(tmp_path, [], session="ses_whole", serve=False) as bench:
        closed = bench.of(ToolFinished)
        (resumed,) = bench.of(RunResumed)
    assert sorted(event.status for event in closed) == ["interrupted", "lost"]
    assert all(event.part is None for event in closed)
    assert not resumed.clean and resumed.closed_calls == 2


async def test_a_lost_call_is_never_run_again_by_itself(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path)
    starts = [i for i, line in enumerate(lines) if b'"tool.started"' in line]
    folder = tmp_path / "sessions" / "ses_whole"
    (folder / "events.jsonl").write_bytes(b"".join(lines[: starts[-1] + 1]))
    write = EchoTool("write", safe=False, writes=True)
    async with running(
        tmp_path, [say("I look first."), say("Queued.")], [write], session="ses_whole"
    ) as bench:
        bench.submit(SubmitPrompt(text="what happened?"))
        await bench.until("turn.finished", 2)
        first = bench.model.requests[0].messages
    assert write.ran == [] and not bench.of(ToolStarted)
    assert "effects are unknown" in str(first)


async def test_a_request_that_a_crash_interrupted_has_an_estimated_cost(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path)
    delta = max(i for i, line in enumerate(lines) if b'"model.delta"' in line)
    folder = tmp_path / "sessions" / "ses_whole"
    (folder / "events.jsonl").write_bytes(b"".join(lines[: delta + 1]))
    requested = [json.loads(line)["payload"] for line in lines[:delta] if b'"model.requested"' in line][-1]
    async with running(tmp_path, [], session="ses_whole", serve=False) as bench:
        (failed,) = bench.of(ModelFailed)
        used = bench.recorder.state.totals
    assert failed.request_id == requested["request_id"] and failed.partial == "Second done."
    sent = requested["estimated_tokens"]
    assert failed.usage == Usage(input_tokens=sent, output_tokens=len("Second done.") // 4, estimated=True)
    assert failed.cost_usd == cost(ModelInfo(**requested["model"]), failed.usage)
    assert used.input_tokens >= sent > 0


@pytest.mark.parametrize("torn", [b'{"v":2,"seq"', b"\x00" * 64])
async def test_a_torn_tail_is_repaired_reported_and_the_session_goes_on(tmp_path: Path, torn: bytes) -> None:
    lines = await _recorded(tmp_path)
    path = tmp_path / "sessions" / "ses_whole" / "events.jsonl"
    path.write_bytes(b"".join(lines) + torn)
    async with running(tmp_path, [say("Here.")], session="ses_whole") as bench:
        bench.submit(SubmitPrompt(text="still there?"))
        await bench.until("turn.finished")
    assert "log.repaired" in bench.kinds()


async def test_a_log_that_is_removed_in_a_turn_is_written_anew_and_the_turn_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "ses_test"

    async def remove(words: str) -> None:
        shutil.rmtree(folder)

    answers = [call(("echo", '{"words":"a"}')), say("Done.")]
    async with running(tmp_path, answers, [EchoTool(before=remove)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (repaired,) = bench.of(LogRepaired)
        assert repaired.rewritten
        kinds = [event.payload.kind for event in read_records(folder) if isinstance(event, Envelope)]
    assert kinds[0] == "session.started" and "turn.finished" in kinds
    assert kinds.count("user.message") == 1


@pytest.mark.parametrize("interactive", [True, False])
async def test_a_question_that_was_open_at_the_crash_is_void_and_its_call_waits_for_a_person_only(
    tmp_path: Path, interactive: bool
) -> None:
    echo = EchoTool()
    async with running(tmp_path, [call(("echo", "{}"))], [echo], policy=ask, session="ses_ask") as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        path = tmp_path / "sessions" / "ses_ask" / "events.jsonl"
        asked = path.read_bytes()
    path.write_bytes(asked)
    async with running(tmp_path, [], session="ses_ask", serve=False, interactive=interactive) as bench:
        state = bench.recorder.state
        assert state.permissions == () and not state.turn_running
        assert [call.awaits_decision for call in state.open_calls] == ([True] if interactive else [])
        assert len(check_pairs(bench.recorder.messages())) == interactive
    assert echo.ran == []


def test_no_more_of_a_history_is_held_than_its_unfinished_end() -> None:
    records = golden("night_shift")
    past = UnfinishedHistory()
    assert list(past.track(records)) == records and not past.is_empty
    ends = [at for at, record in enumerate(records) if isinstance(record.payload, TurnFinished)]  # type: ignore[union-attr]
    assert past.records == records[ends[-1] :]


async def test_following_from_a_run_on_leaves_the_history_before_it_unread(tmp_path: Path) -> None:
    await _recorded(tmp_path)
    log = store(tmp_path).open("ses_whole")
    assert log.previous_last_seq == log.last_seq >= 0
    log.append(said("new"))
    (log.folder / "events.jsonl").write_bytes(b"")  # nothing of it is read again
    batch = await log.follow(log.previous_last_seq).next_batch()
    assert [record.seq for record in batch] == [log.previous_last_seq + 1]
    log.close()


async def test_todos_with_their_ids_and_states_are_there_after_a_restart(tmp_path: Path) -> None:
    todos = [{"content": "Read it", "status": "completed"}, {"content": "Fix it", "status": "in_progress"}]
    script = [call(("write_todos", json.dumps({"todos": todos}))), say("Later.")]
    async with running(tmp_path, script, list(tools_of("todo").values())) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    async with running(tmp_path, []) as bench:
        assert [(item.id, item.content, item.status) for item in bench.recorder.state.todo] == [
            ("1", "Read it", "completed"),
            ("2", "Fix it", "in_progress"),
        ]
        assert bench.recorder.state.subtask == "Fix it"
