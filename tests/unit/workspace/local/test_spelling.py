"""Other spellings of a name, on a file system that opens a file under them."""

import os
import shutil
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tui_agent.workspace.local.containment import Containment
from tui_agent.workspace.local.path_spelling import NameLookup, listed_spelling


class FoldingNames(NameLookup):
    """This machine's files as a file system sees them to which letters' case and form mean nothing."""

    def identity(self, path: str) -> tuple[int, int] | None:
        real = self._real(path)
        return None if real is None else super().identity(real)

    def list_names(self, folder: str) -> Iterator[tuple[str, int]]:
        return super().list_names(self._real(folder) or folder)

    def _real(self, path: str) -> str | None:
        at = Path("/")
        for name in path.split("/"):
            if name:
                beside = at.iterdir() if at.is_dir() else iter(())
                found = next((each for each in beside if key(each.name) == key(name)), None)
                if found is None:
                    return None
                at = found
        return str(at)


@cache
def key(name: str) -> str:
    plain = "".join(char for char in unicodedata.normalize("NFD", name) if unicodedata.category(char) != "Cf")
    short = {"GIT~1": ".git"}.get(plain, plain)
    return short.casefold().rstrip(". ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in (".git/hooks/x", "Src/Straße.py", "Src/caf\u00e9", "Src/1.0"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "true"),
    [
        (".git/hooks/x", ".git/hooks/x"),
        (".GIT/Hooks/X", ".git/hooks/x"),
        (".git./hooks ./x. .", ".git/hooks/x"),
        (".g\u200cit/hooks/x", ".git/hooks/x"),
        ("GIT~1/hooks/x", ".git/hooks/x"),
        ("SRC/STRASSE.PY", "Src/Straße.py"),
        ("src/cafe\u0301", "Src/caf\u00e9"),
        ("src/1.0", "Src/1.0"),
        (".GIT/hooks/missing/Deep", ".git/hooks/missing/Deep"),
        ("Missing", "Missing"),
    ],
)
def test_the_name_that_the_folder_lists_is_the_real_one(folder: Path, given: str, true: str) -> None:
    assert listed_spelling(f"{folder}/{given}", str(folder), FoldingNames()) == f"{folder}/{true}"


def test_a_containment_resolves_to_the_listed_name(folder: Path) -> None:
    contain = Containment(str(folder), names=FoldingNames())
    assert contain.resolve(".GIT/HOOKS/X") == f"{folder}/.git/hooks/x"
    assert contain.resolve_parts(".Git/config") == (".git", "config")
    assert contain.resolve_entry(".Git/Hooks") == (".git", "hooks")


def test_a_spelling_is_the_name_that_this_machines_file_system_takes_it_for(tmp_path: Path) -> None:
    given = ("a.txt", "A.TXT", "caf\u00e9", "cafe\u0301", "end.", "end")
    for name in given:
        (tmp_path / name).write_text(name)
    listed = {path.stat().st_ino: path.name for path in tmp_path.iterdir()}
    for name in given:
        true = listed[(tmp_path / name).stat().st_ino]  # where letters count, the name itself
        assert listed_spelling(f"{tmp_path}/{name}", str(tmp_path), NameLookup()) == f"{tmp_path}/{true}"
    assert listed_spelling(f"{tmp_path}/missing", str(tmp_path), NameLookup()) == f"{tmp_path}/missing"


def test_a_folder_is_called_as_this_machines_file_system_takes_its_name(folder: Path) -> None:
    true = "Src" if (folder / "SRC").exists() else "SRC"
    assert Containment(str(folder)).resolve("SRC/1.0") == f"{folder}/{true}/1.0"


def test_hard_links_that_differ_in_case_stay_two_names(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    if not (tmp_path / "A").exists():
        os.link(tmp_path / "a", tmp_path / "A")
    one = (tmp_path / "A") not in tmp_path.iterdir()  # where the file system folds names
    true = "a" if one else "A"
    assert listed_spelling(f"{tmp_path}/A", str(tmp_path), NameLookup()) == f"{tmp_path}/{true}"


def test_a_folder_that_may_not_be_listed_leaves_the_name_as_it_is(folder: Path) -> None:
    class Blind(FoldingNames):
        def list_names(self, folder: str) -> Iterator[tuple[str, int]]:
            return iter(())

    assert listed_spelling(f"{folder}/SRC", str(folder), Blind()) == f"{folder}/SRC"
    shutil.rmtree(folder / "Src")
