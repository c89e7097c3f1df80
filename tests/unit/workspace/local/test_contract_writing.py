"""The contract of ports.environment, the same for every environment: what is written, replaced and removed."""

import os

import pytest

from tests.unit.workspace.local.contract import digest, names
from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.errors import EnvironmentFault, StaleFile


async def test_a_new_file_is_made_with_its_folders(env, root):
    written = await env.write("a/b/c.txt", b"x", None)
    assert (root / "a/b/c.txt").read_bytes() == b"x"
    assert written.digest == digest(b"x")
    assert written.mode == (root / "a/b/c.txt").stat().st_mode & 0o7777


async def test_a_new_file_does_not_replace_one_that_is_there(env, root):
    (root / "a").write_text("old")
    with pytest.raises(StaleFile, match="exists"):
        await env.write("a", b"new", None)
    assert (root / "a").read_text() == "old"


async def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(env, root):
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o750)
    before = (root / "run.sh").stat().st_ino
    await env.write("run.sh", b"new", digest(b"old"))
    after = (root / "run.sh").stat()
    assert (root / "run.sh").read_bytes() == b"new"
    assert after.st_mode & 0o7777 == 0o750
    assert after.st_ino != before


@pytest.mark.parametrize("change", ["edited", "gone"])
async def test_a_stale_base_is_refused(env, root, change):
    (root / "a").write_text("edited by someone")
    if change == "gone":
        (root / "a").unlink()
    with pytest.raises(StaleFile):
        await env.write("a", b"new", digest(b"old"))
    with pytest.raises(StaleFile):
        await env.remove("a", digest(b"old"))


async def test_a_failed_write_leaves_no_temporary_file(env, root):
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    with pytest.raises(EnvironmentFault, match="write-protected"):
        await env.write("a", b"new", digest(b"old"))
    (root / "folder").mkdir()
    with pytest.raises(EnvironmentFault):
        await env.write("folder", b"new", None)
    with pytest.raises(EnvironmentFault):
        await env.write("a/below", b"new", None)
    assert names(root) == ["a", "folder"]


async def test_a_hard_link_to_a_file_outside_is_cut_not_written_through(env, root):
    outside = root.parent / "outside" / "secret.txt"
    os.link(outside, root / "hard")
    await env.write("hard", b"new", digest(b"secret"))
    assert outside.read_text() == "secret"


async def test_remove_takes_the_file_away_but_never_a_link(env, root):
    (root / "a").write_text("x")
    (root / "l").symlink_to("a")
    with pytest.raises(EnvironmentFault):
        await env.remove("l", digest(b"x"))
    await env.remove("a", digest(b"x"))
    assert names(root) == ["l"]
