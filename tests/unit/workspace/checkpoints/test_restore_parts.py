"""A restore in its parts: what is named and shown, what its record keeps, what stops it, and what is let alone."""

from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, begun_workspace, git, shadow, snapshot, taken, workspace, write
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.checkpoints.store_state import STAGING_PREFIX


async def test_only_so_many_files_are_told_in_detail_and_all_are_put_back(tmp_path: Path) -> None:
    folder = workspace(tmp_path, a="a\n", b="b\n", c="c\n")
    made = await begun(folder, limits=Limits(max_paths=2))
    first, before = made.head, snapshot(folder)
    write(folder, dict.fromkeys("abc", "agent\n"))
    await taken(made)
    restored = await made.restore(await made.plan_restore(first))
    assert restored.paths == ("a", "b", "c")
    assert [file.path for file in restored.files] == ["a", "b"]
    assert snapshot(folder) == before


@pytest.mark.parametrize(("text", "shown"), [("12345678\n\n", True), ("123456789\n\n", False)])
async def test_a_file_up_to_the_limit_is_shown_and_one_above_is_told_by_its_size(
    tmp_path: Path, text: str, shown: bool
) -> None:
    folder = workspace(tmp_path, file=text)
    made = await begun(folder, limits=Limits(shown_bytes=10))
    first = made.head
    (folder / "file").write_text("x\n")
    await taken(made)
    plan = await made.plan_restore(first)
    assert [(act.added, act.removed) for act in plan.actions] == [(2, 1) if shown else (0, 1)]
    (file,) = (await made.restore(plan)).files
    assert (file.before, file.before_size) == (b"x\n", 2)
    assert (file.after, file.after_size) == (text.encode() if shown else None, len(text))
    assert (folder / "file").read_text() == text


async def test_large_and_small_files_go_back_with_their_own_content_and_bits(tmp_path: Path) -> None:
    names = ("a", "b", "c", "d")
    folder = workspace(tmp_path, a="large a\n" * 9, b="b\n", c="large c\n" * 9, d="d\n")
    for name, bits in zip(names, (0o600, 0o755, 0o700, 0o640), strict=True):
        (folder / name).chmod(bits)
    (folder / "link").symlink_to("a")
    made = await begun(folder, limits=Limits(shown_bytes=20))
    first, before = made.head, snapshot(folder)
    for name in (*names, "link"):
        (folder / name).unlink()
    (folder / "b").write_text("written\n")
    second = await taken(made)
    after = snapshot(folder)
    restored = await made.restore(await made.plan_restore(first))
    assert snapshot(folder) == before
    assert [(file.path, file.after_size, file.mode) for file in restored.files] == [
        ("a", 72, 0o600),
        ("b", 2, 0o755),
        ("c", 72, 0o700),
        ("d", 2, 0o640),
        ("link", 1, restored.files[-1].mode),
    ]
    await made.restore(await made.plan_restore(second))
    assert snapshot(folder) == after


async def test_bits_alone_are_told_with_the_content_that_stays(tmp_path: Path) -> None:
    folder = workspace(tmp_path, script="s\n" * 20)
    made = await begun(folder, limits=Limits(shown_bytes=10))
    first = made.head
    (folder / "script").chmod(0o755)
    (folder / "README").chmod(0o600)
    await taken(made)
    plan = await made.plan_restore(first)
    assert [(act.path, act.kind, act.added, act.removed) for act in plan.actions] == [
        ("README", "mode", 0, 0),
        ("script", "mode", 0, 0),
    ]
    restored = await made.restore(plan)
    told = [(one.path, one.before, one.after, one.before_size, one.after_size) for one in restored.files]
    assert told == [("README", b"read me\n", b"read me\n", 8, 8), ("script", None, None, 40, 40)]
    assert (folder / "script").stat().st_mode & 0o777 == 0o644


class Writing(FileOperations):
    """Another program changes files while the restore is laid out."""

    def __init__(self, path: Path, how: str) -> None:
        self.path, self.how = path, how

    def write(self, name: str, fd: int, content: bytes, bits: int, *, sync: bool = False) -> None:
        super().write(name, fd, content, bits, sync=sync)
        if self.how == "bytes":
            self.path.write_text("another\n")
        elif self.how == "bits":
            self.path.chmod(0o600)
        elif self.how == "gone":
            self.path.unlink(missing_ok=True)


@pytest.mark.slow_variants
@pytest.mark.parametrize("how", ["bytes", "bits", "gone", ""])
async def test_a_file_that_changes_while_all_is_laid_out_stops_the_restore(tmp_path: Path, how: str) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n", "src/app.py": "agent\n"})
    head = await taken(made)
    again = shadow(folder, acts=Writing(folder / "README", how))
    await again.begin(head)
    plan = await again.plan_restore(first)
    if not how:
        assert (await again.restore(plan)).paths == ("README", "src/app.py")
        return
    with pytest.raises(CheckpointError, match=r"README changed during the restore\."):
        await again.restore(plan)
    assert (folder / "src/app.py").read_text() == "agent\n"
    assert again.head == head
    assert not list(folder.glob(f"{STAGING_PREFIX}*"))
    if how == "bytes":
        assert (folder / "README").read_text() == "another\n"


class Failing(FileOperations):
    """The first rename fails like this."""

    def __init__(self, fault: OSError) -> None:
        self.fault = fault

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        raise self.fault


FAULTS = [
    (OSError(28, "No space left"), "The files could not be restored: No space left."),
    (OSError(28, "No space left", "/w/x"), "The files could not be restored: No space left (/w/x)."),
    (OSError(28, "No space left", b"/w/x"), "The files could not be restored: No space left (/w/x)."),
    (OSError("odd"), "The files could not be restored: odd."),
]


@pytest.mark.slow_variants
@pytest.mark.parametrize(("fault", "said"), FAULTS)
async def test_a_fault_is_told_with_its_file_where_it_has_one(
    tmp_path: Path, fault: OSError, said: str
) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n"})
    head = await taken(made)
    again = shadow(folder, acts=Failing(fault))
    await again.begin(head)
    with pytest.raises(CheckpointError) as raised:
        await again.restore(await again.plan_restore(first))
    assert str(raised.value).startswith(said)
    assert (folder / "README").read_text() == "agent\n"
    assert again.take_notices() == ()


async def test_a_checkpoint_with_no_common_beginning_is_refused(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    store = tmp_path / "checkpoints.git"
    tree = git(store, "rev-parse", f"{made.head}^{{tree}}").strip()
    other = git(store, "commit-tree", "-m", "another beginning", tree).strip()
    write(folder, {"README": "agent\n"})
    await taken(made)
    with pytest.raises(CheckpointError, match="no common ancestor"):
        await made.plan_restore(other)
    assert (folder / "README").read_text() == "agent\n"


async def test_what_a_restore_left_alone_stands_in_its_commit_and_a_whole_one_makes_none(
    tmp_path: Path,
) -> None:
    folder, made, first = await begun_workspace(tmp_path, other="o\n")
    write(folder, {"README": "agent\n", "other": "agent\n"})
    second = await taken(made)
    write(folder, {"other": "human\n"})
    restored = await made.restore(await made.plan_restore(first))
    assert (restored.paths, restored.kept_paths) == (("README",), ("other",))
    said = git(tmp_path / "checkpoints.git", "log", "-1", "--format=%an%n%P%n%B", restored.commit)
    assert said.splitlines()[:3] == ["human", first, "The files after a restore"]
    assert f"Restored: {first}" in said
    assert await made.read_file(restored.commit, "other") == b"human\n"
    write(folder, {"other": "agent\n"})
    await taken(made, "human")
    assert second in git(tmp_path / "checkpoints.git", "log", "--all", "--format=%H")


async def test_what_only_is_called_like_a_cut_restore_is_let_alone(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, {"journal": "theirs\n"})
    (folder / f"{STAGING_PREFIX}file").write_text("mine\n")
    (folder / f"{STAGING_PREFIX}link").symlink_to(elsewhere)
    again = shadow(folder)
    await again.begin(made.head)
    assert (folder / f"{STAGING_PREFIX}file").read_text() == "mine\n"
    assert (elsewhere / "journal").read_text() == "theirs\n"
    assert (folder / f"{STAGING_PREFIX}link").is_symlink()


async def test_empty_folders_in_the_place_of_a_file_make_room_the_deepest_first(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    before = snapshot(folder)
    (folder / "README").unlink()
    write(folder, {"README/x": "x\n"})
    await taken(made)
    (folder / "README" / "empty" / "deep" / "er").mkdir(parents=True)
    (folder / "README" / "beside").mkdir()
    restored = await made.restore(await made.plan_restore(first))
    assert restored.paths == ("README", "README/x")
    assert snapshot(folder) == before


@pytest.mark.parametrize("held", ["file", "link"])
async def test_a_folder_that_holds_anothers_file_or_link_is_not_replaced(tmp_path: Path, held: str) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    (folder / "README").unlink()
    write(folder, {"README/in/x": "x\n"})
    await taken(made)
    place = folder / "README" / "in" / "theirs"
    if held == "file":
        place.write_text("theirs\n")
    else:
        place.symlink_to(tmp_path)
    plan = await made.plan_restore(first)
    assert [(act.path, act.conflict) for act in plan.actions] == [
        ("README", "a folder with other files is in its place"),
        ("README/in/x", ""),
    ]
    restored = await made.restore(plan, ["README"])
    assert (restored.paths, restored.kept_paths) == (("README/in/x",), ("README",))
    assert place.exists()


class Late:
    """Files that nothing kept until the agent came to them; states `one` (app.log), `two` (both) and `three` (app.log)."""

    def __init__(self, folder: Path, made: GitCheckpoints) -> None:
        self.folder, self.made, self.first = folder, made, made.head

    async def edited(self, text: str, *paths: str) -> str:
        """The checkpoint after the agent wrote these files; what stood there was kept before."""
        before = await self.made.find_changes(paths)
        if before:
            await self.made.commit(before, part=1, author="human", message="before a call")
        write(self.folder, dict.fromkeys(paths, text))
        return await self.made.commit(
            await self.made.find_changes(paths), part=1, author="agent", message="m"
        )

    async def at(self, source: str) -> list[str]:
        """What stands in the files once they went there."""
        await self.made.restore(await self.made.plan_restore(source))
        return [(self.folder / name).read_text() for name in ("app.log", "b.log")]


async def late(root: Path) -> tuple[Late, str, str, str]:
    folder = workspace(root, repository=True)
    write(folder, {".gitignore": "*.log\n", "app.log": "app\n", "b.log": "b\n"})
    found = Late(folder, await begun(folder))
    one = await found.edited("one\n", "app.log")
    assert await found.at(found.first) == ["app\n", "b\n"]
    two = await found.edited("two\n", "app.log", "b.log")
    return found, one, two, await found.edited("three\n", "app.log")


@pytest.mark.slow
async def test_a_file_that_was_kept_late_goes_to_each_state_that_a_checkpoint_holds(tmp_path: Path) -> None:
    found, one, two, three = await late(tmp_path)
    for _ in range(2):
        assert await found.at(one) == ["one\n", "b\n"]
        assert await found.at(two) == ["two\n", "two\n"]
        assert await found.at(three) == ["three\n", "two\n"]
        assert await found.at(found.first) == ["app\n", "b\n"]


@pytest.mark.slow_variants
@pytest.mark.parametrize("kept", [True, False])
async def test_a_file_that_was_kept_late_and_changed_by_a_person_asks_first(
    tmp_path: Path, kept: bool
) -> None:
    found, one, two, _ = await late(tmp_path)
    assert await found.at(found.first) == ["app\n", "b\n"]
    write(found.folder, {"b.log": "mine\n"})
    if kept:
        await taken(found.made, "human")
    assert await found.at(one) == ["one\n", "mine\n"]
    plan = await found.made.plan_restore(two)
    assert [(act.path, bool(act.conflict)) for act in plan.actions] == [("app.log", False), ("b.log", True)]
    assert await found.at(two) == ["two\n", "mine\n"]


async def test_what_is_never_kept_is_refused_with_its_reason_as_a_sentence(tmp_path: Path) -> None:
    made = await begun(workspace(tmp_path, repository=True))
    with pytest.raises(CheckpointError) as raised:
        await made.plan_restore(made.head, [".git/config"])
    assert str(raised.value).startswith(".git/config cannot be restored: git's own files are not saved.")
