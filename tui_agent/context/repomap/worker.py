"""The process that builds the index, apart from the one that answers.

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
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

from tui_agent.context.repomap import graph, history
from tui_agent.context.repomap import index_db as kept
from tui_agent.context.repomap import indexer as indexing
from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage

FILE_S = 8.0
"""Time of the processor that one file may take; the system then ends the process. What else the machine does counts not:
at low priority a second can take ten."""
SPLIT_BYTES = 3_000_000
"""From so many bytes on a second process helps."""
CHUNK_BYTES, LEAST_BYTES, MOST_CHUNKS = 1_500_000, 200_000, 2_000
SHARE = 8
"""One in so many of the bytes that are left is a chunk's."""
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
    """Which index is built of what: `file` is where it is. `redaction` says what it must not hold."""

    file: Path
    key: str
    root: Path
    languages: Sequence[MapLanguage] = ()
    redaction: RedactionOptions = RedactionOptions()


def start(
    build: Build, entries: Sequence[Entry], gone: Sequence[str], *, lasting: bool
) -> subprocess.Popen[bytes]:
    """Start the process. `lasting`: it goes on when the caller has ended."""
    job = {
        "index": str(build.file),
        "key": build.key,
        "root": os.fspath(build.root),
        "languages": [astuple(one) for one in build.languages],
        "redaction": build.redaction.to_json(),
        "gone": gone,
        "lasting": lasting,
    }
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "tui_agent.context.repomap.worker"],
        cwd=build.file.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdin is not None
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps({**job, "entries": entries}).encode("ascii") + b"\n")
        child.stdin.flush()
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


def main() -> None:
    """Do what standard input says."""
    job = json.loads(sys.stdin.buffer.readline() or b"null")
    if job is None:
        return
    os.nice(10)
    gc.disable()  # nothing here is in a circle, and what is remembered of words is much to go through
    index = Path(job["index"])
    fd = os.open(f"{index}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        with _discarding(index):
            _whole(index, [Entry(*one) for one in job["entries"]], job)


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


class _Work(NamedTuple):
    """What one or two processes do. `queue`: a pipe with the numbers of `chunks` that nobody has begun with; the history
    has the next number."""

    file: Path
    key: str
    root: str
    chunks: list[list[Entry]]
    queue: int
    known: Languages
    cleaner: Cleaner
    lasting: bool


def _whole(index: Path, entries: list[Entry], job: dict[str, Any]) -> None:
    chunks = _chunks(entries)
    known = Languages([MapLanguage(*one) for one in job["languages"]])
    cleaner = Cleaner(RedactionOptions.from_json(job["redaction"]))
    queue = _queue(len(chunks))
    work = _Work(index, job["key"], job["root"], chunks, queue, known, cleaner, job["lasting"])
    helper = None
    if sum(entry.size for entry in entries) > SPLIT_BYTES and (os.cpu_count() or 1) > 1:
        kept.opened(
            index, work.key
        ).close()  # made by one; what is open in two processes must be opened by each
        _prepare(work, entries)
        helper = _Helper(work)
    with closing(kept.opened(index, work.key)) as keeping:
        _read_all(keeping, work, 0)
        os.close(queue)
        if helper is not None:
            helper.join(PATIENCE_S)
        if job["gone"]:
            with keeping.writing():
                keeping.forget(job["gone"])
        if _goes_on(work):
            graph.write(keeping)


def _prepare(work: _Work, entries: list[Entry]) -> None:
    """Load what both processes need, before the second begins from the first."""
    for language in {work.known.language_of(entry.path) for entry in entries} - {""}:
        work.known.ready(language)
    work.cleaner.prepare()


class _Helper:
    """A second process, which begins with all that this one has loaded and ends when nothing is left to be done."""

    def __init__(self, work: _Work) -> None:
        self._alive, ends = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            try:
                os.setsid()  # the system shares processors out by sessions: two that work have two shares
                with _discarding(work.file), closing(kept.opened(work.file, work.key)) as keeping:
                    _read_all(keeping, work, 1)
            finally:
                os._exit(0)
        os.close(ends)

    def join(self, seconds: float) -> None:
        """Wait until it has ended, and end it when it takes longer."""
        if not select.select([self._alive], [], [], seconds)[0]:
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._alive)


def _chunks(entries: list[Entry]) -> list[list[Entry]]:
    """Files that are written together: at most `indexing.BATCH`, and so few bytes, the last ones fewest, that two processes
    end at about the same time."""
    left = sum(entry.size for entry in entries)
    largest = max(CHUNK_BYTES, left // MOST_CHUNKS)
    least = max(LEAST_BYTES, left // MOST_CHUNKS) if left > SPLIT_BYTES else largest
    found: list[list[Entry]] = []
    size = most = 0
    for entry in entries:
        if size >= most or len(found[-1]) >= indexing.BATCH:
            found.append([])
            size, most = 0, min(largest, max(least, left // SHARE))
        found[-1].append(entry)
        size += entry.size
        left -= entry.size
    return found


def _queue(count: int) -> int:
    """A pipe that holds the numbers up to `count`: whoever reads from it has the next piece of work. The last number is that
    of the longest, so it does not come last."""
    reads, writes = os.pipe()
    order = [*range(count)]
    order.insert(count * 3 // 4, count)
    os.write(writes, b"".join(map(_NUMBER.pack, order)))
    os.close(writes)
    return reads


def _read_all(keeping: kept.Kept, work: _Work, process: int) -> None:
    """Do pieces of work as long as there are any."""
    hard = ended_by(work.file)
    note = Note(work.file, process)
    while _goes_on(work) and (drawn := os.read(work.queue, _NUMBER.size)):
        (number,) = _NUMBER.unpack(drawn)
        if number == len(work.chunks):
            history.refresh(keeping, Path(work.root))
            continue
        found = []
        for entry in work.chunks[number]:
            note.say(entry.path)
            signal.setitimer(signal.ITIMER_PROF, FILE_S)
            parse = entry.path not in hard
            found.append(indexing.find(work.root, entry, work.known, parse=parse, cleaner=work.cleaner))
        signal.setitimer(signal.ITIMER_PROF, 0)
        note.say("")
        with keeping.writing():
            keeping.put(found)
            keeping.set_meta("graph", "")
    note.done()


def _goes_on(work: _Work) -> bool:
    """Whether someone still waits for the index: the other end of standard input is open."""
    if work.lasting:
        return True
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return not readable


if __name__ == "__main__":
    main()
