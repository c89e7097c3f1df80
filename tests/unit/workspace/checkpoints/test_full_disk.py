"""A disk that is really full, at any write: told at once, nothing half written, and it goes on when there is room."""

import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from tests.stubs.checkpoints import git, snapshot, write
from tests.stubs.small_disk import small_disk
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

PAGE = 4_096
MOST = 160
PATIENCE_S = 30.0


class SmallDisk:
    """A file system of its own, of which so many pages are free as wanted."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def leave(self, pages: int) -> None:
        """Fill it but for these pages."""
        self.free()
        found = os.statvfs(self.place)
        spare = found.f_bavail * found.f_frsize - pages * PAGE
        with (self.place / ".ballast").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, spare))

    def mount(self, how: str) -> None:
        """Mount it again, `ro` or `rw`."""
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.place)], check=True)

    def free(self) -> None:
        """Room again."""
        (self.place / ".ballast").unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", "4m") as place:
        yield SmallDisk(place)


async def fails_until_there_is_room(
    disk: SmallDisk, act: Callable[[], Awaitable[object]], unchanged: Callable[[], object]
) -> int:
    """Carry out an act with one free page more at a time; how often it failed."""
    before = unchanged()
    for pages in range(MOST):
        disk.leave(pages)
        try:
            with anyio.fail_after(PATIENCE_S):
                await act()
        except CheckpointError as fault:
            assert "o space left" in str(fault) or "could not be used" in str(fault), fault
            disk.free()
            assert unchanged() == before
        else:
            disk.free()
            return pages
    raise AssertionError("it never goes on")


def prepared(root: Path, *, repository: bool = False) -> Path:
    folder = root / "workspace"
    write(folder, {f"dir{n}/file{n}": os.urandom(3_000) for n in range(6)})
    write(folder, {"gone": "g\n", "kept": "k\n"})
    if repository:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "all")
    return folder


async def changed(made: GitCheckpoints, folder: Path) -> str:
    write(folder, {f"dir{n}/file{n}": os.urandom(3_000) for n in range(6)})
    (folder / "gone").unlink()
    (folder / "kept").chmod(0o600)
    write(folder, {"deep/er/new": os.urandom(9_000)})
    return await made.commit(await made.find_changes(), part=1, author="agent", message="m")


@pytest.mark.slow
@pytest.mark.parametrize("repository", [False, True])
async def test_the_disk_of_the_store_is_full(tmp_path: Path, disk: SmallDisk, repository: bool) -> None:
    folder = prepared(tmp_path, repository=repository)
    made = GitCheckpoints(folder, disk.place / "checkpoints.git")
    failed = await fails_until_there_is_room(disk, lambda: made.begin(""), lambda: made.head)
    assert failed > 3
    first, state = made.head, snapshot(folder)
    write(folder, {f"dir{n}/file{n}": os.urandom(3_000) for n in range(6)})
    write(folder, {"deep/er/new": os.urandom(9_000)})
    (folder / "gone").unlink()

    async def commit() -> None:
        await made.commit(await made.find_changes(), part=1, author="agent", message="m")

    assert await fails_until_there_is_room(disk, commit, lambda: made.head) > 3
    assert await made.verify() == []

    async def restore() -> None:
        await made.restore(await made.plan_restore(first))

    head = made.head
    await fails_until_there_is_room(disk, restore, lambda: snapshot(folder))
    assert snapshot(folder) == state
    again = GitCheckpoints(folder, disk.place / "checkpoints.git")
    await fails_until_there_is_room(disk, lambda: again.begin(first), lambda: snapshot(folder))
    await again.restore(await again.plan_restore(head))
    await again.restore(await again.plan_restore(first))
    assert snapshot(folder) == state
    await fails_until_there_is_room(disk, again.run_maintenance, lambda: again.head)
    assert await again.verify() == []
    assert not list((disk.place / "checkpoints.git").rglob("*tmp*"))


@pytest.mark.slow
async def test_the_disk_of_the_workspace_is_full(tmp_path: Path, disk: SmallDisk) -> None:
    folder = prepared(disk.place)
    made = GitCheckpoints(folder, tmp_path / "checkpoints.git")
    await made.begin("")
    first, state = made.head, snapshot(folder)
    head = await changed(made, folder)
    after = snapshot(folder)

    async def put(source: str) -> None:
        await made.restore(await made.plan_restore(source))

    assert await fails_until_there_is_room(disk, lambda: put(first), lambda: snapshot(folder)) > 3
    assert snapshot(folder) == state
    assert await fails_until_there_is_room(disk, lambda: put(head), lambda: snapshot(folder)) > 3
    assert snapshot(folder) == after
    assert not await made.find_changes()
    assert await made.verify() == []


async def test_a_workspace_that_cannot_be_written_is_said_and_nothing_changes(
    tmp_path: Path, disk: SmallDisk
) -> None:
    folder = prepared(disk.place)
    made = GitCheckpoints(folder, tmp_path / "checkpoints.git")
    await made.begin("")
    first, state = made.head, snapshot(folder)
    head = await changed(made, folder)
    after = snapshot(folder)
    disk.mount("ro")
    again = GitCheckpoints(folder, tmp_path / "checkpoints.git")
    assert await again.begin(head) is None
    assert not await again.find_changes()
    with pytest.raises(CheckpointError, match="Read-only file system"):
        await again.restore(await again.plan_restore(first))
    assert snapshot(folder) == after
    assert again.head == head
    disk.mount("rw")
    await again.restore(await again.plan_restore(first))
    assert snapshot(folder) == state
