"""The first checkpoint: what it borrows, what it reads, and that it holds the very bytes that are on disk."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from anyio import from_thread

from tests.stubs.checkpoints import begun, git, shadow, snapshot, workspace, write
from tui_agent.workspace.checkpoints.baseline import BaselineDraft, gather_files
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.git_runner import Git
from tui_agent.workspace.checkpoints.index_file import UnreadableIndex, read_index, write_index
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.checkpoints.store_state import CheckpointStore, measure_folder

MANY = 300_000


async def holds_the_workspace(made: GitCheckpoints, folder: Path, target: Path) -> None:
    """The checkpoint, written out, is what stands in the workspace, and a look agrees."""
    assert not await made.find_changes()
    await made.checkout(made.head, target)
    assert snapshot(target) == snapshot(folder)


def split(folder: Path) -> None:
    git(folder, "update-index", "--split-index")


def skipped_by_flag(folder: Path) -> None:
    git(folder, "update-index", "--skip-worktree", "README")
    write(folder, {"README": "other\n"})


def assumed_unchanged(folder: Path) -> None:
    git(folder, "update-index", "--assume-unchanged", "README")
    write(folder, {"README": "other\n"})


def intended(folder: Path) -> None:
    write(folder, {"later": "x\n"})
    git(folder, "add", "-N", "later")


def sparse(folder: Path) -> None:
    write(folder, {"far/x": "x\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "far")
    git(folder, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(folder, "sparse-checkout", "set", "src")


def version_four(folder: Path) -> None:
    git(folder, "update-index", "--index-version", "4")


def staged(folder: Path) -> None:
    write(folder, {"README": "staged\n", "added": "x\n"})
    git(folder, "add", "-A")
    write(folder, {"README": "and changed\n"})


def conflicted(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "other")
    write(folder, {"README": "other\n"})
    git(folder, "commit", "-q", "-am", "other")
    git(folder, "checkout", "-q", "-")
    write(folder, {"README": "this\n"})
    git(folder, "commit", "-q", "-am", "this")
    git(
        folder, "-c", "merge.conflictStyle=merge", "merge-file", "-p", "--quiet", "README", "README", "README"
    )
    blob = git(folder, "rev-parse", "HEAD:README").strip()
    lines = f"0 {'0' * 40} 0\tREADME\n100644 {blob} 1\tREADME\n100644 {blob} 2\tREADME\n"
    git(folder, "update-index", "--index-info", stdin=lines.encode())


def line_ends(folder: Path) -> None:
    write(folder, {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\r\ntwo\r\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "crlf")


def same_length_filter(folder: Path) -> None:
    git(folder, "config", "filter.rot.clean", "tr a-z n-za-m")
    git(folder, "config", "filter.rot.smudge", "tr a-z n-za-m")
    write(folder, {".gitattributes": "*.rot filter=rot\n", "a.rot": "hello\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "rot")


def damaged(folder: Path) -> None:
    path = folder / ".git" / "index"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(bytes(content))


def no_index(folder: Path) -> None:
    (folder / ".git" / "index").unlink()


def newer_hash(folder: Path) -> None:
    git(folder, "config", "core.repositoryFormatVersion", "1")
    (folder / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\0" + bytes(32) + b"\1" * 32)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "prepare",
    [
        split,
        skipped_by_flag,
        assumed_unchanged,
        intended,
        sparse,
        version_four,
        staged,
        conflicted,
        line_ends,
        same_length_filter,
        damaged,
        no_index,
        newer_hash,
    ],
)
async def test_it_holds_the_bytes_on_disk_whatever_the_users_index_says(
    tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    folder = workspace(tmp_path, repository=True)
    prepare(folder)
    await holds_the_workspace(await begun(folder), folder, tmp_path / "out")


async def test_clean_files_of_a_repository_are_borrowed(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    write(folder, {"large": os.urandom(3_000_000)})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "large")
    made = await begun(folder)
    assert measure_folder(tmp_path / "checkpoints.git") < 100_000
    await holds_the_workspace(made, folder, tmp_path / "out")


async def test_a_worktree_of_a_repository_borrows_too(tmp_path: Path) -> None:
    main = workspace(tmp_path, repository=True)
    folder = tmp_path / "other"
    git(main, "worktree", "add", "-q", str(folder))
    made = GitCheckpoints(folder, tmp_path / "store.git")
    await made.begin("")
    assert (tmp_path / "store.git" / "objects" / "info" / "alternates").read_text().strip() == str(
        main / ".git" / "objects"
    )
    await holds_the_workspace(made, folder, tmp_path / "out")


async def test_a_folder_of_a_repository_borrows_too(tmp_path: Path) -> None:
    top = workspace(tmp_path, repository=True)
    write(top, {"src/new": "x\n"})
    made = GitCheckpoints(top / "src", tmp_path / "store.git")
    await made.begin("")
    assert [file.path for file in await made.list_files(made.head)] == ["app.py", "new"]
    await holds_the_workspace(made, top / "src", tmp_path / "out")


async def test_a_repository_at_an_odd_path_is_borrowed_from(tmp_path: Path) -> None:
    root = tmp_path / '"odd\n#\\path'
    root.mkdir()
    folder = workspace(root, repository=True)
    await holds_the_workspace(await begun(folder), folder, tmp_path / "out")


async def test_without_a_repository_everything_is_read_within_limits(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    write(folder, {f"many/{number}": f"{number}\n" for number in range(300)})
    write(folder, {"large": b"l" * 20_000})
    (folder / "many" / "7").chmod(0o600)
    (folder / "link").symlink_to("many/7")
    made = shadow(folder, limits=Limits(file_bytes=10_000))
    first = await made.begin("")
    assert first is not None
    assert "large" in first.skipped[0]
    (folder / "large").unlink()
    await holds_the_workspace(made, folder, tmp_path / "out")
    assert list((tmp_path / "checkpoints.git" / "objects" / "pack").glob("*.pack"))


async def test_a_first_checkpoint_reads_no_more_than_its_quota(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    write(folder, {f"noise{number}": os.urandom(1_000) for number in range(50)})
    made = shadow(folder, limits=Limits(total_bytes=10_000))
    first = await made.begin("")
    assert first is not None
    assert "limit of" in first.skipped[0]
    assert measure_folder(tmp_path / "checkpoints.git" / "objects") < 20_000


async def test_the_bits_of_every_file_are_in_the_first_checkpoint(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    write(folder, {"run": "x", "secret": "x", "group": "x"})
    for name, bits in (("run", 0o755), ("secret", 0o600), ("group", 0o664)):
        (folder / name).chmod(bits)
    made = await begun(folder)
    modes = {file.path: file.mode & 0o7777 for file in await made.list_files(made.head)}
    assert modes == {"README": 0o644, "group": 0o664, "run": 0o755, "secret": 0o600, "src/app.py": 0o644}


@pytest.mark.parametrize("version", ["2", "4"])
def test_an_index_that_is_read_and_written_is_gits_own(tmp_path: Path, version: str) -> None:
    folder = workspace(tmp_path, repository=True, **{"d/" + "x" * 200: "1", "d/y": "2"})
    git(folder, "update-index", "--index-version", version)
    index = folder / ".git" / "index"
    listed, modified = git(folder, "ls-files", "-s", "--debug"), index.stat().st_mtime_ns
    write_index(index, read_index(index), modified)
    assert git(folder, "ls-files", "-s", "--debug") == listed
    assert index.stat().st_mtime_ns == modified


def test_an_index_that_is_cut_or_changed_is_refused(tmp_path: Path) -> None:
    index = workspace(tmp_path, repository=True) / ".git" / "index"
    whole = index.read_bytes()
    for cut in range(len(whole)):
        index.write_bytes(whole[:cut])
        with pytest.raises(UnreadableIndex):
            read_index(index)
        index.write_bytes(whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut + 1 :])
        with pytest.raises(UnreadableIndex):
            read_index(index)


async def test_reading_many_files_stops_as_soon_as_nobody_waits_for_it(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    looked = CheckpointStore(Git("git", tmp_path / "checkpoints.git", folder), folder, Limits())
    read = 0

    def gone() -> Iterator[str]:
        nonlocal read
        for read in range(MANY):
            if not read:
                from_thread.run_sync(scope.cancel)
            yield f"gone-{read}"

    with anyio.CancelScope() as scope:
        await gather_files(looked, BaselineDraft(), gone())
    assert scope.cancelled_caught
    assert read < MANY - 1
