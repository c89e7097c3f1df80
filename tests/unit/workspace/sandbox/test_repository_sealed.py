"""A command that nobody was asked about, and whose words do not say what it changes, leaves the repository as it is."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.stubs.sandboxed import World, confinement, git
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment


async def run(env: LocalEnvironment, script: str) -> ExecResult:
    return await env.exec(ExecSpec(script=script, repository_read_only=True), lambda data: None)


async def test_the_history_can_be_read_and_not_be_destroyed(base: Path) -> None:
    with World(base / "world") as world:
        script = "rm -rf .git; mv .git gone; rm -rf .git/objects .git/refs; echo x > .git/HEAD; git log --format=%s"
        result = await run(world.env, script)
        await world.env.aclose()
        assert result.output.decode().splitlines()[-1] == "first"
        assert git(world.workspace, "log", "--format=%s") == "first\n"
        assert git(world.workspace, "fsck") == ""
        assert git(world.workspace, "status", "--short") == ""


async def test_nor_the_one_of_a_worktree_that_lies_elsewhere(base: Path) -> None:
    with World(base / "main") as main:
        git(main.workspace, "worktree", "add", "-q", str(base / "tree"))
        env = LocalEnvironment(
            base / "tree", confinement=confinement(base / "tree", main.home, base / "records")
        )
        result = await run(
            env, f"git log --format=%s; rm -rf {main.workspace}/.git/*; git commit --allow-empty -m x"
        )
        await env.aclose()
        await main.env.aclose()
        assert result.output.startswith(b"first\n")
        assert git(base / "tree", "log", "--format=%s") == "first\n"
        assert git(main.workspace, "fsck") == ""


async def test_the_repository_of_a_worktree_is_found_in_the_machines_temporary_folder() -> None:
    with TemporaryDirectory(dir="/tmp") as folder, World(Path(folder, "main")) as main:
        tree = Path(folder, "tree")
        git(main.workspace, "worktree", "add", "-q", str(tree))
        env = LocalEnvironment(tree, confinement=confinement(tree, main.home, Path(folder, "records")))
        result = await run(env, "echo begun; git log --format=%s; git commit --allow-empty -m x")
        await env.aclose()
        await main.env.aclose()
        assert result.output.startswith(b"begun\nfirst\n")
        assert git(tree, "log", "--format=%s") == "first\n"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "script",
    [
        "git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m x",
        'python3 -c \'open(".git/HEAD", "w")\'',
        "rm -rf .git/objects",
    ],
)
async def test_the_refusal_says_how_a_commit_is_made(base: Path, script: str) -> None:
    with World(base / "world") as world:
        result = await run(world.env, script)
        await world.env.aclose()
        assert "only git commands can do that" in result.blocked


async def test_repositories_that_tests_make_below_are_theirs(base: Path) -> None:
    with World(base / "world") as world:
        script = "git init -q t && cd t && git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m x && git log --format=%s"
        result = await run(world.env, script)
        await world.env.aclose()
        assert (result.exit_code, result.output) == (0, b"x\n")


async def test_git_that_only_looks_is_not_troubled(base: Path) -> None:
    with World(base / "world") as world:
        result = await run(
            world.env,
            "touch a.txt; git status --short; git diff; git describe --always --dirty; ls .git/hooks | head -1",
        )
        await world.env.aclose()
        assert (result.exit_code, result.notes) == (0, ())
        assert b"Read-only" not in result.output
