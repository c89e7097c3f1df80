"""Whatever links a tree has: the file that a path finally is decides whether it is read, written and judged secret.

The oracle is the kernel: the path is opened as it stands, following every link, and the file that this gives is looked
up by its number among the files of the tree.
"""

import os
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.left_out import linux_only
from tui_agent.errors import EnvironmentFault
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import ReadEffect, WriteEffect
from tui_agent.workspace.local.containment import Containment
from tui_agent.workspace.local.local_files import LocalFiles
from tui_agent.workspace.local.nofollow_open import has_openat2, open_folder_by_folder

pytestmark = linux_only("the oracle asks /proc which file was opened")
NAMES = ["a", "b", "c", ".env", ".git", "x.txt"]
SEEN: Counter[str] = Counter()
places = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
steps = st.lists(st.sampled_from([*NAMES, "..", "..", ".", ""]), min_size=1, max_size=5).map("/".join)
targets = st.one_of(steps, steps.map(lambda path: f"../outside/{path}"), places.map(lambda path: f"{{top}}/root/{path}"), places.map(lambda path: f"{{top}}/outside/{path}"))  # fmt: skip
makes = st.tuples(st.sampled_from(["file", "file", "folder", "link", "link", "link", "hard"]), st.sampled_from(["root", "root", "outside"]), places, targets)  # fmt: skip
asked = st.one_of(steps, steps.map(lambda path: f"../{path}"), targets)


@dataclass(frozen=True)
class Tree:
    """A workspace and a folder beside it, made of a list of steps; a step that cannot be taken is left out."""

    top: Path

    @property
    def root(self) -> Path:
        return self.top / "root"

    def make(self, steps: list[tuple[str, str, str, str]]) -> None:
        for folder in ("root", "outside"):
            (self.top / folder).mkdir()
        for number, (kind, where, path, target) in enumerate(steps):
            at = self.top / where / path
            with suppress(OSError):
                if not _within(os.path.realpath(at.parent), str(self.top)):
                    continue
                at.parent.mkdir(parents=True, exist_ok=True)
                if kind == "folder":
                    at.mkdir()
                elif kind == "link":
                    at.symlink_to(target.format(top=self.top) or ".")
                elif kind == "hard":
                    os.link(self.top / where / target.format(top=self.top), at, follow_symlinks=False)
                elif not at.exists() and not at.is_symlink():
                    at.write_text(f"{where} {number}")

    def seen(self) -> dict[str, bytes]:
        """The files outside with their contents; a link from there into the workspace is none of them."""
        below = (self.top / "outside").rglob("*")
        return {str(path): path.read_bytes() for path in below if path.is_file() and not path.is_symlink()}


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def final(tree: Tree, path: str) -> tuple[str, bytes] | None:
    """The real path and the content of what the kernel opens; None where that is no file or cannot be opened."""
    try:
        fd = os.open(f"{tree.root}/{path}" if not path.startswith("/") else path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        real = str(Path(f"/proc/self/fd/{fd}").readlink())
        return real, os.read(fd, 1000)
    except IsADirectoryError:
        return None
    finally:
        os.close(fd)


@example([("file", "root", ".env", ""), ("link", "root", "a", ".env")], ["a", "a/../a", "./.env"], True)
@example(
    [("file", "root", ".git/x.txt", ""), ("link", "root", "b", ".git")], ["b/x.txt", ".git/x.txt"], False
)
@example(
    [("file", "outside", "c", ""), ("link", "root", "b", "../outside")],
    ["b/c", "../outside/c", "b/x.txt"],
    True,
)
@settings(max_examples=example_count(60))
@given(
    steps=st.lists(makes, min_size=2, max_size=10),
    paths=st.lists(asked, min_size=3, max_size=8),
    kernel=st.booleans(),
)
def test_the_final_file_decides(
    steps: list[tuple[str, str, str, str]], paths: list[str], kernel: bool
) -> None:
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="tree-")))
    tree = Tree(top)
    try:
        tree.make(steps)
        way = None if kernel and has_openat2() else open_folder_by_folder
        _all(tree, [path.format(top=top) for path in paths], Containment(str(tree.root), open_folder=way))
    finally:
        shutil.rmtree(top)


def _all(tree: Tree, paths: list[str], contain: Containment) -> None:
    outside, files = tree.seen(), LocalFiles(contain)
    for path in paths:
        found = final(tree, path)
        _read(tree, path, found, files)
        _judge(tree, path, found, contain)
        _write(tree, path, found, files)
        assert tree.seen() == outside, path


def _read(tree: Tree, path: str, found: tuple[str, bytes] | None, files: LocalFiles) -> None:
    try:
        content = files.read(path, 1_000_000)
    except EnvironmentFault:
        assert found is None or not _within(found[0], str(tree.root)), (path, found)
        SEEN["refused"] += 1
        return
    if found is not None:  # the kernel says ENOTDIR of `file/..`, which is read here as it is written
        assert (f"{tree.root}/{content.path}", content.data) == found, path
    SEEN["read"] += 1


def _judge(tree: Tree, path: str, found: tuple[str, bytes] | None, contain: Containment) -> None:
    if found is None:
        return
    facts = PolicyFacts(str(tree.root), "bypass", {path: contain.resolve(path)})
    read, write = (
        RulePolicy().decide("t", (effect,), facts).verdict
        for effect in (ReadEffect(path=path), WriteEffect(path=path))
    )
    if Path(found[0]).name == ".env":
        assert read == write == "deny", (path, found)
        SEEN["secret"] += 1
    if "/.git/" in found[0]:
        assert write == "deny", (path, found)
        SEEN["protected"] += 1


def _write(tree: Tree, path: str, found: tuple[str, bytes] | None, files: LocalFiles) -> None:
    expect = None if found is None else sha256(found[1]).hexdigest()
    try:
        written = files.write(path, b"new", expect)
    except EnvironmentFault:
        return
    landed = final(tree, written.path)
    assert landed is not None and _within(landed[0], str(tree.root)), path
    SEEN["written"] += 1


def test_the_trees_were_worth_it() -> None:
    """Runs behind the other: every outcome came up, so the property was tried on all of them."""
    assert {"read", "refused", "secret", "protected", "written"} <= set(SEEN) or not SEEN
