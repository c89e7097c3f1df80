"""What fails or is stopped leaves workspace and store as they were; what is damaged is said or mended."""

import re
import shutil
from pathlib import Path

import anyio
import pytest

from tests.stubs.checkpoints import (
    FailingActs,
    FailingRuns,
    begun,
    begun_workspace,
    git,
    shadow,
    snapshot,
    taken,
    workspace,
    write,
)
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

MOST = 60


async def prepared(root: Path) -> tuple[Path, GitCheckpoints, str]:
    """A session that did something of every kind, and its first checkpoint."""
    folder, made, first = await begun_workspace(root, gone="g\n", bits="b\n", **{"old/x": "x\n"})
    (folder / "gone").unlink()
    shutil.rmtree(folder / "old")
    (folder / "bits").chmod(0o700)
    write(folder, {"src/app.py": "new\n", "deep/er/new": "x\n", "gone/now": "x\n"})
    (folder / "README").unlink()
    (folder / "README").symlink_to("src")
    await taken(made)
    return folder, made, first


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
async def test_a_failing_git_leaves_all_as_it_was(tmp_path: Path, after: bool) -> None:
    folder, made, first = await prepared(tmp_path)
    head = made.head
    write(folder, {"more": "m\n"})
    before = snapshot(folder)
    for number in range(1, MOST):
        runs = FailingRuns()
        runs.after = after
        made = GitCheckpoints(folder, tmp_path / "checkpoints.git", run=runs)
        await made.begin(head)
        assert (await made.find_changes()).paths == ("more",)
        runs.left = number
        try:
            commit = await made.commit(await made.find_changes(), part=2, author="agent", message="m")
            await made.restore(await made.plan_restore(first))
        except CheckpointError as fault:
            assert re.search("No space left|no common ancestor|not in the store", str(fault))
            assert snapshot(folder) == before
        else:
            if runs.left > 0:
                break
            await made.restore(
                await made.plan_restore(commit)
            )  # what failed was tried again, and went through
            assert snapshot(folder) == before
    assert 10 < number < MOST
    assert "more" not in snapshot(folder)
    assert made.head == first
    assert await shadow(folder).verify() == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("repository", [False, True])
async def test_a_first_checkpoint_that_fails_can_be_taken_again(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    write(folder, {"more": "m\n"})
    before = snapshot(folder)
    for number in range(1, MOST):
        runs = FailingRuns()
        runs.left = number
        made = GitCheckpoints(folder, tmp_path / "checkpoints.git", run=runs)
        try:
            await made.begin("")
        except CheckpointError:
            assert made.head == ""
            assert snapshot(folder) == before
        if runs.left > 0:
            runs.left = 0
            break
    assert 5 < number < MOST
    assert not await made.find_changes()
    assert await shadow(folder).verify() == []


@pytest.mark.slow
async def test_a_failing_act_is_undone_with_all_before_it(tmp_path: Path) -> None:
    folder, _, first = await prepared(tmp_path)
    head = git(tmp_path / "checkpoints.git", "rev-parse", "main").strip()
    before = snapshot(folder)
    for number in range(1, MOST):
        acts = FailingActs(number)
        made = shadow(folder, acts=acts)
        await made.begin(head)
        plan = await made.plan_restore(first)
        if acts.left <= 0:
            break
        try:
            await made.restore(plan)
        except CheckpointError as fault:
            assert "the disk says no" in str(fault)
            assert snapshot(folder) == before
            assert (folder / "deep" / "er").is_dir()
            assert made.head == head
            assert not await made.find_changes()
        else:
            break
    assert 15 < number < MOST
    assert (folder / "gone").read_text() == "g\n"
    assert made.head == first


class Killed(BaseException):
    """The program ends here."""


class KilledActs(FailingActs):
    """Ends at the n-th act, and does nothing any more: as after kill -9."""

    def _count(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Killed


@pytest.mark.slow
async def test_a_restore_that_was_killed_is_undone_when_the_session_opens_again(tmp_path: Path) -> None:
    folder, _, first = await prepared(tmp_path)
    head = git(tmp_path / "checkpoints.git", "rev-parse", "main").strip()
    before = snapshot(folder)
    for number in range(1, MOST):
        made = shadow(folder, acts=KilledActs(number))
        await made.begin(head)
        try:
            await made.restore(await made.plan_restore(first))
        except Killed:
            again = shadow(folder)
            await again.begin(head)
            assert snapshot(folder) == before
            assert not await again.find_changes()
        else:
            break
    assert 15 < number < MOST


async def test_a_journal_that_cannot_be_read_is_said_and_nothing_is_moved(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    write(folder, {".tui-agent-restore-1/journal.json": "[{", ".tui-agent-restore-1/0.old": "kept\n"})
    with pytest.raises(CheckpointError, match="could not be undone"):
        await shadow(folder).begin(made.head)
    assert (folder / ".tui-agent-restore-1" / "0.old").read_text() == "kept\n"


class WaitingActs(FileOperations):
    """Tells when the files are being moved."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.scope = scope

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        anyio.from_thread.run_sync(self.scope.cancel)
        super().rename(source, source_fd, target, target_fd)


async def test_a_restore_that_is_cancelled_while_it_moves_leaves_all_as_it_was(tmp_path: Path) -> None:
    folder, _, first = await prepared(tmp_path)
    head = git(tmp_path / "checkpoints.git", "rev-parse", "main").strip()
    before = snapshot(folder)
    with anyio.CancelScope() as scope:
        made = shadow(folder, acts=WaitingActs(scope))
        await made.begin(head)
        await made.restore(await made.plan_restore(first))
    assert scope.cancelled_caught
    assert snapshot(folder) == before
    assert made.head == head
    assert not await made.find_changes()


async def test_a_commit_that_is_cancelled_is_not_there(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "new\n"})
    changes = await made.find_changes()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await made.commit(changes, part=1, author="agent", message="m")
    assert made.head == first
    assert (await made.find_changes()).paths == ("README",)
    assert not list((tmp_path / "checkpoints.git").glob("draft-*"))


@pytest.mark.slow_variants
@pytest.mark.parametrize("damage", ["cut", "gone", "garbage", "locked", "other"])
async def test_a_broken_index_is_read_again_from_the_newest_checkpoint(tmp_path: Path, damage: str) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    store = tmp_path / "checkpoints.git"
    write(folder, {"README": "new\n"})
    head = await taken(made)
    index = store / "index"
    match damage:
        case "cut":
            index.write_bytes(index.read_bytes()[:50])
        case "gone":
            index.unlink()
        case "garbage":
            index.write_bytes(b"x" * 200)
        case "other":
            git(store, "read-tree", first)
        case _:
            for lock in (
                "index.lock",
                "HEAD.lock",
                "refs/heads/main.lock",
                "packed-refs.lock",
                "draft-x",
                "draft-x.lock",
            ):
                (store / lock).touch()
    again = shadow(folder)
    await again.begin(head)
    assert not await again.find_changes()
    write(folder, {"README": "newer\n"})
    await taken(again)
    assert await again.verify() == []


async def test_a_missing_object_is_said_and_nothing_is_changed(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "new\n"})
    head = await taken(made)
    store = tmp_path / "checkpoints.git"
    blob = git(store, "rev-parse", f"{first}:README").strip()
    (store / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CheckpointError, match="missing"):
        await made.restore(await made.plan_restore(first))
    assert any(blob in problem for problem in await made.verify())
    assert (folder / "README").read_text() == "new\n"
    assert made.head == head
    again = shadow(folder)
    assert await again.begin(head) is None
    assert again.take_notices() == ()


async def test_every_checkpoint_that_is_lost_to_damage_is_told(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    heads = [made.head]
    for number in range(3):
        write(folder, {"README": f"new {number}\n"})
        heads.append(await taken(made))
    store = tmp_path / "checkpoints.git"
    trees = [git(store, "rev-parse", f"{head}^{{tree}}").strip() for head in heads]
    for oid in (heads[1], trees[2]):
        path = store / "objects" / oid[:2] / oid[2:]
        path.chmod(0o600)
        path.write_bytes(b"not an object")
    assert await made.find_lost(heads) == [heads[1], heads[2]]
    problems = "\n".join(await made.verify())
    assert heads[1] in problems and trees[2] in problems


async def test_a_damaged_object_is_found(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    store = tmp_path / "checkpoints.git"
    blob = git(store, "rev-parse", "main:README").strip()
    path = store / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(b"not an object")
    assert any(blob in problem for problem in await made.verify())
    write(folder, {"README": "new\n"})
    assert (await made.find_changes()).files[0].before is None
    head = await taken(made)
    with pytest.raises(CheckpointError, match="missing"):
        await made.plan_restore(git(store, "rev-parse", f"{head}^").strip())


async def test_a_full_disk_is_said_and_the_workspace_is_untouched(tmp_path: Path) -> None:
    folder, made, head = await begun_workspace(tmp_path)
    write(folder, {"README": "new\n"})
    changes = await made.find_changes()

    class Full(FailingRuns):
        async def __call__(self, argv, stdin, env, cwd):  # type: ignore[no-untyped-def]
            self.left = 1 if "update-index" in argv else 2
            return await super().__call__(argv, stdin, env, cwd)

    full = GitCheckpoints(folder, tmp_path / "checkpoints.git", run=Full())
    await full.begin(head)
    with pytest.raises(CheckpointError, match="No space left"):
        await full.commit(changes, part=1, author="agent", message="m")
    assert full.head == head
    assert (folder / "README").read_text() == "new\n"


async def test_a_store_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    (tmp_path / "checkpoints.git").write_text("a file")
    with pytest.raises(CheckpointError, match="could not be used"):
        await shadow(folder).begin("")
    assert snapshot(folder)
