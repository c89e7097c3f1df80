"""Links out of the workspace, names that look like options and public certificates are found before a command is judged."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_agent.workspace.local.secret_files import MAX_FILES, SecretFiles, find_public_certificates


def nothing_secret(path: str) -> bool:
    return False


def test_links_are_found_wherever_they_lie(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    (root / "deep" / "er").mkdir(parents=True)
    outside.mkdir()
    (outside / "notes.txt").write_text("private")
    (root / "a.txt").write_text("a")
    (root / "notes.txt").symlink_to(outside / "notes.txt")
    (root / "deep" / "er" / "folder").symlink_to(outside)
    (root / "inside.txt").symlink_to("a.txt")
    (root / "nowhere.txt").symlink_to("/nowhere/at/all")
    scan = SecretFiles(str(root), nothing_secret)
    assert {link.name: link.target for link in scan.scan().links} == {
        "notes.txt": str(outside / "notes.txt"),
        "deep/er/folder": str(outside),
        "nowhere.txt": "/nowhere/at/all",
        "inside.txt": str(root / "a.txt"),
    }
    assert scan.scan().unscanned == ()


def test_a_link_that_is_made_between_two_looks_is_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    scan = SecretFiles(str(root), nothing_secret)
    assert scan.scan().links == ()
    (root / "late").symlink_to(tmp_path)
    assert [link.name for link in scan.scan().links] == ["late"]


def test_folders_that_nobody_looked_into_are_told(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "app" / "node_modules" / "x").mkdir(parents=True)
    (root / "app" / "node_modules" / "out").symlink_to(tmp_path)
    scan = SecretFiles(str(root), nothing_secret)
    assert scan.scan().links == ()
    assert scan.scan().unscanned == ("app/node_modules",)


def test_a_link_to_a_secret_is_known_as_one(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "key.txt").write_text("k")
    (root / "plain.txt").write_text("p")
    (root / "a").symlink_to("key.txt")
    (root / "b").symlink_to("plain.txt")
    links = SecretFiles(str(root), lambda path: path.startswith("key")).scan().links
    assert {link.name: link.secret for link in links} == {"a": True, "b": False}


def test_links_in_repositories_are_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / ".git" / "refs").mkdir(parents=True)
    (root / ".git" / "refs" / "out").symlink_to(tmp_path)
    assert [link.name for link in SecretFiles(str(root), nothing_secret).scan().links] == [".git/refs/out"]


def test_what_no_repository_tracks_came_from_a_registry(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for folder in ("tracked/node_modules", "node_modules"):
        (root / folder).mkdir(parents=True)
        (root / folder / "x.js").write_text("x")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "tracked"], check=True)
    assert SecretFiles(str(root), nothing_secret).scan().unscanned == ("tracked/node_modules",)


def test_where_there_are_too_many_secrets_nothing_counts_as_searched(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    for number in range(MAX_FILES + 1):
        (root / f"{number}.key").write_text("k")
    scan = SecretFiles(str(root), lambda path: path.endswith(".key")).scan()
    assert "" in scan.unscanned


def test_names_that_may_be_taken_for_options_are_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "-d").mkdir()
    for name in ("--checkpoint=1", "sub/@list", "sub/|touch x", "sub/plain", "a-b", "=x", "+y"):
        (root / name).write_text("")
    scan = SecretFiles(str(root), nothing_secret)
    assert set(scan.scan().option_names) == {"--checkpoint=1", "sub/@list", "sub/|touch x", "=x", "+y", "-d/"}


def test_files_that_steer_programs_are_found_by_name(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "crate").mkdir(parents=True)
    for name in ("crate/rust-toolchain", "crate/other", "rust-toolchain.txt"):
        (root / name).write_text("")
    scan = SecretFiles(str(root), nothing_secret, (), frozenset({"rust-toolchain"})).scan()
    assert scan.steering_files == ("crate/rust-toolchain",)


def test_files_above_that_steer_programs_are_found_up_to_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository" / "sub" / "ws"
    root.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "repository"):
        (folder / "go.work").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path))
    scan = SecretFiles(str(root), nothing_secret, (), frozenset({"go.work", "go.mod"}))
    assert scan.scan().steering_files == ("../../go.work",)
    monkeypatch.setenv("HOME", "/nowhere")
    assert scan.scan().steering_files == ("../../go.work", "../../../go.work")


def test_folders_that_cannot_be_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    (root / "shut").mkdir(parents=True)
    (root / "open").mkdir()

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        if path.endswith("/shut/"):
            raise PermissionError(13, "Permission denied")
        return os_scandir(path)

    os_scandir = os.scandir
    monkeypatch.setattr(os, "scandir", refuse)
    scan = SecretFiles(str(root), nothing_secret)
    assert scan.scan().unscanned == ("shut",)
    assert scan.incomplete_reason == "Some folders could not be read, such as shut."
    monkeypatch.undo()
    assert (scan.scan().unscanned, scan.incomplete_reason) == ((), "")


def test_a_folder_whose_path_is_too_long_is_told(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=descriptor)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.symlink("/etc", "out", dir_fd=descriptor)
    os.close(descriptor)
    (name,) = SecretFiles(str(root), nothing_secret).scan().unscanned
    assert set(name.split("/")) == {"d" * 250}


def test_names_that_fall_into_pieces_or_mean_something_else_are_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "my docs").mkdir(parents=True)
    for name in ("a b", "it's", "tab\tin", "plain", "my docs/x", "back\\slash", "HEAD:a", "b*", "c?", "d[1]"):
        (root / name).write_text("")
    found = SecretFiles(str(root), nothing_secret).scan().odd_names
    assert set(found) == {"a b", "it's", "tab\tin", "my docs/", "back\\slash", "HEAD:a", "b*", "c?", "d[1]"}


def test_only_a_certificate_without_a_key_is_public(tmp_path: Path) -> None:
    public, key, other = (tmp_path / name for name in ("cert.pem", "key.pem", "key.p12"))
    public.write_text("-----BEGIN CERTIFICATE-----\nx\n")
    key.write_text("-----BEGIN CERTIFICATE-----\nx\n-----BEGIN PRIVATE KEY-----\ny\n")
    other.write_text("x")
    missing = str(tmp_path / "gone.pem")
    assert find_public_certificates([str(public), str(key), str(other), missing]) == {str(public)}
