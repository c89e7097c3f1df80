"""Every call that the store makes fails, is cut short, or is the last one, in turn."""

import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stubs.faulty_files import Died, FaultyFiles
from tests.stubs.store import said, store
from tui_agent.errors import StoreError, StoreFull
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.frozen_model import Payload
from tui_agent.store.session_log import SessionLog

SCRIPT: tuple[Payload | None, ...] = (
    said("one"),
    said("long " * 3_000),
    None,
    said("two"),
    said("longer " * 4_000),
    said("three"),
    None,
    said("four"),
)
"""Events to append; None commits."""


class Outcome:
    """What was acknowledged, and what was made durable."""

    def __init__(self) -> None:
        self.stored: list[Envelope] = []
        self.refused = 0
        self.unsynced = 0
        self.log: SessionLog | None = None
        self.died = False


async def play(root: Path, ops: FaultyFiles) -> Outcome:
    outcome = Outcome()
    try:
        outcome.log = store(root, ops).create("s1")
        for payload in SCRIPT:
            await act(outcome, outcome.log, payload)
    except StoreError:
        outcome.refused += 1
    except Died:
        outcome.died = True
    return outcome


async def act(outcome: Outcome, log: SessionLog, payload: Payload | None) -> None:
    try:
        if payload is None:
            await log.commit()
        else:
            outcome.stored.append(log.append(payload))
    except StoreFull:
        outcome.refused += 1
    except StoreError:
        outcome.unsynced += 1


def after(root: Path) -> list[Record]:
    """What a new process reads: it opens the session for writing first."""
    sessions = store(root)
    if not (sessions.folder("s1") / "events.jsonl").exists():
        return []
    log = sessions.open("s1")
    found = list(log.read())
    event = log.append(said("the next run"))
    assert event.seq == (found[-1].seq + 1 if found else 0)
    for record in found:
        text = record.payload.text  # type: ignore[union-attr]
        log.blobs.read_text(text)
    log.close()
    return found


@pytest.mark.slow_variants
@pytest.mark.parametrize("mode", ["fail", "short", "die", "broken"])
async def test_no_acknowledged_event_is_lost_whatever_call_fails(tmp_path: Path, mode: str) -> None:
    number, fired = 0, True
    while fired:
        number += 1
        ops = FaultyFiles(number, mode)
        root = tmp_path / str(number)
        outcome = await play(root, ops)
        fired = bool(ops.fired)
        if outcome.log is not None and not outcome.died:
            assert list(outcome.log.read()) == outcome.stored
        if outcome.log is not None:
            outcome.log.close()  # a dead process lets go of its lock too
        assert after(root) == outcome.stored, (number, ops.fired)
        if not fired:
            assert (outcome.refused, outcome.unsynced) == (0, 0)
    assert number > 20


async def test_a_refused_event_is_not_in_the_log_and_the_next_one_takes_its_number(tmp_path: Path) -> None:
    ops = FaultyFiles(0, "short")
    log = store(tmp_path, ops).create("s1")
    log.append(said("one"))
    ops.at = ops.calls + 1
    with pytest.raises(StoreFull, match="could not be stored"):
        log.append(said("two"))
    assert log.last_seq == 0
    assert log.append(said("three")).seq == 1
    assert [record.seq for record in store(tmp_path).read("s1")] == [0, 1]


async def test_a_tail_that_could_not_be_cut_back_at_once_is_cut_before_the_next_write(tmp_path: Path) -> None:
    ops = FaultyFiles(0, "short")
    log = store(tmp_path, ops).create("s1")
    first = log.append(said("one"))
    ops.at = ops.calls + 1
    log.ops = TruncateFailsOnce(ops)
    with pytest.raises(StoreFull, match="could not be removed yet"):
        log.append(said("two"))
    second = log.append(said("three"))
    log.close()
    assert store(tmp_path).read("s1") == [first, second]


class TruncateFailsOnce(FaultyFiles):
    """Writes as `inner` does, but the first truncation fails."""

    def __init__(self, inner: FaultyFiles) -> None:
        super().__init__(0, "fail")
        self.inner = inner
        self.failed = False

    def write(self, fd: int, data: bytes) -> int:
        return self.inner.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        if not self.failed:
            self.failed = True
            raise OSError("not now")
        super().truncate(fd, size)


class SyncFailsOnce(FaultyFiles):
    """The first sync of the log's own descriptor fails; later syncs of it would lie, so they are counted."""

    def __init__(self) -> None:
        super().__init__(0, "fail")
        self.bad: int | None = None
        self.again = 0
        self.armed = False

    def sync(self, fd: int) -> None:
        if fd == self.bad:
            self.again += 1
        if self.armed and self.bad is None:
            self.bad = fd
            raise OSError("the disk said no")
        super().sync(fd)


async def test_after_a_failed_sync_the_log_goes_on_in_a_new_file(tmp_path: Path) -> None:
    ops = SyncFailsOnce()
    log = store(tmp_path, ops).create("s1")
    path = log.folder / "events.jsonl"
    events = [log.append(said("one")), log.append(said("two"))]
    before = path.stat().st_ino
    ops.armed = True
    await log.commit()
    assert path.stat().st_ino != before
    assert ops.again == 0
    events.append(log.append(said("three")))
    await log.commit()
    log.close()
    assert store(tmp_path).read("s1") == events


FULL_DISK = """
import signal, resource, sys
from pathlib import Path
from tests.stubs.store import said, store
from tui_agent.errors import StoreFull
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = store(Path(sys.argv[1])).create("s1")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
stored = refused = 0
for number in range(400):
    try:
        log.append(said(f"message {number} " + "x" * 100))
        stored += 1
    except StoreFull:
        refused += 1
try:
    log.append(said("y" * 30_000))
except StoreFull:
    refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
for number in range(20):
    log.append(said(f"after {number}"))
log.append(said("y" * 30_000))
print(stored, refused)
"""


def test_a_full_disk_is_told_and_nothing_is_lost_once_there_is_space(tmp_path: Path) -> None:
    """The limit on a file's size makes the kernel shorten and then refuse writes, as a full disk does."""
    assert resource.RLIMIT_FSIZE is not None
    assert signal.SIGXFSZ is not None
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    stored, refused = (int(word) for word in done.stdout.split())
    assert stored > 10
    assert refused == 401 - stored
    found = store(tmp_path).read("s1")
    assert [record.seq for record in found] == list(range(stored + 21))
    assert found[stored].payload.text == "after 0"  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["fail", "short", "die"])
def test_a_repair_that_fails_half_way_loses_neither_events_nor_torn_bytes(tmp_path: Path, mode: str) -> None:
    number, fired = 0, True
    while fired:
        number += 1
        root = tmp_path / str(number)
        sessions = store(root)
        log = sessions.create("s1")
        events = [log.append(said("one")), log.append(said("two"))]
        log.close()
        path = log.folder / "events.jsonl"
        torn = b'{"v":2,"seq":2,"at":1.0,"sess'
        path.write_bytes(path.read_bytes() + torn)
        ops = FaultyFiles(number, mode)
        try:
            store(root, ops).open("s1").close()
        except (StoreError, Died):
            assert ops.fired
        fired = bool(ops.fired)
        again = sessions.open("s1")
        assert list(again.read()) == events
        kept = [side.read_bytes() for side in log.folder.glob("events.torn-*")]
        assert torn in kept
        again.close()
    assert number > 5


FULL_TMPFS = """
import sys
from pathlib import Path
import anyio
from tests.stubs.store import said, store
from tui_agent.errors import StoreFull
root = Path(sys.argv[1])
log = store(root).create("s1")
(root / "filler").write_bytes(b"x" * 60_000)
stored, refused = [], 0
for number in range(400):
    try:
        stored.append(log.append(said(f"message {number} " + "x" * 300)))
    except StoreFull:
        refused += 1
try:
    log.append(said("y" * 20_000))
except StoreFull:
    refused += 1
assert len(stored) > 10 and refused == 401 - len(stored), (len(stored), refused)
(root / "filler").unlink()
stored.append(log.append(said("y" * 20_000)))
anyio.run(log.commit)
log.close()
assert store(root).read("s1") == stored
assert store(root).open("s1").repair is None
print("whole")
"""


@pytest.mark.slow
def test_a_full_file_system_is_told_and_nothing_is_lost_once_there_is_space(tmp_path: Path) -> None:
    """On a file system of 128 KiB, where one can be mounted here; the test above stands for the rest."""
    mount = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=128k tmpfs "$0" && exec "$@"',
        str(tmp_path),
    ]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], check=False).returncode != 0:
        test_a_full_disk_is_told_and_nothing_is_lost_once_there_is_space(tmp_path)
        return
    command = [*mount, sys.executable, "-c", FULL_TMPFS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "whole\n", done.stderr
