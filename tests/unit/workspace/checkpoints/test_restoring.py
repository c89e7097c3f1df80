"""Putting files back: what is touched, what asks first, what is never done."""

import os
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, begun_workspace, git, shadow, snapshot, taken, workspace, write
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits


async def test_edits_are_put_back_and_forth(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    before = snapshot(folder)
    write(folder, {"src/app.py": "one\ntwo\n", "deep/er/new": "x\n"})
    (folder / "README").unlink()
    second = await taken(made)
    after = snapshot(folder)
    plan = await made.plan_restore(first)
    told = [(act.path, act.kind, act.added, act.removed, act.conflict) for act in plan.actions]
    assert told == [
        ("README", "create", 1, 0, ""),
        ("deep/er/new", "remove", 0, 1, ""),
        ("src/app.py", "write", 1, 2, ""),
    ]
    restored = await made.restore(plan)
    assert restored.commit == made.head == first
    assert snapshot(folder) == before
    assert not (folder / "deep").exists()
    assert [(file.path, file.before, file.after, file.mode) for file in restored.files] == [
        ("README", None, b"read me\n", 0o644),
        ("deep/er/new", b"x\n", None, None),
        ("src/app.py", b"one\ntwo\n", b"print('app')\n", 0o644),
    ]
    assert (await made.restore(await made.plan_restore(second))).commit == second
    assert snapshot(folder) == after


async def test_what_someone_else_changed_asks_first(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, other="o\n", third="t\n")
    write(folder, {"README": "agent\n", "src/app.py": "agent\n", "third": "agent\n"})
    await taken(made)
    write(folder, {"README": "human\n", "other": "human\n"})
    await taken(made, "human")
    write(folder, {"src/app.py": "human, not yet kept\n"})
    plan = await made.plan_restore(first)
    assert {act.path: bool(act.conflict) for act in plan.actions} == {
        "README": True,
        "src/app.py": True,
        "third": False,
    }
    restored = await made.restore(plan, ["src/app.py"])
    assert (restored.paths, restored.kept_paths) == (("src/app.py", "third"), ("README",))
    assert (folder / "README").read_text() == (folder / "other").read_text() == "human\n"
    assert restored.commit == made.head != first
    changed = await made.diff(first, made.head)
    assert [(line.path, line.added, line.removed) for line in changed] == [("README", 1, 1), ("other", 1, 1)]
    kept = git(tmp_path / "checkpoints.git", "log", "--all", "--format=%H", "-S", "not yet kept").split()
    assert await made.read_file(kept[-1], "src/app.py") == b"human, not yet kept\n"


async def test_what_changed_after_the_plan_was_shown_is_left_alone(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n"})
    await taken(made)
    plan = await made.plan_restore(first)
    write(folder, {"README": "human\n"})
    restored = await made.restore(plan)
    assert (restored.kept_paths, restored.paths, restored.blocked) == (("README",), (), {})
    assert (folder / "README").read_text() == "human\n"
    with pytest.raises(CheckpointError, match="new checkpoint was taken"):
        await made.restore(plan, ["README"])


async def test_what_stood_in_conflict_when_the_plan_was_shown_is_left_alone_though_it_does_no_more(
    tmp_path: Path,
) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n", "src/app.py": "agent\n"})
    await taken(made)
    write(folder, {"README": "human\n"})
    plan = await made.plan_restore(first)
    write(folder, {"README": "agent\n"})
    restored = await made.restore(plan)
    assert (restored.paths, restored.kept_paths) == (("src/app.py",), ("README",))
    assert (folder / "README").read_text() == "agent\n"


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_folder_that_became_a_link_is_never_written_through(tmp_path: Path, overwrite: bool) -> None:
    folder = workspace(tmp_path)
    outside = tmp_path / "outside"
    write(outside, {"app.py": "theirs\n"})
    made = await begun(folder)
    first = made.head
    write(folder, {"src/app.py": "agent\n"})
    await taken(made)
    (folder / "src" / "app.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(outside)
    plan = await made.plan_restore(first)
    assert [(act.path, act.conflict) for act in plan.actions] == [
        ("src/app.py", "src is not a folder any more")
    ]
    restored = await made.restore(plan, ["src/app.py"] if overwrite else [])
    assert restored.kept_paths == ("src/app.py",)
    assert snapshot(outside) == {"app.py": ("file", 0o644, b"theirs\n")}
    assert (folder / "src").is_symlink()


@pytest.mark.slow
async def test_what_was_left_alone_is_asked_about_again_one_after_the_other(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    write(folder, {".gitignore": "*.log\n", "app.log": "as found\n"})
    made = await begun(folder)
    first, before = made.head, snapshot(folder)
    await made.commit(await made.find_changes(["app.log"]), part=1, author="human", message="before a call")
    write(folder, {"src/app.py": "agent\n", "app.log": "agent\n", "new": "agent\n"})
    await made.commit(
        await made.find_changes(["src/app.py", "app.log", "new"]), part=1, author="agent", message="m"
    )
    write(folder, {"src/app.py": "mine\n", "app.log": "mine\n", "new": "mine\n"})
    left = snapshot(folder)
    asked = ["app.log", "new", "src/app.py"]
    for path in list(asked):
        plan = await made.plan_restore(first)
        assert [act.path for act in plan.actions if act.conflict] == asked
        assert (await made.restore(plan)).kept_paths == tuple(asked)
        assert snapshot(folder) == {**before, **{path: left[path] for path in asked}}
        asked.remove(path)
        plan = await made.plan_restore(first, [path])
        assert (await made.restore(plan, [path])).kept_paths == tuple(asked)
    assert snapshot(folder) == before


@pytest.mark.slow_variants
@pytest.mark.parametrize("named", [".git/config", "inner/.git/HEAD", "../beside", "/etc/hostname", "inner/x"])
async def test_what_is_never_kept_is_not_put_back_though_it_is_named(tmp_path: Path, named: str) -> None:
    folder = workspace(tmp_path, repository=True)
    git(folder, "init", "-q", "inner")
    write(folder, {"inner/x": "x\n", "../beside": "theirs\n"})
    made = await begun(folder)
    first = made.head
    write(folder, {"src/app.py": "agent\n"})
    await taken(made)
    places = [path for path in folder.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in [*places, tmp_path / "beside"]}
    plan = await made.plan_restore(first)
    with pytest.raises(CheckpointError, match="cannot be restored"):
        await made.restore(plan, [named])
    with pytest.raises(CheckpointError, match="cannot be restored"):
        await made.plan_restore(first, [named])
    assert {path: path.read_bytes() for path in before} == before


async def test_a_file_of_which_no_checkpoint_knows_stays_though_it_is_named(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    write(folder, {".gitignore": "*.log\n", "app.log": "theirs\n"})
    made = await begun(folder)
    first = made.head
    write(folder, {"src/app.py": "agent\n"})
    await taken(made)
    plan = await made.plan_restore(first, ["app.log"])
    restored = await made.restore(plan, ["app.log"])
    assert restored.paths == ("src/app.py",)
    assert (folder / "app.log").read_text() == "theirs\n"


async def test_files_and_folders_change_places(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    before = snapshot(folder)
    (folder / "README").unlink()
    write(folder, {"README/inside/x": "x\n"})
    (folder / "src" / "app.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to("README")
    second = await taken(made)
    after = snapshot(folder)
    await made.restore(await made.plan_restore(first))
    assert snapshot(folder) == before
    await made.restore(await made.plan_restore(second))
    assert snapshot(folder) == after


@pytest.mark.parametrize("repository", [False, True])
async def test_folders_go_only_when_the_session_made_them(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    (folder / "empty" / "inner").mkdir(parents=True)
    (folder / "src" / "free").mkdir()
    made = await begun(folder)
    first = made.head
    write(folder, {"empty/inner/x": "x\n", "empty/new/x": "x\n", "src/free/x": "x\n", "made/by/us": "x\n"})
    await taken(made)
    await made.restore(await made.plan_restore(first))
    left = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_dir())
    assert [path for path in left if not path.startswith(".git")] == [
        "empty",
        "empty/inner",
        "src",
        "src/free",
    ]


async def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, **{".gitignore": "*.log\n"})
    (folder / "README").unlink()
    write(folder, {"README/x": "x\n"})
    await taken(made)
    write(folder, {"README/mine.log": "mine\n"})
    restored = await made.restore(await made.plan_restore(first), ["README"])
    assert (restored.paths, restored.kept_paths) == (("README/x",), ("README",))
    assert (folder / "README" / "mine.log").read_text() == "mine\n"


@pytest.mark.slow_variants
@pytest.mark.parametrize("overwrite", [(), ("README",), ("README/x",), ("README", "README/x")])
async def test_a_conflict_that_is_kept_keeps_the_place_of_another(
    tmp_path: Path, overwrite: tuple[str, ...]
) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    (folder / "README").unlink()
    write(folder, {"README/x": "x\n"})
    await taken(made)
    write(folder, {"README/x": "human\n"})
    restored = await made.restore(await made.plan_restore(first), overwrite)
    if "README/x" in overwrite:
        assert "README/x" in restored.paths
        assert not (folder / "README").is_dir()
    else:
        assert (restored.paths, restored.kept_paths) == ((), ("README", "README/x"))
        assert (folder / "README" / "x").read_text() == "human\n"


async def test_files_that_the_session_never_changed_are_left_alone(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, repository=True, other="o\n")
    write(folder, {"other": "human\n"})
    await taken(made, "human")
    write(folder, {"README": "agent\n"})
    await taken(made)
    write(folder, {"untracked": "x\n"})
    (folder / "src" / "app.py").unlink()
    restored = await made.restore(await made.plan_restore(first))
    assert restored.paths == ("README",)
    assert (folder / "other").read_text() == "human\n"
    assert (folder / "untracked").exists()
    assert not (folder / "src" / "app.py").exists()
    assert not await made.find_changes()


async def test_a_large_file_is_put_back(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    content = os.urandom(300_000)
    write(folder, {"large": content})
    made = await begun(folder, limits=Limits(shown_bytes=1_000))
    first = made.head
    (folder / "large").unlink()
    await taken(made)
    restored = await made.restore(await made.plan_restore(first))
    assert (folder / "large").read_bytes() == content
    assert (restored.files[0].after, restored.files[0].after_size) == (None, 300_000)


@pytest.mark.slow
async def test_other_branches_of_the_session_are_kept_for_ever(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "one\n"})
    one = await taken(made)
    await made.restore(await made.plan_restore(first))
    write(folder, {"README": "two\n"})
    two = await taken(made)
    store = tmp_path / "checkpoints.git"
    git(store, "gc", "-q", "--prune=now")
    assert await made.read_file(one, "README") == b"one\n"
    await made.restore(await made.plan_restore(one))
    assert (folder / "README").read_text() == "one\n"
    assert made.head == one
    await made.restore(await made.plan_restore(two))
    assert (folder / "README").read_text() == "two\n"


async def test_a_plan_to_a_commit_that_is_not_there_says_so(tmp_path: Path) -> None:
    made = await begun(workspace(tmp_path))
    for source in ("0" * 40, "no such thing"):
        with pytest.raises(CheckpointError, match="is not in the store"):
            await made.plan_restore(source)


async def test_who_changed_what_can_be_read_from_a_clone(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {"README": "one\n"})
    await made.commit(
        await made.find_changes(), part=7, author="command", message='Run make\n\nMode: 777 "x"\n'
    )
    (folder / "README").chmod(0o600)
    await taken(made, "human", part=8)
    await made.export_bundle(tmp_path / "all.bundle")
    git(tmp_path, "clone", "-q", "all.bundle", "clone")
    assert (tmp_path / "clone" / "README").read_text() == "one\n"
    said = git(tmp_path / "clone", "log", "--format=%an: %B")
    assert said.split("\n\n")[1:3] == ['Part: 8\nMode: 600 "README"', "command: Run make"]
    again = shadow(folder)
    await again.begin(made.head)
    assert not await again.find_changes()
