"""The contract of ports.environment, the same for every environment: what is there, listed and walked through."""

import os
from pathlib import Path

import pytest

from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.workspace.local.environment import LocalEnvironment


async def test_stat_tells_what_is_there_without_following_links(env, root):
    (root / "f").write_bytes(b"123")
    (root / "l").symlink_to("/etc/passwd")
    os.mkfifo(root / "p")
    kinds = [(await env.stat(name)) for name in ("f", "l", "p", ".", "")]
    assert [found.kind for found in kinds] == ["file", "link", "other", "directory", "directory"]
    assert kinds[0].size == 3
    assert await env.stat("missing/below") is None
    assert await env.stat("f/below") is None
    with pytest.raises(EnvironmentFault):
        await env.stat("../outside")


async def test_listdir_is_sorted_and_relative_to_the_root(env, root):
    (root / "d").mkdir()
    for name in ("b", "a", "ä", "C"):
        (root / "d" / name).touch()
    assert [found.path for found in await env.listdir("d")] == ["d/C", "d/a", "d/b", "d/ä"]
    with pytest.raises(EnvironmentFault):
        await env.listdir("missing")


async def walked(env: Environment, path: str = "", *, ignored: bool = False) -> list[str]:
    return [found.path async for found in env.walk(path, include_ignored=ignored)]


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


async def test_walk_respects_ignore_files_at_every_depth(env, root):
    plant(
        root,
        "a.py",
        "a.pyc",
        "src/b.py",
        "src/keep.pyc",
        "src/build/x",
        "build/y",
        "src/gen/z.txt",
        "docs/n.log",
    )
    (root / ".gitignore").write_text("*.pyc\n/build/\n*.log\n[\n")
    (root / "src/.gitignore").write_text("!keep.pyc\ngen/\n")
    assert await walked(env) == [
        ".gitignore",
        "a.py",
        "src/.gitignore",
        "src/b.py",
        "src/build/x",
        "src/keep.pyc",
    ]
    assert await walked(env, "src") == ["src/.gitignore", "src/b.py", "src/build/x", "src/keep.pyc"]
    assert "a.pyc" in await walked(env, ignored=True)


async def test_walk_leaves_out_the_repository_caches_and_installed_code(env, root):
    plant(
        root,
        ".git/config",
        "__pycache__/a.pyc",
        "node_modules/x/i.js",
        ".venv/bin/python",
        "a",
        ".github/w.yml",
    )
    assert await walked(env) == [".github/w.yml", "a"]
    assert await walked(env, ignored=True) == [
        ".github/w.yml",
        ".venv/bin/python",
        "a",
        "node_modules/x/i.js",
    ]


async def test_walk_lists_links_and_never_follows_them(env, root):
    plant(root, "a/b/c")
    (root / "a/b/up").symlink_to("../..")
    (root / "out").symlink_to(root.parent / "outside")
    os.mkfifo(root / "pipe")
    assert await walked(env) == ["a/b/c", "a/b/up", "out"]


async def test_walk_reads_the_rules_of_the_repository_above(tmp_path):
    plant(tmp_path, ".git/info/exclude", "pkg/a.tmp", "pkg/b.py", "pkg/c.own")
    (tmp_path / ".gitignore").write_text("*.tmp\n")
    (tmp_path / ".git/info/exclude").write_text("*.own\n")
    assert await walked(LocalEnvironment(tmp_path / "pkg")) == ["b.py"]


async def test_walk_into_an_ignored_folder_shows_what_is_there(tmp_path):
    plant(tmp_path, ".git/HEAD", "build/pkg/a.py", "build/pkg/b.tmp")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert await walked(LocalEnvironment(tmp_path)) == [".gitignore"]
    assert await walked(LocalEnvironment(tmp_path), "build/pkg") == ["build/pkg/a.py", "build/pkg/b.tmp"]
    assert await walked(LocalEnvironment(tmp_path / "build")) == ["pkg/a.py", "pkg/b.tmp"]


@pytest.mark.slow_variants
async def test_walk_of_a_deep_tree_and_of_a_missing_folder(env, root):
    deep = "/".join(["d"] * 300)
    plant(root, deep + "/x")
    assert await walked(env) == [deep + "/x"]
    assert await walked(env, "missing") == []


async def test_resolve_tells_where_a_path_leads(env, root):
    (root / "l").symlink_to("/etc")
    assert env.resolve("l/passwd") == "/etc/passwd"
    assert env.resolve("new/file") == str(root / "new/file")
