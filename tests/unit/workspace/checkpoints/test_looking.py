"""What a look finds, what it leaves out, and what it says about it."""

import os
import socket
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, begun_workspace, git, shadow, taken, workspace, write
from tui_agent.workspace.checkpoints.change_detection import rewrite_pattern
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

BOTH = pytest.mark.parametrize("repository", [False, True])


@BOTH
async def test_nothing_differs_after_the_first_checkpoint(tmp_path: Path, repository: bool) -> None:
    made = await begun(workspace(tmp_path, repository=repository))
    assert not await made.find_changes()
    assert not await made.find_changes(["src/app.py", "missing"])
    assert [file.path for file in await made.list_files(made.head)] == ["README", "src/app.py"]


@BOTH
async def test_an_edit_is_told_with_both_sides(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    made = await begun(folder)
    write(folder, {"src/app.py": "print('new')\n", "new": b"\0\xff"})
    (folder / "README").unlink()
    for changes in (await made.find_changes(), await made.find_changes(["README", "new", "src/app.py"])):
        assert changes.paths == ("README", "new", "src/app.py")
        assert [(file.before, file.after) for file in changes.files] == [
            (b"read me\n", None),
            (None, b"\0\xff"),
            (b"print('app')\n", b"print('new')\n"),
        ]
        assert [(file.before_size, file.after_size) for file in changes.files] == [(8, 0), (0, 2), (13, 13)]


async def test_an_edit_of_the_same_length_at_once_is_seen(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    for number in range(5):
        (folder / "README").write_text(f"read {number}\n")
        assert (await made.find_changes()).paths == ("README",)
        await taken(made)


@pytest.mark.slow_variants
@pytest.mark.parametrize("bits", [0o600, 0o755, 0o640])
async def test_permission_bits_are_a_change_and_are_kept(tmp_path: Path, bits: int) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    (folder / "README").chmod(bits)
    changes = await made.find_changes()
    assert [(file.path, file.mode) for file in changes.files] == [("README", bits)]
    await made.commit(changes, part=1, author="agent", message="m")
    assert not await made.find_changes()
    restored = await made.restore(await made.plan_restore(first))
    assert restored.paths == ("README",)
    assert (folder / "README").stat().st_mode & 0o777 == 0o644
    assert made.head == first


@BOTH
async def test_names_of_every_kind_are_kept(tmp_path: Path, repository: bool) -> None:
    names = [
        "-n",
        "--all",
        "new\nline",
        'quote"\\',
        "ünï/ö",
        ":(top)x",
        "*",
        "tab\t",
        " lead",
        "git~1",
        "a\\b",
        "{}",
    ]
    folder = workspace(tmp_path, repository=repository)
    made = await begun(folder)
    write(folder, dict.fromkeys(names, "x\n"))
    assert set((await made.find_changes(names)).paths) == set(names)
    await taken(made)
    assert {file.path for file in await made.list_files(made.head)} >= set(names)
    assert await made.read_file(made.head, "*") == b"x\n"
    again = shadow(folder)
    await again.begin(made.head)
    write(folder, dict.fromkeys(names, "y\n"))
    assert set((await again.find_changes()).paths) == set(names)


async def test_a_name_that_is_no_utf8_is_left_out_and_said(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder)
    write(folder, {os.fsdecode(b"\xff\xfe"): "x"})
    changes = await made.find_changes()
    assert not changes
    assert "not UTF-8" in changes.skipped[0]
    assert changes.skipped[0].encode()


@pytest.mark.slow_variants
@BOTH
async def test_ignored_files_are_taken_only_when_named(tmp_path: Path, repository: bool) -> None:
    files = {".gitignore": "*.log\n", "src/.gitignore": "/build/\n", "a.log": "old\n", "src/build/x": "old\n"}
    folder = workspace(tmp_path, repository=repository, **files)
    if repository:
        write(folder, {".git/info/exclude": "secret\n", "secret": "old\n"})
    made = await begun(folder)
    assert not await made.find_changes(extra_paths=["b.log"])
    write(folder, {"b.log": "new\n", "src/build/y": "new\n"})
    first = made.head
    await made.commit(await made.find_changes(["b.log"]), part=1, author="agent", message="m")
    write(folder, {"b.log": "newer\n"})
    assert (await made.find_changes()).paths == ("b.log",)
    await taken(made)
    await made.restore(await made.plan_restore(first))
    assert not (folder / "b.log").exists()
    await made.commit(await made.find_changes(["a.log"]), part=1, author="agent", message="m")
    plan = await made.plan_restore(first)
    assert [(act.path, act.kind, bool(act.conflict)) for act in plan.actions] == [("a.log", "remove", True)]
    assert (await made.restore(plan)).kept_paths == ("a.log",)
    assert (folder / "a.log").read_text() == "old\n"


async def test_a_part_of_a_repository_follows_the_patterns_above_it(tmp_path: Path) -> None:
    top = workspace(
        tmp_path, repository=True, **{".gitignore": "/part/out/\n*.log\n/other\n", "part/kept": "x\n"}
    )
    write(top, {"part/out/a": "x", "part/b.log": "x", "part/other": "x"})
    made = GitCheckpoints(top / "part", tmp_path / "store.git")
    await made.begin("")
    assert [file.path for file in await made.list_files(made.head)] == ["kept", "other"]


@pytest.mark.parametrize(
    ("pattern", "below", "found"),
    [
        ("*.log", ("a",), "*.log"),
        ("/a/out/", ("a",), "/out/"),
        ("!/a/b/c", ("a", "b"), "!/c"),
        ("*/out", ("a",), "/out"),
        ("/b/out", ("a",), None),
        ("/a", ("a",), "/a"),
        ("a/b", ("a", "b"), None),
        ("**/x/y", ("a",), "/**/x/y"),
    ],
)
def test_a_pattern_is_rewritten_for_a_folder_below(
    pattern: str, below: tuple[str, ...], found: str | None
) -> None:
    assert rewrite_pattern(pattern, below) == (found if pattern != "/a" else None)


async def test_links_are_kept_as_links_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"secret": "s\n"})
    folder = workspace(tmp_path)
    (folder / "link").symlink_to("../outside")
    made = await begun(folder)
    assert await made.read_file(made.head, "link") == b"../outside"
    assert not await made.find_changes(["link/secret"])
    (folder / "src" / "app.py").unlink()
    (folder / "src").rmdir()
    write(tmp_path / "copy", {"app.py": "print('app')\n"})
    (folder / "src").symlink_to(tmp_path / "copy")
    assert (await made.find_changes()).paths == ("src", "src/app.py")
    await taken(made)
    assert [file.path for file in await made.list_files(made.head)] == ["README", "link", "src"]


async def test_pipes_and_sockets_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace(tmp_path)
    os.mkfifo(folder / "pipe")
    made = await begun(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(folder)
        listening.bind("socket")
    (folder / "README").unlink()
    os.mkfifo(folder / "README")
    changes = await made.find_changes()
    assert changes.paths == ("README",)
    assert any("Pipes" in word for word in changes.skipped)
    await made.commit(changes, part=1, author="command", message="m")
    assert not await made.find_changes(["pipe", "socket", "README"])


@BOTH
async def test_pipes_and_sockets_that_a_command_made_are_named(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    write(folder, {".gitignore": "hidden*\n", "hidden/x": "1\n"})
    made = await begun(folder)
    write(folder, {"new/file": "1\n"})
    for path in ("pipe", "src/pipe", "new/pipe", "hidden-pipe", "hidden/pipe"):
        os.mkfifo(folder / path)
    changes = await made.find_changes()
    assert changes.paths == ("new/file",)
    assert changes.skipped == ("Pipes, sockets and devices are not saved: new/pipe, pipe, src/pipe",)


@BOTH
async def test_repositories_inside_are_left_out_and_said(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, {"x": "1\n"})
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "x")
    if repository:
        git(folder, "add", "inner")
    made = shadow(folder)
    first = await made.begin("")
    assert first is not None
    assert "inner" in first.skipped[0]
    write(inner, {"x": "2\n", "y": "1\n"})
    assert not await made.find_changes()
    assert (await made.find_changes(["inner/x"])).skipped
    assert [file.path for file in await made.list_files(made.head)] == ["README", "src/app.py"]


async def test_a_large_file_is_left_out_unless_it_is_kept_already(tmp_path: Path) -> None:
    folder = workspace(tmp_path, big="b" * 2_000)
    made = shadow(folder, limits=Limits(file_bytes=1_000, shown_bytes=500))
    first = await made.begin("")
    assert first is not None
    assert "big" in first.skipped[0]
    write(folder, {"README": "r" * 3_000, "other": "o" * 3_000})
    changes = await made.find_changes()
    assert changes.paths == ("README",)
    assert (changes.files[0].after, changes.files[0].after_size) == (None, 3_000)
    assert "big" in changes.skipped[0] and "other" in changes.skipped[0]
    assert not await made.find_changes(["other"])
    await made.commit(changes, part=1, author="agent", message="m")
    assert await made.read_file(made.head, "README") == b"r" * 3_000


async def test_beyond_the_quota_nothing_more_is_kept(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder, limits=Limits(total_bytes=100_000))
    for number in range(5):
        write(folder, {f"noise{number}": os.urandom(40_000)})
        changes = await made.find_changes()
        if not changes.paths:
            break
        await made.commit(changes, part=number, author="agent", message="m")
    assert number in (2, 3)
    assert "limit of" in changes.skipped[0]
    (folder / "README").unlink()
    assert (await made.find_changes()).paths == ("README",)


async def test_many_changes_are_all_named_and_the_first_told(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    made = await begun(folder, limits=Limits(max_paths=3))
    write(folder, {f"many/{number}": "x\n" for number in range(9)})
    changes = await made.find_changes()
    assert (len(changes.paths), len(changes.files)) == (9, 3)
    await made.commit(changes, part=1, author="agent", message="m")
    assert not await made.find_changes()


async def test_the_sessions_own_folder_in_the_workspace_is_left_out(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    store = folder / ".data [1]" / "session" / "checkpoints.git"
    made = GitCheckpoints(folder, store)
    write(folder, {".data [1]/session/events.jsonl": "{}\n", ".data [1]/other": "x\n"})
    await made.begin("")
    assert [file.path for file in await made.list_files(made.head)] == [
        ".data [1]/other",
        "README",
        "src/app.py",
    ]
    write(folder, {".data [1]/session/events.jsonl": "{}{}\n"})
    assert not await made.find_changes()


async def test_git_itself_is_never_kept(tmp_path: Path) -> None:
    folder = workspace(tmp_path, repository=True)
    made = await begun(folder)
    write(folder, {".git/hooks/post-commit": "#!/bin/sh\n", "sub/.GIT/x": "1\n"})
    assert not await made.find_changes()
    assert not await made.find_changes([".git/hooks/post-commit", "../outside", "/etc/passwd", "a/../b", ""])
