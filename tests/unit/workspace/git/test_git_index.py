"""Links to repositories in an index are read as git reads them, and from no index of which a part is not known."""

import struct
import subprocess
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tests.stubs.steered_repositories import build_plain, git
from tui_agent.workspace.git.repository_layout import read_gitlinks
from tui_agent.workspace.git.stat_cache import UnsafeRepositoryError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return build_plain(tmp_path / "work")


@pytest.fixture
def index(work: Path) -> Path:
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{git(work, 'rev-parse', 'HEAD')},vendor/x")
    return work / ".git" / "index"


def test_links_of_an_index_are_read_as_git_reads_them(work: Path, index: Path) -> None:
    assert read_gitlinks(str(index)) == (b"vendor/x",)
    for name in ("a" * 200, "b" * 4200):
        blob = git(work, "hash-object", "-w", "README.md")
        path = "/".join(name[at : at + 200] for at in range(0, len(name), 200))
        git(work, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    git(work, "update-index", "--skip-worktree", "vendor/x")
    assert index.read_bytes()[7] == 3 and read_gitlinks(str(index)) == (b"vendor/x",)


def test_the_index_of_many_files_has_a_table_that_must_agree(work: Path, index: Path) -> None:
    blob = git(work, "hash-object", "-w", "README.md")
    lines = "".join(f"100644 {blob}\tf{number}\n" for number in range(25_000))
    subprocess.run(
        ["git", "-c", "index.threads=2", "update-index", "--index-info"],
        cwd=work,
        input=lines.encode(),
        check=True,
    )
    data = index.read_bytes()
    assert b"IEOT" in data[-200:] and read_gitlinks(str(index)) == (b"vendor/x",)
    table = data.index(b"IEOT", len(data) - 200) + 12
    index.write_bytes(data[:table] + struct.pack(">I", 84) + data[table + 4 :])
    with pytest.raises(UnsafeRepositoryError):
        read_gitlinks(str(index))


@rows(
    "place, put",
    [(4, b"\0\0\0\4"), (38, b"\xe1\xa4"), (36, b"\xff\xff\xe0\0"), (-20, b"link\0\0\0\0" + bytes(20)), (-28, b""), (8, b"\0\0\1\0")],
)  # fmt: skip
def test_an_index_of_another_kind_is_not_read(index: Path, place: int, put: bytes) -> None:
    data = index.read_bytes()
    index.write_bytes(data[:place] + put + (data[place + len(put) :] if place > 0 else b""))
    with pytest.raises(UnsafeRepositoryError):
        read_gitlinks(str(index))
    index.write_bytes(data)
