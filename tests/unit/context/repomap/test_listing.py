"""Which files a map is made of."""

import os
import subprocess
from pathlib import Path

import pytest

from tui_agent.context.repomap.file_list import is_current, list_files, refresh_list
from tui_agent.tui.prompt.completion_files import list_files as completed


def names(root: Path) -> list[str]:
    return [entry.path for entry in list_files(root, bool).entries]


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"# {path}\n")


def test_without_git_its_ignore_files_still_count(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "out/x.py", "lib/keep.py", "lib/drop.tmp", "lib/sub/b.py", "node_modules/m/i.js")
    (tmp_path / ".gitignore").write_text("out/\n*.tmp\n")
    (tmp_path / "lib/.gitignore").write_text("sub/*\n")
    assert names(tmp_path) == [".gitignore", "a.py", "lib/.gitignore", "lib/keep.py"]


def test_links_are_not_followed_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path, "a/b.py")
    (tmp_path / "a/loop").symlink_to("..")
    (tmp_path / "link.py").symlink_to("a/b.py")
    listing = list_files(tmp_path, bool)
    assert [entry.path for entry in listing.entries] == ["a/b.py"]
    assert listing.skipped == {"link": 2}


def test_of_a_repository_what_git_tracks_or_does_not_ignore(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py", "new.py", "ignored.log", "gone.py", "kept.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    git(tmp_path, "add", "-f", "a.py", "gone.py", "kept.log")
    (tmp_path / "gone.py").unlink()
    assert names(tmp_path) == [".gitignore", "a.py", "kept.log", "new.py"]


def test_a_folder_of_a_repository_is_mapped_by_itself(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py", "sub/b.py")
    git(tmp_path, "add", ".")
    assert names(tmp_path / "sub") == ["b.py"]


def test_a_submodule_is_left_out_and_the_rest_is_there(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder in (inner, outer):
        folder.mkdir()
        git(folder, "init")
        write(folder, "a.py")
        git(folder, "add", ".")
        git(folder, "commit", "-m", "x")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", str(inner), "sub")
    write(outer, "z.py")
    listing = list_files(outer, bool)
    assert [entry.path for entry in listing.entries] == [".gitmodules", "a.py", "z.py"]
    assert listing.skipped == {"submodule": 1}


def test_a_clone_inside_that_no_gitmodules_names_is_told_as_one(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py", "vendor/inner/b.py")
    git(tmp_path / "vendor/inner", "init")
    git(tmp_path / "vendor/inner", "add", ".")
    git(tmp_path / "vendor/inner", "commit", "-m", "x")
    listing = list_files(tmp_path, bool)
    assert [entry.path for entry in listing.entries] == ["a.py"]
    assert listing.skipped == {"nested clone": 1}


def test_without_git_files_are_listed_however_deep_they_lie(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 200)
    write(tmp_path, "a.py", f"{deep}/z.py")
    assert names(tmp_path) == ["a.py", f"{deep}/z.py"]


def test_nothing_of_the_repositorys_configuration_is_run(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py")
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "filter.x.clean", "alias.ls-files"):
        git(tmp_path, "config", key, str(program) if "alias" not in key else f"!{program}")
    (tmp_path / ".gitattributes").write_text("* filter=x\n")
    assert "a.py" in names(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_names_that_are_not_utf_8_and_odd_names(tmp_path: Path) -> None:
    odd = [b"bro\xffken.py", b"new\nline.py", b'quo"te.py', "ü ber.py".encode()]
    git(tmp_path, "init")
    for name in odd:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x = 1\n")
    assert {os.fsencode(name) for name in names(tmp_path)} == set(odd)


def test_what_is_no_text_by_its_name_or_size_is_counted_by_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "logo.png", "yarn.lock", "bun.lock", "id_rsa", "de.po")
    (tmp_path / "big.csv").write_bytes(b"1,2\n" * 300_000)
    os.mkfifo(tmp_path / "pipe")
    listing = list_files(tmp_path, lambda path: path != "id_rsa")
    assert [entry.path for entry in listing.entries] == ["a.py"]
    assert listing.skipped == {
        "binary": 1,
        "lock file": 2,
        "secret": 1,
        "special": 1,
        "too large": 1,
        "translation": 1,
    }


def test_a_repository_without_commits_and_an_empty_folder(tmp_path: Path) -> None:
    assert names(tmp_path) == []
    git(tmp_path, "init")
    assert names(tmp_path) == []


def test_a_broken_repository_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py")
    git(tmp_path, "add", ".")
    (tmp_path / ".git/index").write_bytes(b"broken")
    assert names(tmp_path) == ["a.py"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        list_files(tmp_path / "gone", bool)


def test_a_second_look_finds_what_changed_came_and_went(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py", "b.py", "sub/c.py")
    assert not is_current(tmp_path, list_files(tmp_path, bool)), "a name could come within the same tick"
    for folder in (tmp_path, tmp_path / "sub"):
        os.utime(folder, ns=(10**18, 10**18))
    first = list_files(tmp_path, bool)
    assert is_current(tmp_path, first)
    assert refresh_list(tmp_path, first, bool) == first
    (tmp_path / "a.py").write_text("changed, and longer\n")
    changed = refresh_list(tmp_path, first, bool)
    assert [now.path for now, old in zip(changed.entries, first.entries, strict=True) if now != old] == [
        "a.py"
    ]
    write(tmp_path, "sub/d.py")
    (tmp_path / "b.py").unlink()
    again = refresh_list(tmp_path, changed, bool)
    assert [entry.path for entry in again.entries] == ["a.py", "sub/c.py", "sub/d.py"]
    (tmp_path / ".gitignore").write_text("sub/\n")
    assert [entry.path for entry in refresh_list(tmp_path, again, bool).entries] == [".gitignore", "a.py"]


def test_generated_folders_without_an_ignore_file_are_left_out_unless_they_are_committed(
    tmp_path: Path,
) -> None:
    committed = ["a.py", "Cargo.toml", "build/webpack.js", "package.json", "node_modules/kept/i.js"]
    write(tmp_path, *committed)
    git(tmp_path, "init")
    git(tmp_path, "add", "-A")
    generated = [".venv/lib/x.py", "target/debug/x.rs", "src/__pycache__/x.py", "node_modules/other/i.js"]
    write(tmp_path, *generated, "env/not_proved.py", "docs/target/page.py")
    listing = list_files(tmp_path, bool)
    assert not {entry.path for entry in listing.entries} & set(generated)
    assert {"a.py", "build/webpack.js", "env/not_proved.py", "docs/target/page.py"} <= {
        entry.path for entry in listing.entries
    }
    assert sum(listing.skipped.values()) == 0
    assert set(completed(tmp_path)) == {*committed, "env/not_proved.py", "docs/target/page.py"}
