"""A store of checkpoints that fails or is damaged while the engine runs: told once, never in the way, taken up again."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import QuickClock, call, running, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tests.stubs.checkpoints import workspace
from tests.stubs.tool_context import tools_of
from tui_agent.engine.checkpoints.checkpoint_recorder import CheckpointMaintenance
from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import Baseline, RestorePlan, RestoreResult, WorkspaceChanges
from tui_agent.protocol.commands import Close, Revert, SubmitPrompt, Undo
from tui_agent.protocol.events.files import Author, CheckpointTaken
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


def store_of(tmp_path: Path) -> Path:
    return next((tmp_path / "sessions").glob("**/checkpoints.git"))


@pytest.mark.slow
async def test_a_store_that_is_gone_in_mid_session_is_said_and_begun_anew(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        lost = bench.recorder.branches.undo_to
        assert lost is not None
        shutil.rmtree(store_of(tmp_path))
        await turn(bench, "second")
        errors = bench.of(ErrorRaised)
        assert ["cannot be restored" in error.message for error in errors] == [True]
        assert files(tmp_path) == {"a.txt": "one", "b.txt": "two"}
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "one"}
        before = bench.recorder.branches.moves
        bench.submit(Revert(to_seq=lost))
        await bench.until("command.rejected")
        rejected = bench.of(CommandRejected)
        assert "not in the store" in rejected[0].reason
        assert "without the files" in rejected[0].hint
        assert files(tmp_path) == {"a.txt": "one"}
        assert bench.recorder.branches.moves == before


@pytest.mark.slow_variants
@pytest.mark.parametrize("command", [False, True])
async def test_what_changed_while_nothing_could_be_kept_is_kept_afterwards(
    tmp_path: Path, command: bool
) -> None:
    second = shell("echo -n two > b.txt") if command else write("b.txt", "two")
    answers = [write("a.txt", "one"), say("A."), second, say("B."), write("c.txt", "three"), say("C.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        first = bench.recorder.state.seq
        store = store_of(tmp_path)
        aside = store.rename(store.with_name("aside"))
        store.write_text("in the way")
        await turn(bench, "second")
        (tmp_path / "workspace" / "mine.txt").write_text("mine")
        assert files(tmp_path) == {"a.txt": "one", "b.txt": "two", "mine.txt": "mine"}
        errors = bench.of(ErrorRaised)
        assert ["could not be used" in error.message for error in errors] == [True]
        assert "not changed" not in errors[0].hint  # the turn changed a file
        store.unlink()
        aside.rename(store)
        await turn(bench, "third")
        taken = bench.of(CheckpointTaken)
        assert taken[2].author == ("command" if command else "agent")
        assert "b.txt" in taken[2].paths
        await go(bench, Revert(to_seq=first))
        assert files(tmp_path) == {"a.txt": "one", **({} if command else {"mine.txt": "mine"})}
        await go(bench, Undo())
    assert len(bench.of(ErrorRaised)) == 1


async def test_a_home_folder_is_refused_and_the_reason_is_seen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "workspace"))
    answers = [write("a.txt", "one"), write("b.txt", "two"), say("Done.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "go")
        errors = bench.of(ErrorRaised)
        assert ["is your home folder" in error.message for error in errors] == [True]
        assert "/undo" in errors[0].hint
    assert files(tmp_path) == {"a.txt": "one", "b.txt": "two"}
    assert not list((tmp_path / "sessions").glob("**/checkpoints.git"))


async def test_a_turn_that_is_stopped_while_the_first_checkpoint_is_taken_keeps_them_usable(
    tmp_path: Path,
) -> None:
    answers = [write("a.txt", "one"), say("A."), write("b.txt", "two"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        assert not bench.of(ErrorRaised)


class FullStore(GitCheckpoints):
    """A store that opens and looks, but cannot keep anything while its disk is full."""

    full = False

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        if self.full:
            raise CheckpointError("No space left on device.", hint="Check the disk's free space.")
        return await super().commit(changes, part=part, author=author, message=message)


@pytest.mark.slow
async def test_a_disk_that_stays_full_is_told_once_and_an_undo_says_that_it_did_nothing(
    tmp_path: Path,
) -> None:
    store = FullStore(workspace(tmp_path), tmp_path / "checkpoints.git")
    answers = [each for name in "abcde" for each in (write(f"{name}.txt", name), say(f"{name}."))]
    async with told(tmp_path, *answers, store=store) as bench:
        await turn(bench, "first")
        store.full = True
        await turn(bench, "second")
        await turn(bench, "third")
        assert [error.message for error in bench.of(ErrorRaised)] == ["No space left on device."]
        bench.submit(Undo())
        await bench.until("command.rejected")
        (rejected,) = bench.of(CommandRejected)
        assert rejected.hint == "Check the disk's free space. Nothing was changed."
        assert files(tmp_path).keys() >= {"a.txt", "b.txt", "c.txt"}
        store.full = False
        await turn(bench, "fourth")
        store.full = True
        await turn(bench, "fifth")
        assert len(bench.of(ErrorRaised)) == 2


class SlowStore:
    """A store whose upkeep lasts until it is ended; everything else is at once."""

    unavailable_reason = ""
    head = "c" * 40

    def __init__(self, *, fails: bool = False) -> None:
        self.log: list[str] = []
        self.fails = fails

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        return None if known else Baseline(self.head, ())

    def take_notices(self) -> tuple[str, ...]:
        return ()

    async def find_changes(
        self, paths: Sequence[str] | None = None, *, extra_paths: Sequence[str] = ()
    ) -> WorkspaceChanges:
        return WorkspaceChanges((), ())

    async def changed_after(self, paths: Sequence[str], since: float) -> frozenset[str]:
        return frozenset()

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        return self.head

    async def plan_restore(
        self, source: str, named_paths: Sequence[str] = (), kept_changes: Sequence[tuple[str, str]] = ()
    ) -> RestorePlan:
        return RestorePlan(source, self.head, ())

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        return RestoreResult(self.head, (), ())

    async def run_maintenance(self) -> bool:
        self.log.append("begins")
        if self.fails:
            raise CheckpointError("No space left on device.")
        try:
            await anyio.sleep_forever()
        finally:
            self.log.append("ends")
        return True

    async def aclose(self) -> None:
        self.log.append("closed")


async def test_upkeep_begins_when_nothing_runs_and_ends_at_once_when_something_does() -> None:
    store = SlowStore()
    upkeep = CheckpointMaintenance(store, anyio.Lock(), QuickClock(), lambda fault: None)
    async with anyio.create_task_group() as group:
        group.start_soon(upkeep.run)
        await anyio.wait_all_tasks_blocked()
        assert store.log == []
        upkeep.start_when_idle()
        await anyio.wait_all_tasks_blocked()
        assert store.log == ["begins"]
        upkeep.stop()
        await anyio.wait_all_tasks_blocked()
        assert store.log == ["begins", "ends"]
        upkeep.start_when_idle()
        upkeep.stop()
        await anyio.wait_all_tasks_blocked()
        assert store.log == ["begins", "ends"]
        group.cancel_scope.cancel()


async def test_upkeep_that_fails_is_told_once_and_tried_again() -> None:
    store = SlowStore(fails=True)
    faults: list[str] = []
    upkeep = CheckpointMaintenance(
        store, anyio.Lock(), QuickClock(), lambda fault: faults.append(fault.message)
    )
    async with anyio.create_task_group() as group:
        group.start_soon(upkeep.run)
        for _ in range(3):
            upkeep.start_when_idle()
            await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert store.log == ["begins"] * 3
    assert faults == ["No space left on device."]


async def test_upkeep_runs_between_turns_and_never_in_one(tmp_path: Path) -> None:
    store = SlowStore()

    async def look() -> None:
        store.log.append("model")

    answers = [[look, *call(("echo", "{}"))], say("A."), [look, *say("B.")]]
    async with running(tmp_path, answers, checkpoints=store) as bench:
        await bench.until("agent.state_changed")
        await turn(bench, "first")
        await anyio.wait_all_tasks_blocked()
        await turn(bench, "second")
        await anyio.wait_all_tasks_blocked()
    assert store.log[:5] == ["model", "begins", "ends", "model", "begins"]


async def test_a_run_that_nobody_attends_owns_its_checkpoints_at_its_end(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    one = call(("write_file", '{"path": "a.txt", "content": "one"}'))
    tools = list(tools_of("files").values())
    for answers, borrows in (([say("Hello.")], True), ([one, say("Done.")], False)):
        async with running(
            tmp_path, answers, tools, checkpoints=True, workspace=folder, interactive=False, serve=False
        ) as bench:
            bench.submit(SubmitPrompt(text="go"))
            async with anyio.create_task_group() as group:
                group.start_soon(bench.engine.serve)
                await bench.until("turn.finished")
                await bench.engine._checkpointing.begin()  # which the first message began beside its turn
                bench.submit(Close())
        assert (store_of(tmp_path) / "objects" / "info" / "alternates").exists() == borrows
    assert await GitCheckpoints(folder, store_of(tmp_path)).verify() == []
