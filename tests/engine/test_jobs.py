"""Background jobs: they go on after their call, and end by themselves, by a wish, or with the session."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.harness import Bench, QuickClock, call, running, say
from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tests.stubs.tool_context import tools_of
from tui_agent.engine.tools import jobs
from tui_agent.engine.tools.jobs import MAX_JOBS, MAX_KEPT_BYTES, NO_NETWORK
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.jobs import OUTPUT_TAIL_CHARS, Jobs
from tui_agent.folds.transcript.entries import NoticeEntry, ToolEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.protocol.commands import Close, Redo, Revert, StopJob, SubmitPrompt
from tui_agent.protocol.events.job import JobFinished, JobProgress
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import JobId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.workspace.local.environment import LocalEnvironment

SERVER = "echo listening on 8000; sleep 1000"
ENDLESS = "echo up; sleep 1000"
"""Its call is over with its first words: of a silent one they are waited for."""


def job(command: str) -> list[Any]:
    return call(("run_command", json.dumps({"command": command, "background": True})))


def read(job_id: str = "job-1", wait: float = 0) -> list[Any]:
    return call(("read_job_output", json.dumps({"job_id": job_id, "wait": wait})))


def stop(job_id: str = "job-1") -> list[Any]:
    return call(("read_job_output", json.dumps({"job_id": job_id, "stop": True})))


def told(bench: Bench) -> list[str]:
    """What the model was told by each call."""
    ends = bench.of(ToolFinished)
    return [piece.text for end in ends for piece in end.content if isinstance(piece, TextContent)]  # type: ignore[misc]


def serving(tmp_path: Path, *answers: object, **more: Any) -> Any:
    tools = list(tools_of("shell").values())
    return running(tmp_path, [*answers, say("done")], tools, **more)


async def turn(bench: Bench, count: int = 1) -> None:
    bench.submit(SubmitPrompt(text="go"))
    await bench.until("turn.finished", count)


def ends(bench: Bench) -> Sequence[JobFinished]:
    return bench.of(JobFinished)


async def test_a_job_goes_on_after_its_call_and_is_read_on(tmp_path: Path) -> None:
    command = "echo up; read -r line < gate; echo $line; read -r line < shut"
    (tmp_path / "workspace").mkdir()
    gate = tmp_path / "workspace" / "gate"
    os.mkfifo(gate)
    os.mkfifo(gate.with_name("shut"))  # of its own: who opened the gate may still have it open
    async with serving(tmp_path, job(command), say("up"), read(), read(), stop()) as bench:
        await turn(bench)
        assert "job-1 has been running in the background" in told(bench)[0] and "up" in told(bench)[0]
        assert [one.job_id for one in bench.recorder.state.jobs] == ["job-1"]
        await bench.until("job.progress")  # else both pieces may be recorded as one
        await anyio.Path(gate).write_text("served\n")
        await bench.until("job.progress", 2)
        await turn(bench, 2)
        assert "served" in told(bench)[1] and "up\n" not in told(bench)[1]
        assert "no new output" in told(bench)[2]
        assert "job-1 was stopped" in told(bench)[3]
        assert [(end.end, end.stopped_by) for end in ends(bench)] == [("stopped", "agent")]
        assert bench.recorder.state.jobs == ()


async def test_read_job_output_is_offered_from_the_first_background_job_on(tmp_path: Path) -> None:
    async with serving(tmp_path, job(ENDLESS), say("up"), stop()) as bench:
        await turn(bench)
        await turn(bench, 2)
        offered = [[tool.name for tool in request.tools] for request in bench.model.requests]
    without = ["run_command", "run_tests"]
    assert offered == [without, *[["run_command", "read_job_output", "run_tests"]] * 3]
    assert "read_job_output reads more or stops it" in told(bench)[0]


async def test_a_job_that_ends_by_itself_says_how(tmp_path: Path) -> None:
    async with serving(tmp_path, job("echo up; sleep 0.6; exit 3"), read(wait=10)) as bench:
        await turn(bench)
        await bench.until("job.finished")
        assert "ended by itself" in told(bench)[1] and "exit 3" in told(bench)[1]
        assert [(end.end, end.exit_code) for end in ends(bench)] == [("exited", 3)]


@pytest.fixture
def waits_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs more than a second for the first output."""
    monkeypatch.setattr(jobs, "FIRST_OUTPUT_WAIT_S", 30.0)


@pytest.mark.usefixtures("waits_long")
async def test_the_result_of_a_job_that_fails_at_once_names_the_failure_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FAILURE_WAIT_S", 30.0)
    async with serving(tmp_path, job("echo port taken; sleep 0.1; exit 3")) as bench:
        await turn(bench)
        [end] = bench.of(ToolFinished)
        assert re.fullmatch(r"\[job-1 ended by itself after .+, exit 3\]\nport taken\n?", told(bench)[0])
        assert (end.status, end.summary) == ("failed", "job-1, exit 3")
        assert notes(bench) == []
        entries = fold(Transcript(), bench.events).entries
        assert [entry.outcome for entry in entries if isinstance(entry, ToolEntry)] == ["job-1, exit 3"]
        assert [entry for entry in entries if isinstance(entry, NoticeEntry) and entry.kind == "job"] == []


def notes(bench: Bench, request: int = -1) -> list[str]:
    """What a request told the model of jobs that had ended."""
    said = [
        piece.text
        for message in bench.model.requests[request].messages
        if isinstance(message, UserMessage)
        for piece in message.content
        if isinstance(piece, TextContent)
    ]
    return [text for text in said if isinstance(text, str) and text.startswith("[Background job")]


async def test_the_model_learns_with_its_next_request_that_a_job_has_ended(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    gate = tmp_path / "workspace" / "gate"
    os.mkfifo(gate)
    async with serving(tmp_path, job("read -r line < gate; echo $line; exit 3"), say("up")) as bench:
        await turn(bench)
        assert notes(bench) == []
        await anyio.Path(gate).write_text("served\n")
        await bench.until("job.finished")
        await turn(bench, 2)
        [note] = notes(bench)
        assert note.startswith("[Background job job-1 ended by itself") and note.endswith(
            ", exit 3; 7 B printed.]"
        )
        assert bench.model.requests[-1].messages[-1].content == (TextContent(text="go"),)


async def test_the_model_is_not_told_twice_of_an_end_that_a_call_told(tmp_path: Path) -> None:
    async with serving(tmp_path, job("exit 3"), job("sleep 1000"), stop("job-2")) as bench:
        await turn(bench)
        await bench.until("job.finished", 2)
        await turn(bench, 2)
        assert notes(bench) == []


async def test_a_command_that_is_not_there_fails_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path, job("no-such-program --serve")) as bench:
        await turn(bench)
        finished = bench.of(ToolFinished)[0]
        assert finished.status == "failed"
        assert [end.end for end in ends(bench)] == ["failed"]


async def test_the_user_ends_one_job_and_then_all(tmp_path: Path) -> None:
    three = [job(ENDLESS) for _ in range(3)]
    async with serving(tmp_path, *three) as bench:
        await turn(bench)
        bench.submit(StopJob(job_id=JobId("job-2")))
        await bench.until("job.finished")
        bench.submit(StopJob(job_id=JobId("job-2")))
        rejected = await bench.until("command.rejected")
        assert "job-2 has ended" in rejected.payload.reason  # type: ignore[union-attr]
        bench.submit(StopJob())
        await bench.until("job.finished", 3)
        assert {(end.job_id, end.stopped_by) for end in ends(bench)} == {
            (f"job-{n}", "user") for n in (1, 2, 3)
        }


async def test_there_are_only_so_many_jobs_at_a_time(tmp_path: Path) -> None:
    many = [job(ENDLESS) for _ in range(MAX_JOBS + 1)]
    async with serving(tmp_path, *many) as bench:
        await turn(bench)
        assert "The limit" in told(bench)[MAX_JOBS] and "job-1" in told(bench)[MAX_JOBS]
        assert len(bench.recorder.state.jobs) == MAX_JOBS


async def test_jobs_end_with_the_session(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with serving(tmp_path, job(f"setsid sleep 1000 & echo $! > {pid}; echo begun; wait")) as bench:
        await turn(bench)
        bench.submit(Close())
        await bench.until("job.finished")
        assert [end.end for end in ends(bench)] == ["session"]
    assert not await anyio.Path(f"/proc/{(await anyio.Path(pid).read_text()).strip()}").exists()


async def test_a_job_that_a_crash_took_is_told_as_lost(tmp_path: Path) -> None:
    async with serving(tmp_path, job("sleep 1000")) as bench:
        await turn(bench)
    log = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    kept = next(at for at, line in enumerate(lines) if b'"kind":"job.finished"' in line)
    log.write_bytes(b"".join(lines[:kept]))  # as if the process had ended there
    async with serving(tmp_path, serve=False) as bench:
        assert [end.end for end in ends(bench)] == ["lost"]
        assert bench.recorder.state.jobs == ()


async def test_a_fork_says_that_the_job_runs_only_in_its_parent(tmp_path: Path) -> None:
    async with serving(tmp_path, job(ENDLESS), say("up"), session="ses_parent") as bench:
        await turn(bench)
        store = SessionStore(tmp_path / "sessions", QuickClock(), Redactor())
        store.fork("ses_parent", bench.recorder.state.seq, "ses_fork")
        async with serving(tmp_path, session="ses_fork") as fork:
            assert [end.end for end in ends(fork)] == ["forked"]
            await turn(fork)
            assert notes(fork) == ["[Background job job-1 does not run in this fork of the session.]"]
        assert ends(bench) == []


async def test_going_back_to_before_a_job_ends_it(tmp_path: Path) -> None:
    async with serving(tmp_path, say("hello"), job(ENDLESS)) as bench:
        await turn(bench)
        before = bench.events[-1].seq
        await turn(bench, 2)
        await revert(bench, before)
        assert bench.of(SessionHeadMoved)[0].stopped_jobs == (ENDLESS,)
        assert [(end.end, end.stopped_by) for end in ends(bench)] == [("stopped", "rewind")]
        bench.submit(Redo())
        await bench.until_payload(SessionHeadMoved, 2)
        view = fold(Jobs(), current_branch(bench.events))
        assert [job.outcome for job in view.jobs] == ["stopped by undo"] and view.running == 0
        assert bench.recorder.state.jobs == ()


async def test_the_model_is_not_told_of_a_job_whose_turn_was_undone_and_its_id_is_not_given_again(
    tmp_path: Path,
) -> None:
    answers = [say("hello"), job(ENDLESS), say("up"), job(ENDLESS), say("up again")]
    async with serving(tmp_path, *answers) as bench:
        await turn(bench)
        before = bench.events[-1].seq
        await turn(bench, 2)
        await revert(bench, before)
        await turn(bench, 3)
        assert notes(bench) == []
        assert "job-2 has been running" in told(bench)[-1]
        await revert(bench, before)
    async with serving(tmp_path, job(ENDLESS)) as bench:  # another run of the program
        await turn(bench)
        assert "job-3 has been running" in told(bench)[-1]


async def revert(bench: Bench, to_seq: int) -> None:
    """Revert the conversation only, and wait until the session is idle again."""
    moves, changes = (bench.kinds().count(kind) for kind in ("session.head_moved", "agent.state_changed"))
    bench.submit(Revert(to_seq=to_seq, files=False))
    await bench.until("session.head_moved", moves + 1)
    await bench.until("agent.state_changed", changes + 2)


@pytest.mark.slow
async def test_a_job_that_prints_without_end_fills_neither_memory_nor_log(tmp_path: Path) -> None:
    size = 60_000_000
    async with serving(tmp_path, job(f"yes 0123456789 | head -c {size}; echo; echo the end")) as bench:
        await turn(bench)
        await bench.until("job.finished")
        end = ends(bench)[0]
        recorded = sum(len(one.text) for one in bench.of(JobProgress))
    assert end.size == size + 9 and end.dropped_bytes == end.size - MAX_KEPT_BYTES
    assert isinstance(end.output, BlobText) and end.output.size == MAX_KEPT_BYTES
    assert recorded < 200_000
    folder = tmp_path / "sessions" / "ses_test"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 2_500_000
    view = fold(Jobs(), bench.events).jobs[0]
    assert view.size == end.size and len(view.output) <= 2 * OUTPUT_TAIL_CHARS


async def test_what_a_missed_reading_lost_is_said(tmp_path: Path) -> None:
    async with serving(
        tmp_path, job("sleep 0.2; yes 0123456789 | head -c 3000000"), read(wait=10), say("x"), read()
    ) as bench:
        await turn(bench)
        await bench.until("job.finished")
        await turn(bench, 2)
        assert any("was not kept" in said for said in told(bench))


@pytest.mark.parametrize("stop", [False, True])
async def test_a_job_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, stop: bool) -> None:
    asked = call(("read_job_output", json.dumps({"job_id": "job-9", "stop": stop})))
    async with serving(tmp_path, job(ENDLESS), asked) as bench:
        await turn(bench)
        assert "There is no job job-9" in told(bench)[1] and "job-1" in told(bench)[1]


class Remarking(LocalEnvironment):
    """A sandbox that keeps a file from every command, and has a word on its output."""

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        result = await super().exec(spec, on_output)
        return replace(result, emptied_secrets=(".env",), notes=("git sees the covered file as changed.",))


async def test_a_job_tells_what_the_sandbox_kept_from_it_and_what_its_output_shows_otherwise(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, job("cat .env 2> /dev/null"), read(wait=20), read(), env=Remarking) as bench:
        await turn(bench)
        (end,) = ends(bench)
        for said in (".env may hold secrets, so it appeared empty", "git sees the covered file as changed."):
            assert f"The sandbox: {said}" in end.message
            assert said in told(bench)[-1]


@pytest.mark.usefixtures("waits_long")
async def test_a_server_without_network_says_at_first_that_nothing_can_connect_to_it(tmp_path: Path) -> None:
    require_sandbox()
    with elsewhere() as base:

        def confined(root: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        async with serving(base, job(SERVER), read(), job(ENDLESS), env=confined) as bench:
            await turn(bench)
            first, later, no_server = told(bench)
            assert first.endswith(f"8000\n[{NO_NETWORK}]")
            assert NO_NETWORK not in later and NO_NETWORK not in no_server
    async with serving(tmp_path, job(SERVER)) as bench:
        await turn(bench)
        assert NO_NETWORK not in told(bench)[0]
