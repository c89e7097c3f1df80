"""A log that is removed or replaced while it is open, and folders that cannot be used as they stand."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from tests.stubs.faulty_files import FaultyFiles
from tests.stubs.store import said, store
from tui_agent.errors import SessionLocked, StoreFull, StoreUnusable
from tui_agent.store.file_ops import storage_error
from tui_agent.store.session_log import SessionLog
from tui_agent.store.writer_lock import WriterLock


def open_log(root: Path) -> SessionLog:
    log = store(root).create("s1")
    log.append(said("before"))
    return log


async def goes_on_whole(root: Path, log: SessionLog, side: str = "") -> None:
    """After the fault: it is mended once, and everything before and after it is read back."""
    repaired = log.repair_file()
    assert repaired is not None and repaired.rewritten and repaired.side_file == side
    assert log.repair_file() is None
    log.append(repaired)
    log.append(said("long " * 4_000))
    await log.commit()
    log.close()
    found = store(root).read("s1")
    assert [record.seq for record in found] == [0, 1, 2]
    assert store(root).open("s1").last_seq == 2


async def test_a_removed_log_is_written_anew(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    (log.folder / "events.jsonl").unlink()
    await goes_on_whole(tmp_path, log)


async def test_a_removed_data_folder_is_made_anew_with_its_lock(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(said("text " * 4_000))
    shutil.rmtree(tmp_path / "sessions")
    repaired = log.repair_file()
    assert repaired is not None
    log.append(said("text " * 4_000))  # the same text: its blob is stored again
    await log.commit()
    with pytest.raises(SessionLocked):
        store(tmp_path).open("s1", wait_s=0.0)
    log.close()
    last = store(tmp_path).read("s1")[-1]
    assert log.blobs.read_text(last.payload.text).startswith("text ")  # type: ignore[union-attr]


async def test_what_was_put_in_the_place_of_a_log_is_kept_beside_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    other = tmp_path / "other"
    other.write_text("something else\n")
    other.replace(log.folder / "events.jsonl")
    await goes_on_whole(tmp_path, log, side="events.replaced-1")
    assert (log.folder / "events.replaced-1").read_text() == "something else\n"


def test_a_log_that_cannot_be_written_anew_is_tried_again(tmp_path: Path) -> None:
    ops = FaultyFiles(0, "fail")
    log = store(tmp_path, ops).create("s1")
    log.append(said("before"))
    (log.folder / "events.jsonl").unlink()
    ops.at = ops.calls + 1
    with pytest.raises(StoreFull, match="removed while it was open"):
        log.repair_file()
    assert log.repair_file() is not None
    log.append(said("after"))
    log.close()
    assert len(store(tmp_path).read("s1")) == 2


def test_a_session_that_another_process_made_anew_is_left_to_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    shutil.rmtree(log.folder)
    log.folder.mkdir()
    other = WriterLock(log.folder / "lock", wait_s=0.0)
    with pytest.raises(SessionLocked):
        log.repair_file()
    assert not (log.folder / "events.jsonl").exists()
    other.release()


def test_texts_that_were_removed_before_their_sync_are_told_once(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(said("text " * 4_000))
    shutil.rmtree(log.folder / "blobs")
    with pytest.raises(Exception, match="could not be synced"):
        log.blobs.sync()
    log.blobs.sync()


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, StoreFull, "Free some space"),
        (errno.EROFS, StoreUnusable, "read-only"),
        (errno.EACCES, StoreUnusable, "permissions"),
        (errno.ENOTDIR, StoreUnusable, "Rename the file"),
        (errno.ENOENT, StoreUnusable, "Create the missing folder"),
        (errno.EIO, StoreFull, "Check the disk"),
    ],
)
def test_the_advice_fits_the_fault(number: int, kind: type[Exception], words: str) -> None:
    error = storage_error(OSError(number, os.strerror(number)), "It failed")
    assert type(error) is kind and words in error.hint


def test_a_data_folder_that_is_a_file_lists_no_sessions_but_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreUnusable, match="cannot be read: Not a directory"):
        store(tmp_path / "data").list()
    with pytest.raises(StoreUnusable, match="Not a directory"):
        store(tmp_path / "data").open("s1")
    assert store(tmp_path / "absent").list() == []
