"""Undo of turns whose background jobs still run or wrote files after the turn's end."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, call, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tui_agent.engine.checkpoints import revert_plan
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.log import OtherChange
from tui_agent.protocol.commands import Close, Interrupt, PlanRevert, Redo, Revert, RunUserShell, Undo
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, FileChanged
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.session.revert_preview import plan_revert
from tui_agent.store.log_reader import read_records
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits


@pytest.fixture(autouse=True)
def no_command_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the results of these tests not depend on the machine's speed."""
    monkeypatch.setattr(revert_plan, "LONG_COMMAND_S", 1_000.0)


@pytest.fixture
def every_command_is_long(no_command_is_long: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revert_plan, "LONG_COMMAND_S", 0.0)


def job(script: str) -> object:
    return call(("run_command", json.dumps({"command": script, "background": True})))


def no_others(workspace: str, since: float) -> Iterable[OtherChange]:
    return ()


def gated(tmp_path: Path, *scripts: str) -> str:
    """A command that stores its process id, and that runs each script once `open_gate` lets it, and then goes on."""
    (tmp_path / "workspace").mkdir(exist_ok=True)
    parts = []
    # Pipes for each script: who opened a pipe may still have it open when the next script waits.
    for number, script in enumerate(scripts):
        gate, end = tmp_path / f"gate{number}", tmp_path / f"end{number}"
        os.mkfifo(gate)
        os.mkfifo(end)
        parts.append(f"read -r line < {gate}; {script}; echo done > {end}")
    return f"echo $$ > {tmp_path / 'pid'}; echo up; {'; '.join(parts)}; sleep 1000"


async def open_gate(tmp_path: Path, number: int = 0) -> None:
    """Let the job run one of its scripts to the end."""
    await anyio.Path(tmp_path / f"gate{number}").write_text("on\n")
    await anyio.Path(tmp_path / f"end{number}").read_text()


async def runs(tmp_path: Path) -> bool:
    """Is the job's process there?"""
    return await anyio.Path(f"/proc/{(await anyio.Path(tmp_path / 'pid').read_text()).strip()}").exists()


async def plan(bench: Bench, to_seq: int) -> CheckpointPlanned:
    planned = bench.kinds().count("checkpoint.planned")
    await go(bench, PlanRevert(to_seq=to_seq))
    await bench.until("checkpoint.planned", planned + 1)
    return bench.of(CheckpointPlanned)[-1]


async def test_undo_stops_the_job_of_the_turn_and_takes_its_later_files_with_it(tmp_path: Path) -> None:
    script = gated(tmp_path, "mkdir out; for n in $(seq 250); do echo $n > out/$n; done")
    async with told(tmp_path, job(script), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        made = files(tmp_path)
        assert len(made) == 250 and await runs(tmp_path)
        await go(bench, Undo())
        assert files(tmp_path) == {} and not await runs(tmp_path)
        kinds = bench.kinds()
        assert kinds.index("job.finished") < kinds.index("session.head_moved")
        assert [(end.end, end.stopped_by) for end in bench.of(JobFinished)] == [("stopped", "rewind")]
        assert bench.of(SessionHeadMoved)[-1].stopped_jobs == (script,)
        changes = bench.of(FileChanged)
        assert {change.author for change in changes} == {"command"}
        assert {change.call_id for change in changes} == {bench.of(ToolCalled)[0].call_id}
        await go(bench, Redo())
        assert files(tmp_path) == made
        assert bench.recorder.state.jobs == ()


@pytest.mark.usefixtures("every_command_is_long")
async def test_the_preview_names_the_running_job_and_files_made_after_it_go_back_too(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo 1 > one; echo 2 > two", "echo 3 > three")
    async with told(tmp_path, job(script), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        planned = await plan(bench, bench.recorder.branches.undo_to or 0)
        assert planned.running_jobs == (script,) and await runs(tmp_path)
        assert [(change.path, change.uncertain) for change in planned.changes] == [
            ("one", True),
            ("two", True),
        ]
        assert planned.changes[0].conflict.startswith("changed while `echo $$")
        await open_gate(tmp_path, 1)
        await go(bench, Undo(overwrite=("one",)))
        assert files(tmp_path) == {"two": "2\n"}
        assert (await plan(bench, 1)).running_jobs == ()


async def test_a_file_that_the_user_may_have_changed_while_the_job_ran_stays(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo made > made")
    (tmp_path / "workspace" / "old").write_text("old\n")
    async with told(tmp_path, job(script), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        await anyio.Path(tmp_path / "workspace" / "old").write_text("mine\n")
        await go(bench, Undo())
        assert files(tmp_path) == {"old": "mine\n"}
        assert {change.path: change.author for change in bench.of(FileChanged)[:2]} == {
            "made": "command",
            "old": "human",
        }
        [reason] = bench.of(CheckpointRestored)[-1].skipped_reasons.values()
        assert reason.startswith("changed by you or another session, or by `echo $$")


async def test_a_file_that_the_job_changed_at_its_start_is_the_jobs_later_too(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo more >> old")
    (tmp_path / "workspace" / "old").write_text("old\n")
    async with told(tmp_path, job(f"echo begun >> old; {script}"), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        assert files(tmp_path) == {"old": "old\nbegun\nmore\n"}
        await go(bench, Undo())
        assert files(tmp_path) == {"old": "old\n"}


@pytest.mark.slow
async def test_what_a_command_of_the_user_made_while_the_job_ran_is_the_users(tmp_path: Path) -> None:
    async with told(tmp_path, job(gated(tmp_path, "echo made > made")), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        await go(bench, RunUserShell(command="echo mine > mine"))
        await go(bench, Undo())
        assert files(tmp_path) == {"mine": "mine\n"}
        authors = {change.path: change.author for change in bench.of(FileChanged)}
        assert authors == {"made": "command", "mine": "human"}


@pytest.mark.slow
async def test_what_a_stopped_command_of_the_user_made_while_the_job_ran_is_the_users(tmp_path: Path) -> None:
    async with told(tmp_path, job(gated(tmp_path, "echo made > made")), say("It builds.")) as bench:
        await turn(bench, "build")
        states = bench.kinds().count("agent.state_changed")
        bench.submit(RunUserShell(command="echo mine > mine; echo up; sleep 60"))
        await bench.until("user.shell_progress")
        bench.submit(Interrupt())
        await bench.until("agent.state_changed", states + 2)
        await open_gate(tmp_path)
        await go(bench, Undo())
        assert files(tmp_path) == {"mine": "mine\n"}
        authors = {change.path: change.author for change in bench.of(FileChanged)}
        assert authors == {"made": "command", "mine": "human"}


@pytest.mark.slow
async def test_what_the_user_makes_after_the_job_ended_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with told(tmp_path, job(f"read -r line < {gate}; echo made > made"), say("A.")) as bench:
        await turn(bench, "build")
        await anyio.Path(gate).write_text("on\n")
        await bench.until("checkpoint.taken", 2)
        assert [change.path for change in bench.of(FileChanged)] == ["made"]
        await anyio.Path(tmp_path / "workspace" / "made").write_text("mine\n")
        await anyio.Path(tmp_path / "workspace" / "user").write_text("mine\n")
        await go(bench, Undo())
        assert files(tmp_path) == {"made": "mine\n", "user": "mine\n"}


async def test_undo_of_a_later_turn_leaves_an_earlier_job_and_its_files_alone(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo 1 > one", "echo 2 > two")
    answers = [job(script), say("It builds."), write("a", "agent's"), write("b", "agent's"), say("Written.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "build")
        before = bench.recorder.state.seq
        await open_gate(tmp_path)
        await turn(bench, "write")
        await open_gate(tmp_path, 1)
        planned = await plan(bench, before)
        assert planned.running_jobs == ()
        assert await plan_revert(tmp_path / "sessions" / "ses_test", before, Limits(), no_others) == planned
        await go(bench, Undo())
        assert files(tmp_path) == {"one": "1\n", "two": "2\n"} and await runs(tmp_path)
        await go(bench, Redo())
        assert files(tmp_path) == {"a": "agent's", "b": "agent's", "one": "1\n", "two": "2\n"}
        await plan(bench, 1)
        await go(bench, Revert(to_seq=1))
        assert files(tmp_path) == {} and not await runs(tmp_path)


@pytest.mark.usefixtures("every_command_is_long")
async def test_without_a_preview_of_the_same_undo_files_that_can_be_the_users_stay(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo 1 > one", "echo 2 > two")
    async with told(tmp_path, say("Hello."), job(script), say("It builds.")) as bench:
        await turn(bench, "hello")
        await turn(bench, "build")
        await plan(bench, 1)
        await open_gate(tmp_path)
        await go(bench, Undo())
        assert files(tmp_path) == {"one": "1\n"} and not await runs(tmp_path)
        [reason] = bench.of(CheckpointRestored)[-1].skipped_reasons.values()
        assert reason.startswith("changed while `echo $$")


@pytest.mark.slow
@pytest.mark.usefixtures("every_command_is_long")
async def test_uncertain_files_that_a_preview_does_not_list_stay(tmp_path: Path) -> None:
    script = gated(tmp_path, "for n in $(seq 250); do echo $n > $n; done")
    async with told(tmp_path, job(script), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        planned = await plan(bench, bench.recorder.branches.undo_to or 0)
        assert (planned.unlisted_count, planned.unlisted_conflict_count) == (50, 50)
        await go(bench, Undo(overwrite=tuple(change.path for change in planned.changes)))
        assert len(files(tmp_path)) == 50


@pytest.mark.slow
async def test_a_file_that_jobs_of_two_turns_may_have_made_is_asked_about_before_the_newer_turn_is_undone(
    tmp_path: Path,
) -> None:
    answers = []
    for name in ("first", "second"):
        (tmp_path / name / "workspace").mkdir(parents=True)
        script = gated(tmp_path / name, f"echo made > {name}")
        answers += [job(script), say("It builds.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "build")
        await turn(bench, "build more")
        before = bench.recorder.branches.undo_to or 0
        await open_gate(tmp_path / "first")
        await open_gate(tmp_path / "second")
        planned = await plan(bench, before)
        assert [(change.path, change.uncertain) for change in planned.changes] == [
            ("first", True),
            ("second", True),
        ]
        assert planned.changes[0].conflict.startswith("changed while `echo $$")
        assert planned.changes[0].conflict.endswith("` and job-1 of an earlier turn ran")
        await go(bench, Undo(overwrite=("second",)))
        assert files(tmp_path) == {"first": "made\n"}
        assert await runs(tmp_path / "first") and not await runs(tmp_path / "second")
        assert [*bench.of(CheckpointRestored)[-1].skipped_reasons] == ["first"]
        await go(bench, Redo())
        await go(bench, Revert(to_seq=1))
        assert files(tmp_path) == {}, "an undo of both turns need not know which job made a file"


@pytest.mark.slow
async def test_files_of_an_earlier_job_stay_if_they_were_made_while_a_short_command_ran(
    tmp_path: Path,
) -> None:
    script = gated(tmp_path, "for n in $(seq 250); do echo $n > $n; done")
    open_it = f"echo on > {tmp_path / 'gate0'}; read -r line < {tmp_path / 'end0'}"
    async with told(tmp_path, job(script), say("It builds."), shell(open_it), say("Done.")) as bench:
        await turn(bench, "build")
        await turn(bench, "wait")
        made = files(tmp_path)
        assert len(made) == 250
        await go(bench, Undo())
        assert files(tmp_path) == made
        restored = bench.of(CheckpointRestored)[-1]
        assert restored.kept_count == 250 and {*restored.skipped_reasons.values()} == {
            f"changed while `{open_it[:39]}…` and job-1 of an earlier turn ran"
        }


async def test_files_of_a_job_that_ended_with_the_session_go_back_with_its_turn(tmp_path: Path) -> None:
    script = gated(tmp_path, "echo made > made")
    async with told(tmp_path, job(script), say("It builds.")) as bench:
        await turn(bench, "build")
        await open_gate(tmp_path)
        bench.submit(Close())
        await bench.until("checkpoint.taken", 2)
        assert [end.end for end in bench.of(JobFinished)] == ["session"]
    async with told(tmp_path) as bench:
        assert files(tmp_path) == {"made": "made\n"}
        await go(bench, Undo())
        assert files(tmp_path) == {}


async def test_an_undo_of_the_turn_that_stopped_a_job_tells_that_it_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    stop = call(("read_job_output", json.dumps({"job_id": "job-1", "stop": True})))
    async with told(tmp_path, job("sleep 1000"), say("It runs."), stop, say("Stopped.")) as bench:
        await turn(bench, "run")
        await turn(bench, "stop it")
    async with told(tmp_path, say("No.")) as bench:
        await go(bench, Undo())
        assert [(end.end, end.stopped_by) for end in bench.of(JobFinished)] == [("stopped", "")]
        branch = current_branch(read_records(bench.recorder._log.folder))
        notices = [entry for entry in fold(Transcript(), branch).entries if isinstance(entry, NoticeEntry)]
        assert notices[-1].lines == ("job-1 sleep 1000: stopped by the agent",)
        await turn(bench, "does it still run?")
        notes = [
            str(message) for message in bench.model.requests[-1].messages if "Background job" in str(message)
        ]
        assert len(notes) == 1 and "[Background job job-1 was stopped after " in notes[0]
