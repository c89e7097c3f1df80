"""What a move in time names, what it leaves as it is, and what it does where no files are kept."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.engine.harness import running, say
from tests.engine.test_rewind import files, go, said, shell, told, tools, turn, write
from tests.engine.test_rewind_records import kinds
from tui_agent.engine.checkpoints import revert_plan
from tui_agent.engine.checkpoints.revert_plan import plan_event as told_of
from tui_agent.ports.checkpoint import RestoreAction, RestorePlan, RestoreResult
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.events.files import (
    MAX_PATHS_IN_EVENT,
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    FileChanged,
)
from tui_agent.protocol.events.model import ModelFailed, ModelRequested
from tui_agent.protocol.events.session import CommandRejected, SessionHeadMoved, SessionTitled, WorkspaceMoved
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.store.file_ops import FileOps
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


@pytest.mark.parametrize("beyond", [-1, 0, 1, 3])
def test_a_plan_names_so_many_paths_and_counts_the_rest(beyond: int) -> None:
    acts = tuple(
        RestoreAction(f"f{number}", "write", 1, 2, "why") for number in range(MAX_PATHS_IN_EVENT + beyond)
    )
    plan = told_of(7, RestorePlan("source", "head", acts))
    assert (plan.to_seq, len(plan.changes), plan.unlisted_count) == (
        7,
        min(MAX_PATHS_IN_EVENT, len(acts)),
        max(0, beyond),
    )
    first = plan.changes[0]
    assert (first.path, first.operation, first.added, first.removed, first.conflict) == (
        "f0",
        "write",
        1,
        2,
        "why",
    )


async def test_a_move_over_many_files_names_so_many_and_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the command may take long, and the undo would then ask about its files.
    monkeypatch.setattr(revert_plan, "LONG_COMMAND_S", 60.0)
    count = MAX_PATHS_IN_EVENT + 2
    async with told(tmp_path, shell(f"for i in $(seq {count}); do echo x > f$i; done"), say("A.")) as bench:
        await turn(bench, "first")
        assert len(files(tmp_path)) == count
        intent, moved, restored = await kinds(bench, Undo())
        assert isinstance(intent, CheckpointRestoreStarted) and isinstance(restored, CheckpointRestored)
        assert (len(intent.paths), intent.unlisted_count) == (MAX_PATHS_IN_EVENT, 2)
        assert (len(restored.paths), restored.unlisted_count, restored.skipped_paths) == (
            MAX_PATHS_IN_EVENT,
            2,
            (),
        )
        assert isinstance(moved, SessionHeadMoved) and files(tmp_path) == {}


async def test_name_and_folder_stay_as_they_are_and_are_told_once(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        first = bench.recorder.state
        moved_to = str(tmp_path / "moved")
        bench.recorder.append(SessionTitled(title="A name", titled_by="user"))
        bench.recorder.append(WorkspaceMoved(workspace=moved_to, previous=first.workspace))
        found = await kinds(bench, Undo())
        assert [(one.title, one.titled_by) for one in found if isinstance(one, SessionTitled)] == [
            ("A name", "user")
        ]
        places = [one for one in found if isinstance(one, WorkspaceMoved)]
        assert [(one.workspace, one.previous) for one in places] == [(moved_to, first.workspace)]
        assert (bench.recorder.state.title, bench.recorder.state.workspace) == ("A name", moved_to)
        again = await kinds(bench, Redo())
        assert not [one for one in again if isinstance(one, SessionTitled) and one.title != "A name"]
        assert (bench.recorder.state.title, bench.recorder.state.workspace) == ("A name", moved_to)


async def test_where_nothing_changed_neither_name_nor_folder_is_told(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        # The first message takes the first checkpoint beside its turn: without this, it may end before or after the turn.
        await bench.engine._checkpointing.begin()
        await turn(bench, "first")
        found = await kinds(bench, Undo())
        assert [one.kind for one in found] == ["session.head_moved", "checkpoint.taken"]


async def test_without_checkpoints_the_conversation_goes_back_alone(tmp_path: Path) -> None:
    async with running(tmp_path, [say("A."), say("B.")]) as bench:
        await turn(bench, "first")
        bench.submit(PlanRevert(to_seq=0))
        plan = await bench.until_payload(CheckpointPlanned)
        assert plan.unavailable and plan.changes == ()
        (moved,) = await kinds(bench, Undo())
        assert isinstance(moved, SessionHeadMoved) and not moved.files
        assert said(bench) == []


async def test_files_that_are_as_they_were_are_neither_put_back_nor_told(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), say("B.")) as bench:
        await turn(bench, "first")
        at = bench.recorder.state.seq
        await turn(bench, "second")
        assert await kinds(bench, Revert(to_seq=at, conversation=False)) == []
        assert files(tmp_path) == {"a.txt": "one"}


async def test_files_alone_go_back_to_where_the_conversation_stays(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        at = bench.recorder.state.seq
        await turn(bench, "second")
        found = await kinds(bench, Revert(to_seq=at, conversation=False))
        assert [one.path for one in found if isinstance(one, FileChanged)] == ["b.txt"]
        (restored,) = (one for one in found if isinstance(one, CheckpointRestored))
        assert (restored.paths, restored.commit) == (("b.txt",), bench.recorder.state.commit)
        assert (files(tmp_path), said(bench)) == ({"a.txt": "one"}, ["first", "second"])
        moved = await kinds(bench, Undo())
        assert not [one for one in moved if isinstance(one, FileChanged)]


async def test_the_newest_event_can_be_gone_to_and_the_one_behind_it_cannot(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        last = bench.recorder.state.seq
        found = await kinds(bench, Revert(to_seq=last))
        assert [one.reason for one in found if isinstance(one, SessionHeadMoved)] == ["revert"]
        assert not [one for one in found if isinstance(one, TurnFinished | CommandRejected)]
        seq = bench.recorder.state.seq
        await go(bench, Revert(to_seq=seq + 3))
        assert len(bench.of(CommandRejected)) == 1


async def test_an_undo_where_nothing_was_said_is_refused_and_moves_nothing(tmp_path: Path) -> None:
    async with told(tmp_path) as bench:
        await go(bench, Undo())
        (refused,) = bench.of(CommandRejected)
        assert "Nothing to undo" in refused.reason
        assert not bench.of(SessionHeadMoved)


class Syncing(FileOps):
    """The real files; knows how much of the log is durable."""

    durable = 0

    def sync(self, fd: int) -> None:
        size, path = os.fstat(fd).st_size, Path(f"/proc/self/fd/{fd}").readlink()
        super().sync(fd)
        if path.name == "events.jsonl":
            self.durable = size


class Looking(GitCheckpoints):
    """Looks, before it puts a file back, at what of the log is durable."""

    look_at: Callable[[], bytes]

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        assert b'"checkpoint.restore_started"' in self.look_at()
        return await super().restore(plan, overwrite)


async def test_the_intent_is_durable_before_a_file_is_touched(tmp_path: Path) -> None:
    ops, log = Syncing(), tmp_path / "sessions" / "ses_test" / "events.jsonl"
    (tmp_path / "workspace").mkdir()
    store = Looking(tmp_path / "workspace", tmp_path / "checkpoints.git")
    store.look_at = lambda: log.read_bytes()[: ops.durable]
    answers = [write("a.txt", "one"), say("A.")]
    async with running(tmp_path, answers, tools(), checkpoints=store, ops=ops) as bench:
        await bench.until("agent.state_changed")
        await turn(bench, "first")
        await go(bench, Undo())
        assert files(tmp_path) == {}
        assert b'"checkpoint.restored"' in log.read_bytes()[: ops.durable]
        assert not bench.troubles


async def test_a_request_that_is_gone_back_into_is_over(tmp_path: Path) -> None:
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        asked = next(event for event in bench.events if isinstance(event.payload, ModelRequested))
        assert isinstance(asked.payload, ModelRequested)
        found = await kinds(bench, Revert(to_seq=asked.seq))
        over = [(one.request_id, one.fault) for one in found if isinstance(one, ModelFailed)]
        assert over == [(asked.payload.request_id, "cancelled")]
        assert not bench.recorder.state.turn_running
