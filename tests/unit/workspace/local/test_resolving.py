"""Where several paths lead is looked up together, and is what each of them alone leads to."""

import os
from pathlib import Path

import pytest

from tests.unit.workspace.local.test_spelling import FoldingNames
from tui_agent.errors import EnvironmentFault
from tui_agent.workspace.local.containment import Containment
from tui_agent.workspace.local.path_spelling import NameLookup, listed_spelling


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("src/a.py", "src/sub/b.py", ".git/config", "Other/C.py", "plain"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (tmp_path / "beside").mkdir()
    for name, to in [
        ("link", "src"),
        ("out", "../beside"),
        ("src/up", ".."),
        ("src/file", "a.py"),
        ("dangling", "nowhere/at/all"),
        ("round", "round"),
        ("chain", "link/up/out"),
    ]:
        (root / name).symlink_to(to)
    return root


PATHS = [
    "", ".", "/", "..", "../beside", "../beside/new", "src", "src/", "src//a.py", "./src/a.py", "src/a.py", "src/sub/b.py",
    "src/sub/new/deep/er", "src/../plain", "src/up/plain", "src/up/src/up/link/file", "link/a.py", "link/sub/../a.py", "out/x",
    "out/../x", "dangling", "dangling/x", "round", "round/x", "chain/y", "plain/below", "plain/../src", "SRC/A.PY", ".GIT/config",
    "other/c.py", "/etc/hosts", "/etc/nowhere/x", "/proc/self/status", "/proc/self/cwd/src", "~", "a" * 300, "src/" + "b" * 300,
]  # fmt: skip


@pytest.mark.slow_variants
@pytest.mark.parametrize("names", [NameLookup(), FoldingNames()])
@pytest.mark.parametrize("order", [1, -1])
def test_together_they_lead_where_each_does_alone(folder: Path, names: NameLookup, order: int) -> None:
    root = os.path.realpath(folder)
    contain = Containment(root, names=names)
    found = contain.resolve_all(PATHS[::order])
    for path in PATHS:
        alone = listed_spelling(
            os.path.realpath(path if path.startswith("/") else f"{root}/{path}"), root, names
        )
        assert (found[path], contain.resolve(path)) == (alone, alone), path


def test_a_folder_is_looked_up_once_and_each_time_anew(folder: Path) -> None:
    class Counting(NameLookup):
        looked = 0

        def identity(self, path: str) -> tuple[int, int] | None:
            Counting.looked += path.endswith("/src/sub")
            return super().identity(path)

    contain = Containment(str(folder), names=Counting())
    paths = [f"src/sub/{number}.py" for number in range(50)]
    contain.resolve_all(paths)
    assert Counting.looked == 1
    (folder / "src/sub").rename(folder / "src/gone")
    (folder / "src/sub").symlink_to("../Other")
    assert set(contain.resolve_all(paths).values()) == {f"{folder}/Other/{number}.py" for number in range(50)}


def test_one_that_no_file_can_be_called_fails_all(folder: Path) -> None:
    with pytest.raises(EnvironmentFault, match="NUL"):
        Containment(str(folder)).resolve_all(["src/a.py", "a\0b"])
