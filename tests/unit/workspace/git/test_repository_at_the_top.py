"""No command makes the top of a workspace a repository of its own, whose settings whoever looks there later would run."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.stubs.sandboxed import SETTINGS, World, git
from tui_agent.ports.environment import ExecSpec

CONFIG = "[core]\\n\\trepositoryformatversion=0\\n\\tbare=false\\n\\tworktree=.\\n\\tfsmonitor=touch fired; false\\n"
WHOLE = (
    "rm -rf refs objects commondir; mkdir -p objects refs/heads; echo 'ref: refs/heads/main' > HEAD;"
    f" printf '{CONFIG}' > config"
)
BORROWED = (
    "rm -rf commondir; mkdir -p base/objects base/refs; echo base > commondir; echo 'ref: refs/heads/main' > HEAD;"
    f" printf '{CONFIG}' > base/config; cp base/config config; mv base/refs .; cp -r base/objects ."
)
PLANTED = {
    "whole": WHOLE,
    "borrowed": BORROWED,
    "renamed": f"mkdir x; cd x; {WHOLE}; mv * ..; mv -T refs ../refs",
}


def look(workspace: Path) -> bool:
    """Whether somebody's `git status` there ran what the settings name."""
    subprocess.run(
        ["git", "status"], cwd=workspace, env={**os.environ, **SETTINGS}, check=False, capture_output=True
    )
    return (workspace / "fired").exists()


def plant(workspace: Path, planted: str) -> None:
    subprocess.run(["bash", "-c", planted], cwd=workspace, check=False, capture_output=True)


def test_what_is_planted_would_run_where_nothing_guards(base: Path) -> None:
    plant(base, WHOLE)
    assert look(base)


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("there", ["", "refs", "refs objects"])
async def test_the_top_of_a_workspace_is_made_no_repository(base: Path, name: str, there: str) -> None:
    with World(base / "world", repository=False) as world:
        for one in there.split():
            (world.workspace / one).mkdir()
            (world.workspace / one / "mine.txt").write_text("mine\n")
        await world.attempt(PLANTED[name])
        await world.env.aclose()
        assert not look(world.workspace)
        assert not (world.workspace / "commondir").exists()


async def test_nor_where_its_repository_was_taken_apart(base: Path) -> None:
    with World(base / "world") as world:
        await world.attempt(f"rm -rf .git/HEAD .git/objects .git/refs .git/index; {WHOLE}")
        await world.env.aclose()
        assert not look(world.workspace)


async def test_nobody_who_looks_while_a_command_runs_runs_it(base: Path) -> None:
    with World(base / "world", repository=False) as world:
        planted: list[bool] = []

        def seen(data: bytes) -> None:
            planted.append(look(world.workspace))

        await world.env.exec(ExecSpec(script=f"{WHOLE}; echo planted; sleep 0.3"), seen)
        await world.env.aclose()
        assert planted
        assert not any(planted)


async def test_what_a_repository_at_the_top_runs_stays_as_it_is(base: Path) -> None:
    with World(base / "world", repository=False) as world:
        git(world.workspace, "init", "-q", "--bare", ".")
        await world.attempt(
            f"rm -f config HEAD; printf '{CONFIG}' > config; echo x > hooks/post-checkout; mv hooks h"
        )
        await world.env.aclose()
        assert "fsmonitor" not in (world.workspace / "config").read_text()
        assert not (world.workspace / "hooks/post-checkout").exists()


async def test_git_speaks_of_head_and_sees_no_stand_in(base: Path) -> None:
    with World(base / "world") as world:
        result = await world.attempt("echo b >> a.txt; git diff --stat HEAD; git status --short")
        await world.env.aclose()
        assert result.output.decode().splitlines()[-1:] == [" M a.txt"]


async def test_a_command_that_only_looks_sees_no_stand_in_without_a_dot(base: Path) -> None:
    with World(base / "world") as world:
        result = await world.env.exec(ExecSpec(script="ls", show_secrets_as_empty=True), lambda data: None)
        await world.env.aclose()
        assert result.output == b"a.txt\n"
