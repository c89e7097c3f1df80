"""A list that is kept up to date by what the kernel tells is the list that a new look gives."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui_agent.context.repomap.file_list import FileList, list_files
from tui_agent.context.repomap.file_watch import FileScanner, InotifyWatch


def shown(path: str) -> bool:
    return "secret" not in path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.py", "one/b.py", "one/two/c.py", "three/d.py", "one/big.log"):
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text("x = 1\n")
    return tmp_path / "repo"


@pytest.fixture
def look(root: Path) -> Iterator[FileScanner]:
    made = FileScanner(root, shown)
    yield made
    made.close()


def settled(look: FileScanner) -> FileList:
    """The list, when what was written just now is no longer news."""
    before = look.list_files()
    while (after := look.list_files()) is not before:
        before = after
    return after


def same(one: FileList, other: FileList) -> bool:
    return (one.entries, one.skipped) == (other.entries, other.skipped)


def write(root: Path) -> None:
    (root / "one/b.py").write_text("x = 22\n")


def come(root: Path) -> None:
    (root / "one/two/new.py").write_text("")


def go(root: Path) -> None:
    (root / "a.py").unlink()


def rename_a_folder(root: Path) -> None:
    (root / "one").rename(root / "four")


def remove_a_folder(root: Path) -> None:
    shutil.rmtree(root / "one")


def replace_a_folder(root: Path) -> None:
    (root / "one/two").rename(root.parent / "away")
    (root / "one/two").mkdir()
    (root / "one/two/c.py").write_text("other\n")


def ignore(root: Path) -> None:
    (root / ".gitignore").write_text("*.py\n")


def date(root: Path) -> None:
    os.utime(root / "three/d.py", ns=(5, 5))


def link(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("/etc/passwd")


def grow(root: Path) -> None:
    (root / "a.py").write_text("x" * 1_200_000)


def replace_the_root(root: Path) -> None:
    root.rename(root.parent / "old")
    root.mkdir()
    (root / "other.py").write_text("")


CHANGES = [write, come, go, rename_a_folder, remove_a_folder, replace_a_folder, ignore, date, link, grow]


@pytest.mark.parametrize("change", [*CHANGES, replace_the_root], ids=lambda change: change.__name__)
def test_every_change_is_seen_at_once_and_what_comes_after_it(
    root: Path, look: FileScanner, change: object
) -> None:
    assert callable(change)
    before = settled(look)
    change(root)
    after = look.list_files()
    assert same(after, list_files(root, shown))
    assert not same(after, before)
    for name in ("e.py", "f.py"):
        (root / name).write_text("y = 1\n")
        assert same(look.list_files(), list_files(root, shown))
        (root / name).write_text("y = 10\n")
        assert same(look.list_files(), list_files(root, shown))


def test_a_file_that_comes_into_an_empty_folder_is_seen(root: Path, look: FileScanner) -> None:
    (root / "empty/of/all").mkdir(parents=True)
    settled(look)
    (root / "empty/of/all/new.py").write_text("")
    assert "empty/of/all/new.py" in [one.path for one in look.list_files().entries]


def test_a_folder_that_is_in_git_alone_costs_no_new_list_until_it_is_back(
    root: Path, look: FileScanner
) -> None:
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)
    shutil.rmtree(root / "one")
    before = settled(look)
    assert look.list_files() is before
    (root / "one").mkdir()
    (root / "one/b.py").write_text("x = 3\n")
    assert "one/b.py" in [entry.path for entry in look.list_files().entries]


def test_a_file_is_looked_at_because_it_was_told_not_because_all_are(root: Path, look: FileScanner) -> None:
    before = settled(look)
    write(root)
    after = look.list_files()
    assert after.folders is before.folders
    assert sum(one is not old for one, old in zip(after.entries, before.entries, strict=True)) == 1


def test_what_the_kernel_does_not_tell_is_seen_with_the_next_whole_look(root: Path) -> None:
    other = root.parent / "other-name"
    os.link(root / "a.py", other)
    look = FileScanner(root, shown, full_scan_s=-1.0)
    settled(look)
    other.write_text("x = 333\n")
    assert same(look.list_files(), list_files(root, shown))
    look.close()


def test_where_nothing_can_be_watched_every_file_is_looked_at(root: Path) -> None:
    def refuse(folder: str) -> InotifyWatch:
        raise OSError(f"nothing below {folder} can be watched here")

    look = FileScanner(root, shown, start_watch=refuse)
    settled(look)
    for change in CHANGES[:3]:
        change(root)
        assert same(look.list_files(), list_files(root, shown))
    look.close()


def test_any_order_of_changes_gives_the_list_of_a_new_look(tmp_path: Path) -> None:
    chance = random.Random(7)
    root = tmp_path / "repo"
    root.mkdir()
    look = FileScanner(root, shown)
    for _ in range(300):
        folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
        files = [path for path in root.rglob("*") if path.is_file()]
        folder, name = chance.choice(folders), chance.choice("abcdefgh")
        match chance.randrange(6):
            case 0 if len(folders) < 12:
                (folder / f"dir_{name}").mkdir(exist_ok=True)
            case 1 if files:
                chance.choice(files).unlink()
            case 2 if len(folders) > 1:
                shutil.rmtree(chance.choice(folders[1:]))
            case 3 if len(folders) > 1 and not (folders[0] / "moved").exists():
                chance.choice(folders[1:]).rename(folders[0] / "moved")
            case 4 if files:
                chance.choice(files).write_text("z" * chance.randrange(50))
            case _:
                (folder / f"{name}.py").write_text("y" * chance.randrange(50))
        if chance.random() < 0.7:
            assert same(look.list_files(), list_files(root, shown))
    look.close()


def test_more_folders_than_may_be_watched_are_looked_at(root: Path, tmp_path: Path) -> None:
    watch = InotifyWatch(str(root), max_folders=2)
    with pytest.raises(OSError, match="too many"):
        watch.follow(["", "one", "three"])
    watch.close()


@pytest.mark.parametrize("change", [come, go, rename_a_folder, remove_a_folder, ignore])
def test_what_changes_between_the_first_look_and_the_second_is_seen(
    root: Path, look: FileScanner, change: Callable[[Path], None]
) -> None:
    before = look.list_files()
    change(root)
    after = look.list_files()
    assert same(after, list_files(root, shown))
    assert not same(after, before)


def test_the_first_file_of_a_folder_is_seen(tmp_path: Path) -> None:
    look = FileScanner(tmp_path, shown)
    assert not look.list_files().entries
    (tmp_path / "a.py").write_text("")
    assert [entry.path for entry in look.list_files().entries] == ["a.py"]
    look.close()


def test_one_look_does_not_ask_for_the_times_of_folders(
    root: Path, look: FileScanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    whole = os.stat

    def told(path: str, **how: bool) -> os.stat_result:
        asked.append(path)
        return whole(path, **how)

    monkeypatch.setattr(os, "stat", told)
    look.list_files()
    assert not any("one/two" in str(path) for path in asked)
    look.list_files()
    assert any("one/two" in str(path) for path in asked)
