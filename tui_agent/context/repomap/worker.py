"""L3: the process that builds the index, apart from the one that answers.

Invariant: it writes every `BATCH` files, so that it can be ended at any moment; a file that ends it, or that takes
longer than `FILE_S`, is known from the note beside the index and only its words are taken the next time. It reads its
work from standard input and ends soon after whoever started it, where that one asked for it.
"""

import fcntl
import gc
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from struct import Struct
from typing import IO, Any, NamedTuple

from tui_agent.context.repomap import graph, history, indexing, kept
from tui_agent.context.repomap.cleaning import Cleaner
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.listing import Entry
from tui_agent.ports.repomap import MapLanguage

FILE_S = 8.0
"""Time of the processor that one file may take; the system then ends the process. What else the machine does counts not:
at low priority a second can take ten."""
SPLIT_BYTES = 3_000_000
"""From so many bytes on a second process helps."""
CHUNK_BYTES, MOST_CHUNKS = 1_500_000, 2_000
PATIENCE_S = 60.0
END_S = 2.0
_NUMBER = Struct("<I")


class Note:
    """The name of the file that is being read, where the next process finds it if this one dies of it."""

    def __init__(self, index: Path, number: int) -> None:
        self._path = Path(f"{index}.now{number}")
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def say(self, path: str) -> None:
        """Note the file."""
        os.pwrite(self._fd, os.fsencode(path) + b"\0", 0)

    def done(self) -> None:
        """Nothing is being read any more."""
        os.close(self._fd)
        self._path.unlink(missing_ok=True)


def ended_by(index: Path) -> frozenset[str]:
    """Files at which a process ended before its time."""
    found = set()
    for path in index.parent.glob(f"{index.name}.now*"):
        with suppress(OSError):
            found.add(os.fsdecode(path.read_bytes().partition(b"\0")[0]))
    return frozenset(found - {""})


class Build(NamedTuple):
    """Which index is built of what: `file` is where it is. `secrets`: values that it must not hold, by their names."""

    file: Path
    key: str
    root: Path
    languages: Sequence[MapLanguage] = ()
    secrets: Mapping[str, str] = {}


def start(
    build: Build, entries: Sequence[Entry], gone: Sequence[str], *, lasting: bool
) -> subprocess.Popen[bytes]:
    """Start the process. `lasting`: it goes on when the caller has ended."""
    job = {
        "index": str(build.file),
        "key": build.key,
        "root": os.fspath(build.root),
        "languages": [astuple(one) for one in build.languages],
        "secrets": dict(build.secrets),
        "gone": gone,
        "lasting": lasting,
    }
    child = _spawn(build.file.parent)
    _give(child.stdin, job, entries)
    return child


def end(child: subprocess.Popen[bytes], *, lasting: bool) -> None:
    """Let go of a process: it ends when it has written what it has read, at most `END_S` later, or goes on by itself."""
    if child.stdin is not None:
        child.stdin.close()
    if lasting:
        return
    with suppress(subprocess.TimeoutExpired):
        child.wait(END_S)
    if child.poll() is None:
        child.kill()
        child.wait()


def _spawn(folder: Path, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tui_agent.context.repomap.worker"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def _give(pipe: IO[bytes] | None, job: dict[str, Any], entries: Sequence[Entry]) -> None:
    assert pipe is not None
    with suppress(BrokenPipeError):
        pipe.write(json.dumps({**job, "entries": entries}).encode("ascii") + b"\n")
        pipe.flush()


def main() -> None:
    """Do what standard input says."""
    job = json.loads(sys.stdin.buffer.readline() or b"null")
    if job is None:
        return
    os.nice(10)
    gc.disable()  # nothing here is in a circle, and what is remembered of words is much to go through
    entries = [Entry(*one) for one in job["entries"]]
    index, root = Path(job["index"]), job["root"]
    if "part" in job:
        with _discarding(index), closing(kept.opened(index, job["key"])) as keeping:
            _read_all(keeping, index, root, _chunks(entries), job)
        return
    fd = os.open(f"{index}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        with _discarding(index), closing(kept.opened(index, job["key"])) as keeping:
            _whole(keeping, index, root, entries, job)


@contextmanager
def _discarding(index: Path) -> Iterator[None]:
    """What cannot be kept is left; an index that is broken is thrown away, for the next map to build it anew."""
    try:
        yield
    except (sqlite3.OperationalError, OSError):
        pass
    except sqlite3.DatabaseError:
        kept.remove(index)


def is_building(index: Path) -> bool:
    """Whether some process is at work on the index."""
    try:
        with Path(f"{index}.lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _whole(keeping: kept.Kept, index: Path, root: str, entries: list[Entry], job: dict[str, Any]) -> None:
    chunks = _chunks(entries)
    queue = _queue(len(chunks) + 1)
    helper = None
    if sum(entry.size for entry in entries) > SPLIT_BYTES and (os.cpu_count() or 1) > 1:
        helper = _spawn(index.parent, (queue,))
        _give(helper.stdin, {**job, "part": 1, "queue": queue}, entries)
    _read_all(keeping, index, root, chunks, {**job, "queue": queue})
    os.close(queue)
    if helper is not None:
        with suppress(subprocess.TimeoutExpired):
            helper.wait(PATIENCE_S)
        end(helper, lasting=False)
    if job["gone"]:
        with keeping.writing():
            keeping.forget(job["gone"])
    if _go_on(job):
        graph.write(keeping)


def _chunks(entries: list[Entry]) -> list[list[Entry]]:
    """Files that are written together: at most `indexing.BATCH`, and so few bytes that two processes end at about the
    same time."""
    most = max(CHUNK_BYTES, sum(entry.size for entry in entries) // MOST_CHUNKS)
    found: list[list[Entry]] = []
    size = most
    for entry in entries:
        if size >= most or len(found[-1]) >= indexing.BATCH:
            found.append([])
            size = 0
        found[-1].append(entry)
        size += entry.size
    return found


def _queue(count: int) -> int:
    """A pipe that holds the numbers below `count`: whoever reads from it has the next piece of work."""
    reads, writes = os.pipe()
    os.write(writes, b"".join(_NUMBER.pack(number) for number in range(count)))
    os.close(writes)
    return reads


def _read_all(
    keeping: kept.Kept, index: Path, root: str, chunks: list[list[Entry]], job: dict[str, Any]
) -> None:
    """Do pieces of work as long as there are any; behind the files comes the history."""
    hard = ended_by(index)
    known = Languages([MapLanguage(*one) for one in job["languages"]])
    cleaner = Cleaner(job["secrets"])
    note = Note(index, job.get("part", 0))
    while _go_on(job) and (drawn := os.read(job["queue"], _NUMBER.size)):
        (number,) = _NUMBER.unpack(drawn)
        if number == len(chunks):
            history.refresh(keeping, Path(root))
            continue
        found = []
        for entry in chunks[number]:
            note.say(entry.path)
            signal.setitimer(signal.ITIMER_PROF, FILE_S)
            found.append(indexing.find(root, entry, known, parse=entry.path not in hard, cleaner=cleaner))
        signal.setitimer(signal.ITIMER_PROF, 0)
        note.say("")
        with keeping.writing():
            keeping.put(found)
            keeping.set_meta("graph", "")
    note.done()


def _go_on(job: dict[str, Any]) -> bool:
    """Whether someone still waits for the index: the other end of standard input is open."""
    if job["lasting"]:
        return True
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return not readable


if __name__ == "__main__":
    main()
