"""Upkeep: independence from the user's repository, size, bundles, and giving way."""

import os
import random
import shutil
from pathlib import Path

import anyio
import pytest

from tests.stubs.checkpoints import begun, git, snapshot, taken, workspace, write
from tui_agent.checkpoints.limits import Limits
from tui_agent.errors import CheckpointError


async def test_what_was_borrowed_becomes_the_stores_own(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    first, before = made.head, snapshot(folder)
    assert await made.settle()
    shutil.rmtree(folder / ".git")
    assert await made.verify() == []
    write(folder, {"README": "new\n"})
    await taken(made)
    await made.restore(await made.plan(first))
    assert snapshot(folder) == before
    assert not await made.settle()


async def test_what_is_too_much_stays_borrowed_and_its_loss_is_said(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder, limits=Limits(baseline_bytes=10))
    await made.settle()
    assert (tmp_path / "checkpoints.git" / "objects" / "info" / "alternates").exists()
    shutil.rmtree(folder / ".git")
    assert await made.verify()
    write(folder, {"README": "new\n"})
    assert (await made.look()).paths == ("README",)


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


async def test_a_hundred_edits_of_a_large_file_take_little_more_than_what_changed(tmp_path: Path) -> None:
    draw = random.Random(3)
    folder = workspace(tmp_path)
    lines = [draw.randbytes(30).hex() for _ in range(3_000)]
    write(folder, {"large.txt": "\n".join(lines)})
    made = await begun(folder)
    start, changed = await made.size(), 0
    for part in range(100):
        line = draw.randrange(len(lines))
        lines[line] = draw.randbytes(30).hex()
        changed += len(lines[line])
        write(folder, {"large.txt": "\n".join(lines)})
        changes = await made.look(["large.txt"])
        await made.commit(changes, part=part, author="agent", message="m")
    assert await made.settle()
    assert await made.size() - start < 1.2 * changed + 200_000
    assert await made.verify() == []


async def test_upkeep_gives_way_to_any_other_call(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {f"noise{number}": os.urandom(200_000) for number in range(40)})
    await taken(made)
    async with anyio.create_task_group() as group:
        settled: list[bool] = []

        async def settle() -> None:
            settled.append(await made.settle())

        group.start_soon(settle)
        await anyio.lowlevel.checkpoint()
        assert not await made.look()
    assert settled == [False]
    assert await made.verify() == []
    assert await made.settle()


async def test_what_a_checkpoint_holds_can_be_read(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    (folder / "link").symlink_to("README")
    made = await begun(folder)
    first = made.head
    write(folder, {"README": "read me\nmore\n", "bytes": b"\0\1"})
    (folder / "src" / "app.py").chmod(0o700)
    second = await taken(made)
    assert [(file.path, file.size, oct(file.mode)) for file in await made.files_at(second)] == [
        ("README", 13, "0o100644"),
        ("bytes", 2, "0o100644"),
        ("link", 6, "0o120777"),
        ("src/app.py", 13, "0o100700"),
    ]
    assert await made.diff(first, second) == [("README", 1, 0), ("bytes", 0, 0), ("src/app.py", 0, 0)]
    assert await made.read_at(second, "bytes") == b"\0\1"
    with pytest.raises(CheckpointError, match="not in the checkpoint"):
        await made.read_at(second, "src")
    await made.checkout(second, tmp_path / "out")
    assert snapshot(tmp_path / "out") == snapshot(folder)
    with pytest.raises(CheckpointError, match="not empty"):
        await made.checkout(second, tmp_path / "out")
    assert await made.size() > 0
