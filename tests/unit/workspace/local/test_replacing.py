"""How a file gets its new content: whole or not at all, and nothing is left behind."""

import fcntl
import hashlib
import multiprocessing
import os
import re
import signal
import stat
import sys
from pathlib import Path

import pytest

from tests.stubs.left_out import leave_out, linux_only, only_where
from tui_agent.errors import EnvironmentFault, StaleFile
from tui_agent.workspace.local import atomic_write
from tui_agent.workspace.local.containment import Containment
from tui_agent.workspace.local.local_files import LocalFiles

OLD = hashlib.sha256(b"old").hexdigest()
LEFT = ".tui-agent-0123456789abcdef01234567.tmp"


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(Containment(str(tmp_path)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o755, 0o666, 0o200])
def test_the_mode_is_kept(files: LocalFiles, tmp_path: Path, kept: int) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(kept)
    if kept & 0o400 == 0 and os.geteuid():
        leave_out("only root reads a file without the right to")
    files.write("a", b"new", OLD)
    assert mode(tmp_path / "a") == kept


def test_the_right_to_run_as_the_owner_is_not_given_to_new_content(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o6755)
    files.write("a", b"new", OLD)
    assert mode(tmp_path / "a") == 0o755


def test_a_new_file_has_the_mode_that_any_new_file_has(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    files.write("a", b"new", None)
    assert mode(tmp_path / "a") == mode(tmp_path / "plain")


@only_where(sys.platform == "linux" and os.geteuid() == 0, "only root gives files away")
def test_the_owner_is_kept_where_it_may_be(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.chown(tmp_path / "a", 1234, 2345)
    files.write("a", b"new", OLD)
    found = (tmp_path / "a").stat()
    assert (found.st_uid, found.st_gid) == (1234, 2345)


@linux_only("extended attributes are Linux's here")
def test_extended_attributes_are_kept_and_capabilities_are_not(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    try:
        os.setxattr(tmp_path / "a", "user.note", b"mine")
    except OSError:
        leave_out("this file system has no extended attributes")
    files.write("a", b"new", OLD)
    assert os.getxattr(tmp_path / "a", "user.note") == b"mine"
    assert "security.capability" not in os.listxattr(tmp_path / "a")


def test_a_link_at_the_end_is_written_through_to_the_file_in_the_workspace(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "l").symlink_to("a")
    (tmp_path / "nowhere").symlink_to("made")
    assert files.write("l", b"new", OLD).path == "a"
    assert files.write("nowhere", b"new", None).path == "made"
    assert (tmp_path / "l").is_symlink() and (tmp_path / "nowhere").is_symlink()


def test_hard_links_are_cut(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    files.write("a", b"new", OLD)
    assert (tmp_path / "b").read_text() == "old"
    assert (tmp_path / "a").stat().st_nlink == 1


@pytest.mark.parametrize("kept", [0o400, 0o444, 0o555])
def test_a_write_protected_file_is_left_as_it_is(files: LocalFiles, tmp_path: Path, kept: int) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(kept)
    with pytest.raises(EnvironmentFault, match="write-protected"):
        files.write("a", b"new", OLD)
    assert ((tmp_path / "a").read_text(), names(tmp_path)) == ("old", ["a"])


def test_what_a_killed_process_left_goes_at_the_next_change_in_its_folder(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    for folder in (tmp_path, tmp_path / "d"):
        (folder / LEFT).write_text("half")
    files.write("a", b"new", None)
    assert names(tmp_path) == ["a", "d"]
    assert names(tmp_path / "d") == [LEFT]
    files.write("d/b", b"new", None)
    assert names(tmp_path / "d") == ["b"]


def test_what_a_living_process_is_writing_stays_and_so_does_what_is_no_leftover(
    files: LocalFiles, tmp_path: Path
) -> None:
    others = [".tui-agent-1.tmp", "x" + LEFT, LEFT + "x", LEFT.replace("0", "g")]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / LEFT.replace("0", "a")).symlink_to(others[0])
    os.mkfifo(tmp_path / LEFT.replace("0", "b"))
    with (tmp_path / LEFT).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = names(tmp_path)
        files.write("a", b"new", None)
        assert names(tmp_path) == sorted([*before, "a"])


def test_no_one_sees_a_leftover_in_a_list(files: LocalFiles, tmp_path: Path) -> None:
    for name in (LEFT, "a"):
        (tmp_path / name).touch()
    assert [found.path for found in files.listdir("")] == ["a"]


def _write_for_ever(root: str, ready: object) -> None:
    files = LocalFiles(Containment(root))
    data, digest = b"old" * 100_000, hashlib.sha256(b"old" * 100_000).hexdigest()
    number = 0
    while True:
        files.write("a", data, digest)
        number += 1
        files.write(f"new{number}", data, None)
        ready.set()  # type: ignore[attr-defined]


def test_a_kill_leaves_whole_files_and_the_next_change_takes_the_rest_away(
    tmp_path: Path, files: LocalFiles
) -> None:
    data = b"old" * 100_000
    (tmp_path / "a").write_bytes(data)
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        ready = context.Event()
        process = context.Process(target=_write_for_ever, args=(str(tmp_path), ready))
        process.start()
        assert ready.wait(60)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        shown = [name for name in names(tmp_path) if not atomic_write.LEFTOVER_NAME.fullmatch(name)]
        assert all((tmp_path / name).read_bytes() == data for name in shown)
        for name in shown:
            if name != "a":
                (tmp_path / name).unlink()
        LocalFiles(Containment(str(tmp_path))).write("done", b"", None)
        assert names(tmp_path) == ["a", "done"]
        (tmp_path / "done").unlink()


def test_a_name_that_was_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    try:
        (tmp_path / "a").write_text("theirs")
        with pytest.raises(FileExistsError):
            atomic_write.replace_file("a", at, b"mine", None, lambda: None)
    finally:
        os.close(at)
    assert ((tmp_path / "a").read_text(), names(tmp_path)) == ("theirs", ["a"])


def test_a_change_that_is_stopped_at_the_last_moment_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    seen: list[list[str]] = []

    def stop() -> None:
        seen.append(names(tmp_path))
        raise StaleFile("changed")

    at = os.open(tmp_path, os.O_RDONLY)
    try:
        standing = atomic_write.FileState(OLD, (tmp_path / "a").stat())
        with pytest.raises(StaleFile):
            atomic_write.replace_file("a", at, b"new", standing, stop)
    finally:
        os.close(at)
    assert ((tmp_path / "a").read_text(), names(tmp_path)) == ("old", ["a"])
    temp = next(name for name in seen[0] if name != "a")
    assert re.fullmatch(r"\.tui-agent-[0-9a-f]{24}\.tmp", temp)
