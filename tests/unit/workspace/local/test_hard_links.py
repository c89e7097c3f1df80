"""A hard link of the workspace to a file outside: what file tools and confined commands do with it."""

import hashlib
from pathlib import Path

from tests.stubs.sandboxed import World, elsewhere, require_sandbox
from tui_agent.workspace.local.environment import LocalEnvironment


async def test_file_tools_put_a_new_file_in_its_place_and_leave_the_one_outside(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "work"
    root.mkdir()
    outside.write_text("mine\n")
    for name in ("changed", "removed"):
        (root / name).hardlink_to(outside)
    env = LocalEnvironment(root)
    digest = hashlib.sha256(b"mine\n").hexdigest()
    await env.write("changed", b"other\n", digest)
    await env.remove("removed", digest)
    await env.aclose()
    assert (outside.read_text(), outside.stat().st_nlink) == ("mine\n", 1)
    assert (root / "changed").read_text() == "other\n"
    assert sorted(each.name for each in root.iterdir()) == ["changed"]


async def test_a_confined_command_makes_none_to_a_file_outside() -> None:
    require_sandbox()
    with elsewhere() as base, World(base) as world:
        made = await world.attempt("ln <outside>/file here || cp -l <outside>/file here; echo x >> here")
        await world.env.aclose()
        assert b"Invalid cross-device link" in made.output
        assert world.damage(made) == []


async def test_through_one_that_is_there_already_a_confined_command_writes() -> None:
    """Not promised otherwise: to the kernel both names are one file, and it lies in the workspace as much as outside."""
    require_sandbox()
    with elsewhere() as base, World(base) as world:
        (world.workspace / "here").hardlink_to(world.outside / "file")
        await world.attempt("echo more >> here")
        await world.env.aclose()
        assert (world.outside / "file").read_text() == "untouched\nmore\n"
