"""A command that was judged to only read finds the workspace and its repository read-only, and reads as before."""

import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from tests.stubs.left_out import leave_out
from tests.stubs.sandboxed import World, confinement, git
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox import seatbelt
from tui_agent.workspace.sandbox.denials import explain_denial
from tui_agent.workspace.sandbox.mounts import Bounds, Mounts

READ_ONLY = "The command tried to change the workspace, which is read-only for this command"


async def run(env: LocalEnvironment, script: str) -> ExecResult:
    return await env.exec(ExecSpec(script=script, timeout=30, read_only=True), lambda data: None)


WRITES = [
    "echo b > a.txt",
    "echo b > new.txt",
    "rm -rf .git/refs .git/objects",
    "rm -f a.txt",
    "mv a.txt b.txt",
    "mkdir new",
    "ln -s a.txt new",
    "chmod 600 a.txt",
    "touch -d 2001-01-01 a.txt",
    "git checkout -q -b other",
    "git config a.b c",
    "mkdir .vscode",
]


@pytest.mark.slow_variants
@pytest.mark.parametrize("script", WRITES)
async def test_nothing_of_the_workspace_changes_and_the_refusal_says_why(base: Path, script: str) -> None:
    with World(base / "world") as world:
        before = (world.workspace / "a.txt").stat()
        result = await run(world.env, script)
        await world.env.aclose()
        assert result.exit_code
        assert result.blocked.startswith(READ_ONLY)
        assert sorted(path.name for path in world.workspace.iterdir()) == [".git", "a.txt"]
        after = (world.workspace / "a.txt").stat()
        assert (before.st_mtime, before.st_mode, before.st_size) == (
            after.st_mtime,
            after.st_mode,
            after.st_size,
        )
        assert git(world.workspace, "fsck") == ""
        assert git(world.workspace, "status", "--short", "--branch") == "## master\n"


READS = {
    "git status --short": " M a.txt",
    "git diff --stat": " a.txt | 1 +",
    "git log --format=%s": "first",
    "git show --stat --format=%s HEAD": "first",
    "git blame -s a.txt": "a",
    "git describe --always --dirty": "-dirty",
    "git stash list; git branch; git worktree list": "master",
    "rg -n b": "a.txt:2:b",
    "grep -rn b . --include=*.txt": "./a.txt:2:b",
    "find . -name '*.txt' -newer .git/HEAD": "./a.txt",
    "cat <<< text; sort a.txt; ls -la": "text",
    "echo own > /tmp/own && cat /tmp/own": "own",
    "ls -A": "a.txt",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("script", READS)
async def test_reading_works_as_before(base: Path, script: str) -> None:
    program = script.partition(" ")[0]
    if shutil.which(program) is None and program == "rg":
        leave_out("ripgrep is not installed")
    with World(base / "world") as world:
        with (world.workspace / "a.txt").open("a") as file:
            file.write("b\n")
        result = await run(world.env, script)
        await world.env.aclose()
        assert (result.exit_code, result.blocked, result.notes) == (0, "", ())
        assert READS[script] in result.output.decode()
        assert b"Read-only" not in result.output


async def test_checkers_that_keep_a_cache_in_the_workspace_keep_it_in_tmp(base: Path) -> None:
    with World(base / "world") as world:
        (world.workspace / "x.py").write_text("import os\n")
        result = await run(
            world.env,
            f"{shlex.quote(sys.executable)} -m ruff check . && {shlex.quote(sys.executable)} -m ruff check .",
        )
        await world.env.aclose()
        assert b"F401" in result.output
        assert (result.exit_code, result.blocked) == (1, "")
        assert not (world.workspace / ".ruff_cache").exists()


async def test_a_workspace_in_tmp_is_read_only_too(base: Path) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder)
        (root / "a.txt").write_text("a\n")
        env = LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))
        result = await run(env, "cat a.txt; echo b > a.txt")
        await env.aclose()
        assert result.output.startswith(b"a\n") and result.blocked.startswith(READ_ONLY)
        assert (root / "a.txt").read_text() == "a\n"


async def test_the_repository_of_a_worktree_is_read_only_too(base: Path) -> None:
    with World(base / "main") as main:
        git(main.workspace, "worktree", "add", "-q", str(base / "tree"))
        env = LocalEnvironment(
            base / "tree", confinement=confinement(base / "tree", main.home, base / "records")
        )
        read = await run(env, "git status --short --branch; git log --format=%s")
        wrote = await run(env, f"rm -rf {main.workspace}/.git/*")
        await env.aclose()
        assert (read.exit_code, read.output) == (0, b"## tree\nfirst\n")
        assert wrote.exit_code
        assert git(main.workspace, "fsck") == ""


async def test_stand_ins_of_a_command_that_still_runs_are_told_as_such(base: Path) -> None:
    with World(base / "world", repository=False) as world:
        async with anyio.create_task_group() as group:
            writer = ExecSpec(script="echo up; until [ -e /tmp/seen ]; do sleep 0.02; done", timeout=30)
            up = anyio.Event()
            group.start_soon(world.env.exec, writer, lambda data: up.set())
            await up.wait()
            listed = await run(world.env, "ls -A; touch /tmp/seen")
        await world.env.aclose()
        assert listed.output == b".git\na.txt\ncommondir\nrefs\n"
        assert "placeholders" in " ".join(listed.notes)


async def test_folders_that_the_user_opened_are_read_only_too(base: Path) -> None:
    with World(base / "world") as world:
        opened = confinement(
            world.workspace, world.home, base / "records", writable=(str(world.outside.resolve()),)
        )
        env = LocalEnvironment(world.workspace, confinement=opened)
        result = await run(env, f"echo b > {world.outside}/file")
        await env.aclose()
        await world.env.aclose()
        assert result.exit_code
        assert (world.outside / "file").read_text() == "untouched\n"


def test_the_profile_of_macos_lets_nothing_of_the_workspace_be_written() -> None:
    places = Mounts((), (), ("/work", "/work/.git"), ("/work/.git/config",), (), read_only=True)
    lines = seatbelt.build_profile(places, "/private/p/tmp", network=False).splitlines()
    assert lines.index("(deny file-write*)") < lines.index('(allow file-write* (subpath "/private/p/tmp"))')


def test_a_refusal_outside_names_the_place_outside() -> None:
    line = "touch: cannot touch '/etc/x': Read-only file system"
    assert "/etc/x" in explain_denial(line, 1, Bounds("/work"), network=False, read_only=True)
