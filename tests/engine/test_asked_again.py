"""What was asked when the program was killed is asked anew: nothing runs without a fresh yes, and nothing runs twice."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.engine.harness import Bench, EchoTool, Words, allow, ask, call, running, say
from tests.stubs.strict_history import faults_in
from tui_agent.folds.projection import Projection, fold
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.transcript.entries import ToolEntry, ToolState
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.environment import Environment
from tui_agent.ports.policy import Decision
from tui_agent.ports.tool import Preview
from tui_agent.protocol.commands import (
    Close,
    Command,
    ContinueTurn,
    DecidePermission,
    Queue,
    Revert,
    RunUserShell,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.protocol.settings import Budgets
from tui_agent.store.log_reader import read_records

WHOLE: Final = "ses_whole"
ViewT = TypeVar("ViewT")
DENIED: Final = Decision("deny", "test.deny", "the test denies it")
LONG: Final = "long " * 20_000
"""Words that are kept outside the log's line."""


def three(first: str = "a") -> list[object]:
    """An answer of three calls, the middle two side by side; and one of a single call."""
    return [
        call(
            ("write", f'{{"words":"{first}"}}'),
            ("echo", '{"words":"b"}'),
            ("echo", '{"words":"c"}'),
            text="Three of them.",
        ),
        call(("write", '{"words":"d"}')),
        say("All done."),
    ]


def tools() -> list[EchoTool]:
    return [EchoTool(), EchoTool("write", safe=False, writes=True)]


def yes(bench: Bench) -> Callable[[Envelope], None]:
    """Answers every question with yes."""

    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            bench.submit(DecidePermission(request_id=event.payload.request_id, decision="allow"))

    return react


async def recorded(tmp_path: Path) -> list[bytes]:
    """The lines of a turn in which every call was asked about, and allowed."""
    async with running(tmp_path, three(), tools(), policy=ask, session=WHOLE) as bench:
        bench.on_event = yes(bench)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    return lines_of(tmp_path)


def lines_of(tmp_path: Path, session: str = WHOLE) -> list[bytes]:
    return (tmp_path / "sessions" / session / "events.jsonl").read_bytes().splitlines(keepends=True)


def cut(tmp_path: Path, lines: list[bytes], session: str) -> None:
    """A session that ends behind these lines."""
    folder = tmp_path / "sessions" / session
    if not folder.exists():
        shutil.copytree(tmp_path / "sessions" / WHOLE, folder)
    (folder / "events.jsonl").write_bytes(b"".join(lines))


async def asked(
    tmp_path: Path,
    answers: list[object] | None = None,
    session: str = WHOLE,
    budgets: Budgets | None = None,
) -> None:
    """A session that was killed while its first call was asked about."""
    answers = answers or three()
    async with running(tmp_path, answers, tools(), policy=ask, session=session, budgets=budgets) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        lines = lines_of(tmp_path, session)
    cut(tmp_path, lines, session)


def waits(tmp_path: Path, session: str) -> bool:
    """Whether the log ends while a call waits for the user."""
    return any(one.awaits_decision for one in whole(SessionState(), tmp_path, session).open_calls)


def whole(start: Projection[ViewT], tmp_path: Path, session: str) -> ViewT:
    return fold(start, read_records(tmp_path / "sessions" / session))


def starts(tmp_path: Path, session: str) -> Counter[str]:
    """How often each call was started, by its words."""
    events = [
        one.payload for one in read_records(tmp_path / "sessions" / session) if isinstance(one, Envelope)
    ]
    said = {
        part.call_id: str(part.arguments["words"])
        for event in events
        if isinstance(event, ModelResponded)
        for part in event.parts
        if isinstance(part, ToolCallPart)
    }
    return Counter(said[event.call_id] for event in events if isinstance(event, ToolStarted))


def legal(bench: Bench) -> None:
    for request in bench.model.requests:
        assert faults_in(request.messages) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_after_a_kill_at_any_event_a_yes_runs_what_waited_once_and_nothing_runs_twice(
    tmp_path: Path,
) -> None:
    lines, waited = await recorded(tmp_path), 0
    for end in range(1, len(lines) + 1):
        session = f"ses_cut{end}"
        cut(tmp_path, lines[:end], session)
        before, waiting = starts(tmp_path, session), waits(tmp_path, session)
        answered = sum(b'"model.responded"' in line for line in lines[:end])
        async with running(tmp_path, three()[answered:], tools(), policy=ask, session=session) as bench:
            state = bench.recorder.state
            assert bool(state.open_calls) == waiting and not state.turn_running, end
            assert not any(one.started for one in state.open_calls) and not state.open_requests, end
            assert starts(tmp_path, session) == before, end
            if not waiting:
                continue
            waited += 1
            left = len(state.open_calls)
            bench.on_event = yes(bench)
            bench.submit(ContinueTurn())
            await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
            assert bench.kinds().index("tool.started") > bench.kinds().index("permission.decided"), end
            assert bench.kinds().count("model.requested") == len(three()) - answered, end
            legal(bench)
            ran = starts(tmp_path, session)
        assert ran == Counter("abcd"), end
        assert left == len(ran - before) - (answered == 1), end
    assert waited >= 4


@pytest.mark.slow
async def test_a_kill_between_the_questions_changes_nothing(tmp_path: Path) -> None:
    await asked(tmp_path)
    async with running(tmp_path, [], tools(), policy=ask, session=WHOLE) as bench:
        bench.submit(ContinueTurn())
        await bench.until("permission.requested")
        lines = lines_of(tmp_path)
    for end in range(1, len(lines) + 1):
        session = f"ses_again{end}"
        cut(tmp_path, lines[:end], session)
        waiting = waits(tmp_path, session)
        async with running(tmp_path, three()[1:], tools(), policy=ask, session=session) as bench:
            assert len(bench.recorder.state.open_calls) == (3 if waiting else 0), end
            if waiting:
                bench.on_event = yes(bench)
                bench.submit(ContinueTurn())
                await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
                assert starts(tmp_path, session) == Counter("abcd"), end
        assert waiting == any(b'"permission.requested"' in line for line in lines[:end]), end


def rows(tmp_path: Path) -> list[ToolState]:
    entries = whole(Transcript(), tmp_path, WHOLE).entries
    return [entry.state for entry in entries if isinstance(entry, ToolEntry)]


async def test_in_the_last_turn_that_may_be_the_call_is_asked_about_again(tmp_path: Path) -> None:
    await asked(tmp_path, budgets=Budgets(max_turns=1))
    async with running(tmp_path, three()[1:], tools(), policy=ask, session=WHOLE) as bench:
        bench.on_event = yes(bench)
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", 2)
        bench.submit(SubmitPrompt(text="more"))
        rejected = await bench.until("command.rejected")
        assert "reached its limit of one turn" in rejected.payload.reason  # type: ignore[union-attr]
    assert starts(tmp_path, WHOLE) == Counter("abcd")


async def test_every_view_shows_the_call_as_waiting_again(tmp_path: Path) -> None:
    await asked(tmp_path)
    async with running(tmp_path, three()[1:], tools(), policy=ask, session=WHOLE) as bench:
        assert bench.recorder.state.permissions == () and not bench.of(ToolFinished)
        assert bench.recorder.state.last_turn_end == "interrupted"
        bench.submit(ContinueTurn())
        again = await bench.until_payload(PermissionRequested)
        state, approvals = bench.recorder.state, whole(Approvals(), tmp_path, WHOLE)
        assert approvals.permissions == state.permissions == (again,)
        assert rows(tmp_path) == ["waiting", "queued", "queued"]
        trace = whole(Trace(), tmp_path, WHOLE)
        spans = trace.spans
        first, second = (spans[root] for root in trace.roots)
        assert (first.state, second.state) == ("interrupted", "running")
        assert [spans[child].state for child in second.children] == ["waiting", "queued", "queued"]
        assert [spans[child].name for child in second.children] == ["echo a", "echo b", "echo c"]
        assert spans[second.children[0]].first_seq < second.first_seq
        bench.on_event = yes(bench)
        bench.submit(DecidePermission(request_id=again.request_id, decision="allow"))
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
        assert rows(tmp_path) == ["done"] * 4
        spans = whole(Trace(), tmp_path, WHOLE).spans
        assert [spans[child].state for child in spans[second.index].children[:3]] == ["done"] * 3
    assert whole(SessionState(), tmp_path, WHOLE).tool_calls == 4


async def test_the_question_is_that_of_today_with_the_digest_of_today(tmp_path: Path) -> None:
    class Looking(EchoTool):
        now = "as it was"

        async def preview(self, args: Words, env: Environment) -> Preview:
            return Preview((), content=self.now)

    async def question(bench: Bench) -> PermissionRequested:
        return await bench.until_payload(PermissionRequested)

    echo = Looking()
    async with running(tmp_path, [call(("echo", "{}"))], [echo], policy=ask, session=WHOLE) as bench:
        bench.submit(SubmitPrompt(text="go"))
        then = await question(bench)
        lines = lines_of(tmp_path)
    cut(tmp_path, lines, WHOLE)
    async with running(tmp_path, [], [echo], policy=ask, session=WHOLE) as bench:
        bench.submit(ContinueTurn())
        same = await question(bench)
        assert (same.digest, same.effects) == (then.digest, then.effects)
        assert same.request_id != then.request_id
        bench.submit(DecidePermission(request_id=then.request_id, decision="allow"))
        await bench.until("command.rejected")
    cut(tmp_path, lines, WHOLE)
    echo.now = "changed since"
    async with running(tmp_path, [], [echo], policy=ask, session=WHOLE) as bench:
        bench.submit(ContinueTurn())
        now = await question(bench)
        assert now.digest != then.digest
        bench.submit(DecidePermission(request_id=now.request_id, decision="allow"))
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
        (decided,) = bench.of(PermissionDecided)
        assert decided.digest == now.digest and len(echo.ran) == 1


async def test_a_policy_that_allows_by_now_does_not_stand_in_for_the_answer(tmp_path: Path) -> None:
    await asked(tmp_path)
    used = tools()
    async with running(tmp_path, three()[1:], used, policy=allow, session=WHOLE) as bench:
        bench.submit(ContinueTurn())
        question = await bench.until_payload(PermissionRequested)
        assert "before you answered" in question.reason
        assert question.why_unavailable("always") == "not needed: such calls are already allowed"
        assert used[1].ran == []
        bench.submit(DecidePermission(request_id=question.request_id, decision="deny"))
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
    assert used[1].ran == ["d"] and sorted(used[0].ran) == ["b", "c"]


async def test_a_policy_that_denies_by_now_is_heard(tmp_path: Path) -> None:
    def deny(tool: str, effects: object, facts: object) -> object:
        return DENIED

    await asked(tmp_path)
    used = tools()
    async with running(tmp_path, [say("Well.")], used, policy=deny, session=WHOLE) as bench:  # type: ignore[arg-type]
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
        legal(bench)
    assert not used[0].ran and not used[1].ran


@pytest.mark.parametrize(
    "command", [SubmitPrompt(text="Something else."), RunUserShell(command="true"), Undo()]
)
async def test_what_is_begun_instead_closes_the_calls_first(tmp_path: Path, command: Command) -> None:
    await asked(tmp_path)
    used = tools()
    async with running(tmp_path, [say("As you like.")], used, policy=ask, session=WHOLE) as bench:
        open_calls = bench.recorder.state.open_calls
        bench.submit(command)
        await bench.until("agent.state_changed", 3)  # idle, at work, and over
        closed = bench.of(ToolFinished)
        assert [one.call_id for one in closed[:3]] == [one.call_id for one in open_calls]
        assert {one.status for one in closed} == {"interrupted"} and {one.summary for one in closed} == {
            "not run"
        }
        kinds = bench.kinds()
        begins = {"user.message", "user_shell.started", "session.head_moved"}
        assert all(kinds.index("tool.finished") < at for at, kind in enumerate(kinds) if kind in begins)
        assert bench.recorder.state.open_calls == ()
        bench.submit(SubmitPrompt(text="Still there?"))
        await bench.until("model.requested")
        legal(bench)
    assert used[1].ran == []


@pytest.mark.slow
async def test_without_a_person_nothing_stays_open(tmp_path: Path) -> None:
    lines = await recorded(tmp_path)
    for end in range(1, len(lines) + 1):
        cut(tmp_path, lines[:end], f"ses_alone{end}")
        async with running(
            tmp_path, [], tools(), policy=ask, session=f"ses_alone{end}", interactive=False, serve=False
        ) as bench:
            assert bench.recorder.state.open_calls == () and faults_in(bench.recorder.messages()) == [], end


async def test_a_client_that_is_gone_leaves_the_question_and_one_that_leaves_does_not(tmp_path: Path) -> None:
    for reason, left in (("signal", 3), ("quit", 0)):
        session = f"ses_{reason}"
        async with running(tmp_path, three(), tools(), policy=ask, session=session) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("permission.requested")
            bench.submit(Close(reason=reason))  # type: ignore[arg-type]
            await bench.until("turn.finished")
            assert len(bench.recorder.state.open_calls) == left
            assert [one.reason for one in bench.of(TurnFinished)] == ["interrupted"]


@pytest.mark.parametrize("back_to", ["turn.started", "permission.decided", "tool.started"])
async def test_a_call_that_ran_after_a_kill_is_not_called_not_run_when_the_session_is_reverted(
    tmp_path: Path, back_to: str
) -> None:
    def is_over(bench: Bench, kind: str) -> bool:
        kinds = bench.kinds()
        return kind in kinds and kinds[-1] == "agent.state_changed"

    await asked(tmp_path, [call(("write", '{"words":"a"}')), say("Done.")])
    answers = [say("Done."), say("I see.")]
    async with running(tmp_path, answers, tools(), policy=ask, session=WHOLE) as bench:
        bench.on_event = yes(bench)
        bench.submit(ContinueTurn())
        await bench.until_so(lambda: is_over(bench, "iteration.finished"))
        seqs = [event.seq for event in bench.events if event.payload.kind == back_to]
        bench.submit(Revert(to_seq=seqs[-1] - (back_to == "turn.started"), files=False))
        await bench.until_so(lambda: is_over(bench, "session.head_moved"))
        assert bench.of(ToolFinished)[-1].summary == "ran, then undone"
        bench.submit(SubmitPrompt(text="Did it run?"))
        await bench.until_so(lambda: len(bench.model.requests) == 2)
        legal(bench)
        sent = str(bench.model.requests[-1].messages)
        assert "This call ran. The session was then reverted" in sent and "Not run" not in sent


async def test_queued_messages_wait_until_the_question_is_answered(tmp_path: Path) -> None:
    async with running(tmp_path, three(), tools(), policy=ask, session=WHOLE) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        bench.submit(Queue(text="then this"))
        await bench.until("user.queued")
        lines = lines_of(tmp_path)
    cut(tmp_path, lines, WHOLE)
    async with running(
        tmp_path, [*three()[1:], say("That too.")], tools(), policy=ask, session=WHOLE
    ) as bench:
        bench.submit(ContinueTurn())
        question = await bench.until_payload(PermissionRequested)
        assert len(bench.recorder.state.queue) == 1 and not bench.of(ToolStarted)
        bench.on_event = yes(bench)
        bench.submit(DecidePermission(request_id=question.request_id, decision="allow"))
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 2)
        begun = [one.is_continuation for one in bench.of(TurnStarted)]
        assert begun == [True, False] and not bench.recorder.state.queue
        legal(bench)


async def test_arguments_that_are_kept_elsewhere_come_back_whole(tmp_path: Path) -> None:
    used = tools()
    await asked(tmp_path, three(LONG))
    async with running(tmp_path, three()[1:], used, policy=ask, session=WHOLE) as bench:
        bench.on_event = yes(bench)
        bench.submit(ContinueTurn())
        await bench.until("turn.finished", bench.kinds().count("turn.finished") + 1)
    assert used[1].ran == [LONG, "d"]


async def test_a_call_with_a_secret_is_not_asked_about_again_since_the_log_does_not_hold_it(
    tmp_path: Path,
) -> None:
    await asked(tmp_path, three("password = hunter2Hunter2xyz9"))
    assert waits(tmp_path, WHOLE)
    async with running(tmp_path, [], tools(), policy=ask, session=WHOLE, serve=False) as bench:
        assert bench.recorder.state.open_calls == () and faults_in(bench.recorder.messages()) == []
        assert not bench.of(ToolCalled)
