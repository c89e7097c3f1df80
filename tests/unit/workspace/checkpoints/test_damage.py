"""A store that is damaged while it is used: it goes on, says what is lost, and a lost checkpoint is never half put back."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, begun_workspace, git, shadow, snapshot, taken, workspace, write
from tui_agent.errors import CheckpointError


def no_objects(store: Path) -> None:
    shutil.rmtree(store / "objects")


def cut_objects(store: Path) -> None:
    for path in (store / "objects").glob("*/*"):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:3])


def no_commit(store: Path) -> None:
    commit = git(store, "rev-parse", "main").strip()
    (store / "objects" / commit[:2] / commit[2:]).unlink()


def no_trees(store: Path) -> None:
    tree = git(store, "rev-parse", "main^{tree}").strip()
    path = store / "objects" / tree[:2] / tree[2:]
    path.unlink()


def cut_pack(store: Path) -> None:
    git(store, "repack", "-q", "-a", "-d")
    for path in (store / "objects" / "pack").glob("*.pack"):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:40])


def no_folder(store: Path) -> None:
    shutil.rmtree(store)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [no_objects, cut_objects, no_commit, no_trees, cut_pack, no_folder],
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("repository", [False, True])
async def test_a_store_that_lost_its_newest_checkpoint_begins_anew(
    tmp_path: Path, damage: Callable[[Path], None], repository: bool
) -> None:
    unchanged = repository
    folder, made, first = await begun_workspace(tmp_path, repository=repository)
    write(folder, {"README": "new\n", "src/app.py": "new\n"})
    head = await taken(made)
    damage(tmp_path / "checkpoints.git")
    before = snapshot(folder)
    again = shadow(folder)
    assert await again.begin(head, unchanged=unchanged) is not None
    assert "cannot be restored" in again.take_notices()[0]
    assert await again.verify() == []
    with pytest.raises(
        CheckpointError, match=r"not in the store|no common ancestor|missing|no longer exists"
    ):
        await again.plan_restore(first)
    if unchanged:
        assert (await again.plan_restore(head)).actions == ()
    else:
        with pytest.raises(
            CheckpointError, match=r"not in the store|no common ancestor|missing|no longer exists"
        ):
            await again.plan_restore(head)
    assert snapshot(folder) == before
    anew = head if unchanged else again.head
    write(folder, {"README": "newer\n"})
    last = await taken(again)
    await again.restore(await again.plan_restore(anew))
    assert snapshot(folder) == before
    assert await shadow(folder).begin(last) is None
    await again.run_maintenance()
    assert await again.verify() == []


def garbage_head(store: Path) -> None:
    (store / "HEAD").write_bytes(b"\xff\0garbage")


def garbage_main(store: Path) -> None:
    (store / "refs" / "heads" / "main").write_text("garbage")


def other_main(store: Path) -> None:
    (store / "refs" / "heads" / "main").write_text("1" * 40 + "\n")


def folder_for_main(store: Path) -> None:
    (store / "refs" / "heads" / "main").unlink()
    (store / "refs" / "heads" / "main" / "x").mkdir(parents=True)


def garbage_config(store: Path) -> None:
    (store / "config").write_text("[core\n\tworktree = /etc\n")


def filters(store: Path) -> None:
    (store / "info" / "attributes").write_text("* text=auto eol=crlf filter=x\n")


def no_info(store: Path) -> None:
    shutil.rmtree(store / "info")


def garbage_alternates(store: Path) -> None:
    (store / "objects" / "info" / "alternates").write_text("/not/there\n")


def garbage_index(store: Path) -> None:
    (store / "index").write_bytes(b"DIRC garbage")


def no_refs(store: Path) -> None:
    shutil.rmtree(store / "refs")


def locks(store: Path) -> None:
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "config.lock"):
        (store / name).touch()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "damage",
    [
        garbage_head,
        garbage_main,
        other_main,
        folder_for_main,
        garbage_config,
        filters,
        no_info,
        garbage_alternates,
        garbage_index,
        no_refs,
        locks,
    ],
    ids=lambda one: one.__name__,
)
async def test_what_only_names_the_checkpoints_is_mended_and_nothing_is_lost(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    folder = workspace(tmp_path)
    before = snapshot(folder)
    made = await begun(folder)
    first = made.head
    write(folder, {"README": "new\r\n"})
    head = await taken(made)
    damage(tmp_path / "checkpoints.git")
    again = shadow(folder)
    assert await again.begin(head) is None
    assert again.take_notices() == ()
    assert not await again.find_changes()
    await again.restore(await again.plan_restore(first))
    assert snapshot(folder) == before
    assert await again.verify() == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("gone", ["deleted", "moved", "a file", "a link to nothing"])
async def test_a_workspace_that_is_gone_is_said_and_counts_as_no_change(tmp_path: Path, gone: str) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "new\n"})
    head = await taken(made)
    again = shadow(folder)
    aside = folder.rename(tmp_path / "aside")
    match gone:
        case "deleted":
            shutil.rmtree(aside)
        case "a file":
            folder.write_text("file\n")
        case "a link to nothing":
            folder.symlink_to("nowhere")
    for act in (made.find_changes, lambda: made.plan_restore(first), lambda: again.begin(head)):
        with pytest.raises(CheckpointError, match=r"no longer exists|is no longer a folder"):
            await act()
    assert await made.verify() == []
    assert await made.read_file(first, "README") == b"read me\n"
    if gone == "moved":
        aside.rename(folder)
        assert not await made.find_changes()


@pytest.mark.slow_variants
@pytest.mark.parametrize("names", [("HEAD",), ("refs", "packed-refs"), ("HEAD", "config", "refs", "index")])
async def test_a_store_without_its_names_is_read_and_said_to_be_whole(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    before, first = snapshot(folder), made.head
    write(folder, {"README": "new\n"})
    head = await taken(made)
    for name in names:
        path = tmp_path / "checkpoints.git" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    other = shadow(folder)
    told = await other.verify()
    assert len(told) == 1
    assert "recreated; nothing was lost" in told[0]
    assert await other.find_lost([first, head]) == []
    await other.checkout(first, tmp_path / "out")
    assert snapshot(tmp_path / "out") == before
    assert await other.verify() == []
