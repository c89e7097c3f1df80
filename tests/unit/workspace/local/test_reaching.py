"""Files outside the workspace: reached only where a call was allowed to, and only the file that was named."""

import hashlib
from pathlib import Path

import pytest

from tui_agent.errors import EnvironmentFault, StaleFile
from tui_agent.protocol.effects import InternalEffect, ReadEffect, WriteEffect
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.granted_paths import grant_paths


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("workspace", "other", "third"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"in {name}")
    return tmp_path / "workspace"


async def test_an_allowed_file_outside_is_read_and_replaced_and_its_neighbours_are_not(
    workspace: Path,
) -> None:
    local = LocalEnvironment(workspace)
    env = grant_paths(local, (ReadEffect(path="../other/a.txt"), WriteEffect(path="../other/new.txt")))
    content = await env.read("../other/a.txt")
    assert content.data == b"in other" and content.path == str(workspace.parent / "other" / "a.txt")
    assert (await env.read("a.txt")).data == b"in workspace"
    await env.write("../other/new.txt", b"new", None)
    assert (workspace.parent / "other" / "new.txt").read_bytes() == b"new"
    with pytest.raises(StaleFile):
        await env.write("../other/a.txt", b"x", hashlib.sha256(b"something else").hexdigest())
    with pytest.raises(EnvironmentFault):
        await env.read("../third/a.txt")
    await local.aclose()


async def test_a_link_swapped_in_after_the_decision_leads_nowhere(workspace: Path) -> None:
    local = LocalEnvironment(workspace)
    target = workspace.parent / "other" / "a.txt"
    env = grant_paths(local, (ReadEffect(path=str(target)),))
    target.unlink()
    target.symlink_to(workspace.parent / "third" / "a.txt")
    with pytest.raises(EnvironmentFault):
        await env.read(str(target))
    await local.aclose()


async def test_an_allowed_folder_outside_is_listed(workspace: Path) -> None:
    local = LocalEnvironment(workspace)
    env = grant_paths(local, (ReadEffect(path="../other", recursive=True),))
    assert [info.path.rpartition("/")[2] for info in await env.listdir("../other")] == ["a.txt"]
    assert (await env.read("../other/a.txt")).data == b"in other"
    await local.aclose()


async def test_a_call_that_stays_inside_gets_the_environment_itself(workspace: Path) -> None:
    local = LocalEnvironment(workspace)
    assert grant_paths(local, (ReadEffect(path="a.txt"), InternalEffect(subject="x"))) is local
    await local.aclose()


async def test_an_allowed_folder_outside_is_walked_and_its_files_are_named_whole(workspace: Path) -> None:
    other = workspace.parent / "other"
    (other / "deep").mkdir()
    (other / "deep" / "b.txt").write_text("b")
    (other / "link").symlink_to(workspace.parent / "third")
    local = LocalEnvironment(workspace)
    env = grant_paths(local, (ReadEffect(path="../other", recursive=True),))
    found = {item.path: item.kind async for item in env.walk("../other")}
    assert found == {
        str(other / "a.txt"): "file",
        str(other / "deep" / "b.txt"): "file",
        str(other / "link"): "link",
    }
    there = await env.stat("../other")
    assert there is not None and there.path == str(other)
    assert [item.path async for item in env.walk("")] == ["a.txt"]
    with pytest.raises(EnvironmentFault):
        [item async for item in env.walk("../third")]
    await local.aclose()
