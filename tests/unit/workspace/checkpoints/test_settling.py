"""Upkeep: independence from the user's repository, size, bundles, and giving way."""

import os
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest

from tests.stubs.checkpoints import begun, begun_workspace, git, shadow, snapshot, taken, workspace, write
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.borrowed_objects import MAX_COPY_PACKS
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.git_runner import ProgramResult, run_program
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.checkpoints.store_state import measure_folder


async def test_what_was_borrowed_becomes_the_stores_own(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, repository=True)
    before = snapshot(folder)
    assert await made.run_maintenance()
    shutil.rmtree(folder / ".git")
    assert await made.verify() == []
    write(folder, {"README": "new\n"})
    await taken(made)
    await made.restore(await made.plan_restore(first))
    assert snapshot(folder) == before
    assert not await made.run_maintenance()


async def test_what_is_too_much_stays_borrowed_and_its_loss_is_said(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder, limits=Limits(baseline_bytes=10))
    await made.run_maintenance()
    assert (tmp_path / "checkpoints.git" / "objects" / "info" / "alternates").exists()
    shutil.rmtree(folder / ".git")
    assert await made.verify()
    write(folder, {"README": "new\n"})
    assert (await made.find_changes()).paths == ("README",)


async def test_of_a_partial_clone_only_what_checkpoints_need_is_copied(tmp_path: Path) -> None:
    (tmp_path / "origin").mkdir()
    origin = workspace(tmp_path / "origin", repository=True)
    write(origin, {"large.bin": random.Random(1).randbytes(300_000).hex()})
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "large")
    git(origin, "rm", "-q", "large.bin")
    git(origin, "commit", "-q", "-m", "small again")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:limit=1m", f"file://{origin}", str(tmp_path / "clone"))
    made = await begun(tmp_path / "clone")
    write(tmp_path / "clone", {"README": "new\n"})
    await taken(made)
    assert await made.run_maintenance()
    assert measure_folder(tmp_path / "checkpoints.git") < 150_000
    assert await made.verify() == []


def rewrite_and_prune(folder: Path) -> None:
    """Begin the history anew without what it held, and let git throw away all that is not in it."""
    write(folder, {"README": "rewritten\n", "src/app.py": "rewritten\n"})
    git(folder, "checkout", "-q", "--orphan", "anew")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "anew")
    for name in git(folder, "for-each-ref", "--format=%(refname)", "refs/heads").split():
        if name != "refs/heads/anew":
            git(folder, "update-ref", "-d", name)
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")


@pytest.mark.slow
async def test_a_rewritten_and_pruned_history_breaks_no_settled_checkpoint(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, repository=True)
    before = snapshot(folder)
    write(folder, {"README": "by the agent\n"})
    second = await taken(made)
    after = snapshot(folder)
    assert await made.run_maintenance()
    rewrite_and_prune(folder)
    assert await made.verify() == []
    await taken(made, "human")
    await made.checkout(first, tmp_path / "first")
    await made.checkout(second, tmp_path / "second")
    assert snapshot(tmp_path / "first") == before
    assert snapshot(tmp_path / "second") == after
    plan = await made.plan_restore(first)
    assert (await made.restore(plan, [act.path for act in plan.actions])).paths == ("README",)
    assert (folder / "README").read_text() == "read me\n"


async def test_an_unsettled_store_survives_the_pruning_with_what_is_left(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, repository=True)
    write(folder, {"README": "by the agent\n"})
    head = await taken(made)
    rewrite_and_prune(folder)
    before = snapshot(folder)
    again = shadow(folder)
    assert await again.begin(head) is not None
    assert again.take_notices()
    with pytest.raises(CheckpointError, match=r"missing|could not be used|not in the store"):
        await again.restore(await again.plan_restore(first))
    assert snapshot(folder) == before
    await taken(again, "human")
    here = again.head
    write(folder, {"README": "more\n"})
    await taken(again)
    await again.restore(await again.plan_restore(here))
    assert snapshot(folder) == before


@pytest.mark.slow
async def test_over_the_quota_what_the_session_changed_is_copied_and_survives(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    write(folder, {"noise": os.urandom(300_000)})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "noise")
    limits = Limits(baseline_bytes=50_000)
    made = await begun(folder, limits=limits)
    first = made.head
    for number in range(20):
        write(folder, {"README": f"by the agent {number}\n"})
        await taken(made, part=number)
        await made.run_maintenance()
    store = tmp_path / "checkpoints.git"
    assert measure_folder(tmp_path / "checkpoints.git") < 250_000, "the large file stays where it is"
    assert len(list((store / "objects" / "pack").glob("*.keep"))) <= MAX_COPY_PACKS
    assert "copy limit of 50 KB" in await made.describe_borrowed()
    rewrite_and_prune(folder)
    git(folder, "rm", "-q", "--cached", "noise")
    git(folder, "commit", "-q", "--amend", "-m", "without")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")
    await taken(made, "human")
    plan = await made.plan_restore(first)
    await made.restore(plan, [act.path for act in plan.actions])
    assert (folder / "README").read_text() == "read me\n"
    assert any("missing" in problem for problem in await made.verify()), "what was not copied is told"


@pytest.mark.slow
async def test_nothing_is_left_of_upkeep_that_was_ended(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    write(folder, {"noise": os.urandom(5_000_000)})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "noise")
    made = await begun(folder)
    store = tmp_path / "checkpoints.git" / "objects" / "pack"
    for at in range(1, 8):
        runs = CountedRuns(at)
        counted = GitCheckpoints(folder, tmp_path / "checkpoints.git", run=runs)
        await counted.begin(made.head)
        with anyio.CancelScope() as runs.scope:
            await counted.run_maintenance()
        if not runs.scope.cancelled_caught:
            break
        assert not list(store.glob("tmp_*")) + list(store.glob(".tmp-*"))
        assert await counted.verify() == []
    assert at > 2


class CountedRuns:
    """Ends the scope while the n-th program of upkeep runs."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.scope: anyio.CancelScope | None = None

    async def __call__(
        self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str], cwd: Path
    ) -> ProgramResult:
        if self.scope is not None and self.scope.cancel_called is False:
            self.left -= 1
            if self.left == 0:
                self.scope.deadline = anyio.current_time() + 0.03
        return await run_program(argv, stdin, env, cwd)


async def test_a_bundle_holds_what_is_borrowed(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {"README": "new\n"})
    await taken(made)
    await made.export_bundle(tmp_path / "all.bundle")
    shutil.rmtree(folder / ".git")
    shutil.rmtree(tmp_path / "checkpoints.git")
    git(tmp_path, "clone", "-q", "all.bundle", "clone")
    assert snapshot(tmp_path / "clone") == snapshot(folder)
    assert git(tmp_path / "clone", "log", "--format=%an").split() == ["agent", "human"]
    with pytest.raises(CheckpointError):
        await made.export_bundle(tmp_path / "missing" / "all.bundle")


@pytest.mark.slow
async def test_a_hundred_edits_of_a_large_file_take_little_more_than_what_changed(tmp_path: Path) -> None:
    draw = random.Random(3)
    folder = workspace(tmp_path)
    lines = [draw.randbytes(30).hex() for _ in range(3_000)]
    write(folder, {"large.txt": "\n".join(lines)})
    made = await begun(folder)
    start, changed = measure_folder(tmp_path / "checkpoints.git"), 0
    for part in range(100):
        line = draw.randrange(len(lines))
        lines[line] = draw.randbytes(30).hex()
        changed += len(lines[line])
        write(folder, {"large.txt": "\n".join(lines)})
        changes = await made.find_changes(["large.txt"])
        await made.commit(changes, part=part, author="agent", message="m")
    assert await made.run_maintenance()
    assert measure_folder(tmp_path / "checkpoints.git") - start < 1.2 * changed + 200_000
    assert await made.verify() == []


@pytest.mark.slow
async def test_upkeep_gives_way_to_any_other_call(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {f"noise{number}": os.urandom(200_000) for number in range(40)})
    await taken(made)
    async with anyio.create_task_group() as group:
        settled: list[bool] = []

        async def settle() -> None:
            settled.append(await made.run_maintenance())

        group.start_soon(settle)
        await anyio.lowlevel.checkpoint()
        assert not await made.find_changes()
    assert settled == [False]
    assert await made.verify() == []
    assert await made.run_maintenance()


async def test_what_a_checkpoint_holds_can_be_read(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    (folder / "link").symlink_to("README")
    made = await begun(folder)
    first = made.head
    write(folder, {"README": "read me\nmore\n", "bytes": b"\0\1"})
    (folder / "src" / "app.py").chmod(0o700)
    second = await taken(made)
    assert [(file.path, file.size, oct(file.mode)) for file in await made.list_files(second)] == [
        ("README", 13, "0o100644"),
        ("bytes", 2, "0o100644"),
        ("link", 6, "0o120777"),
        ("src/app.py", 13, "0o100700"),
    ]
    assert await made.diff(first, second) == [("README", 1, 0), ("bytes", 0, 0), ("src/app.py", 0, 0)]
    assert await made.read_file(second, "bytes") == b"\0\1"
    with pytest.raises(CheckpointError, match="not in the checkpoint"):
        await made.read_file(second, "src")
    await made.checkout(second, tmp_path / "out")
    assert snapshot(tmp_path / "out") == snapshot(folder)
    with pytest.raises(CheckpointError, match="not empty"):
        await made.checkout(second, tmp_path / "out")


async def test_where_the_repository_that_it_borrows_from_is_gone_that_is_said_with_its_place(
    tmp_path: Path,
) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {"README": "new\n"})
    await taken(made)
    folder.rename(tmp_path / "moved")
    place = str(folder / ".git")
    assert [place in line and "move the missing folders back" in line for line in await made.verify()] == [
        True
    ]
    assert await made.describe_borrowed() == ""
    for act in (
        made.checkout(made.head, tmp_path / "out"),
        made.export_bundle(tmp_path / "b.bundle"),
        made.list_files(made.head),
    ):
        with pytest.raises(CheckpointError, match="no longer exists") as fault:
            await act
        assert place in fault.value.message


async def test_a_workspace_that_was_moved_with_its_repository_is_borrowed_from_there(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, repository=True)
    before = snapshot(folder)
    write(folder, {"README": "new\n"})
    head = await taken(made)
    folder.rename(tmp_path / "moved")
    again = shadow(tmp_path / "moved")
    assert await again.begin(head) is None
    await again.restore(await again.plan_restore(first))
    assert snapshot(tmp_path / "moved") == before
    assert await again.run_maintenance()
    assert await again.verify() == []
