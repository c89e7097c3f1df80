"""Worker process that builds the index, separate from the process that shows maps.

Invariant: the worker can be ended at any time, because it writes after every chunk of files.
"""
# If reading a file kills the worker, the next worker indexes only the file's words.

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

from tui_agent.context.repomap import commit_search, graph, index_db, indexer
from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.ports.repomap import MapLanguage

FILE_S = 8.0
"""Limit of CPU seconds for reading one file."""
# The limit is not for elapsed time: at low priority, one second of work can take ten seconds.
SPLIT_BYTES = 3_000_000
"""A second process is started if all files together have at least this many bytes."""
MAX_CHUNK_BYTES, MIN_CHUNK_BYTES, MAX_CHUNKS = 1_500_000, 200_000, 2_000
CHUNK_DIVISOR = 8
"""Each chunk of files gets about 1/`CHUNK_DIVISOR` of the remaining bytes, so later chunks are smaller."""
PATIENCE_S = 60.0
END_S = 2.0
_NUMBER = Struct("<I")


class CurrentFileNote:
    """A note on disk with the name of the file that is being read. If the worker dies, the note shows the cause."""

    def __init__(self, index: Path, number: int) -> None:
        self._path = Path(f"{index}.now{number}")
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def write(self, path: str) -> None:
        """Write the name of the file that is read next."""
        os.pwrite(self._fd, os.fsencode(path) + b"\0", 0)

    def remove(self) -> None:
        os.close(self._fd)
        self._path.unlink(missing_ok=True)


def crashed_files(index: Path) -> frozenset[str]:
    """Return the files that earlier worker processes were reading when they died."""
    paths = set()
    for path in index.parent.glob(f"{index.name}.now*"):
        with suppress(OSError):
            paths.add(os.fsdecode(path.read_bytes().partition(b"\0")[0]))
    return frozenset(paths - {""})


class Build(NamedTuple):
    """The job of a worker process: the index to build, and the input for it.

    `file`: path of the index.
    `redaction`: content that the index must not contain.
    """

    file: Path
    key: str
    root: Path
    languages: Sequence[MapLanguage] = ()
    redaction: RedactionOptions = RedactionOptions()


def start(
    build: Build, entries: Sequence[Entry], gone: Sequence[str], *, detached: bool
) -> subprocess.Popen[bytes]:
    """Start a worker process, which holds the lock of the index.

    `detached`: let the worker continue after the caller ends.

    Raise `BlockingIOError` if another process builds the index.
    """
    job = {
        "index": str(build.file),
        "key": build.key,
        "root": os.fspath(build.root),
        "languages": [astuple(language) for language in build.languages],
        "redaction": build.redaction.to_json(),
        "gone": gone,
        "detached": detached,
    }
    fd = os.open(f"{build.file}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The worker inherits the lock, and so holds it for as long as it lives, even after this process has ended.
        child = subprocess.Popen(
            # -P: a module in the current folder must not replace one of Python's.
            [sys.executable, "-P", "-m", "tui_agent.context.repomap.index_worker"],
            cwd=build.file.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[fd],
        )
    assert child.stdin is not None
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps({**job, "entries": entries}).encode("ascii") + b"\n")
        child.stdin.flush()
    return child


def end(child: subprocess.Popen[bytes], *, detached: bool) -> None:
    """End a worker process after its current chunk, at the latest after `END_S` seconds.

    A detached worker is not ended.
    """
    if child.stdin is not None:
        child.stdin.close()
    if detached:
        return
    with suppress(subprocess.TimeoutExpired):
        child.wait(END_S)
    if child.poll() is None:
        child.kill()
        child.wait()


def main() -> None:
    """Run the job read from standard input."""
    job = json.loads(sys.stdin.buffer.readline() or b"null")
    if job is None:
        return
    os.nice(10)
    gc.disable()  # there are no reference cycles, and traversing the word cache would be slow
    index = Path(job["index"])
    with _discard_if_broken(index):
        _build(index, [Entry(*fields) for fields in job["entries"]], job)


@contextmanager
def _discard_if_broken(index: Path) -> Iterator[None]:
    """Ignore errors of writing to the index, and delete a damaged index."""
    try:
        yield
    except (sqlite3.OperationalError, OSError):
        pass
    except sqlite3.DatabaseError:
        index_db.remove(index)


def is_building(index: Path) -> bool:
    """Return True if a worker process is building the index."""
    try:
        with Path(f"{index}.lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class _Work(NamedTuple):
    """The work that the worker process shares with its helper process.

    `queue`: pipe with the numbers of the chunks to do. The number `len(chunks)` stands for the commit history.
    """

    file: Path
    key: str
    root: str
    chunks: list[list[Entry]]
    queue: int
    known: Languages
    cleaner: Cleaner
    detached: bool


def _build(index: Path, entries: list[Entry], job: dict[str, Any]) -> None:
    chunks = _split_chunks(entries)
    known = Languages([MapLanguage(*fields) for fields in job["languages"]])
    cleaner = Cleaner(RedactionOptions.from_json(job["redaction"]))
    queue = _make_queue(len(chunks))
    work = _Work(index, job["key"], job["root"], chunks, queue, known, cleaner, job["detached"])
    helper = None
    if sum(entry.size for entry in entries) > SPLIT_BYTES and (os.cpu_count() or 1) > 1:
        index_db.open_index(
            index, work.key
        ).close()  # create the file once here; each process must open its own connection
        _prepare(work, entries)
        helper = _Helper(work)
    with closing(index_db.open_index(index, work.key)) as index_file:
        _read_all(index_file, work, 0)
        os.close(queue)
        if helper is not None:
            helper.join(PATIENCE_S)
        if job["gone"]:
            with index_file.transaction():
                index_file.forget(job["gone"])
                index_file.set_meta("graph", "")
        if _is_wanted(work):
            graph.write_graph(index_file)


def _prepare(work: _Work, entries: list[Entry]) -> None:
    """Load the parsers and the redactor, before the helper process is forked."""
    for language in {work.known.language_of(entry.path) for entry in entries} - {""}:
        work.known.load_language(language)
    work.cleaner.prepare()


class _Helper:
    """A second process, forked from the worker process. The helper ends when no work is left."""

    def __init__(self, work: _Work) -> None:
        self._alive, write_end = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            try:
                os.setsid()  # the scheduler shares processors among sessions, and two sessions get two shares
                with (
                    _discard_if_broken(work.file),
                    closing(index_db.open_index(work.file, work.key)) as index_file,
                ):
                    _read_all(index_file, work, 1)
            finally:
                # The fork must never return into the code of its parent.
                os._exit(0)
        os.close(write_end)

    def join(self, seconds: float) -> None:
        if not select.select([self._alive], [], [], seconds)[0]:
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._alive)


def _split_chunks(entries: list[Entry]) -> list[list[Entry]]:
    """Split the files into chunks of at most `indexer.BATCH` files."""
    # Later chunks are smaller, so that both processes end at about the same time.
    remaining = sum(entry.size for entry in entries)
    largest = max(MAX_CHUNK_BYTES, remaining // MAX_CHUNKS)
    smallest = max(MIN_CHUNK_BYTES, remaining // MAX_CHUNKS) if remaining > SPLIT_BYTES else largest
    chunks: list[list[Entry]] = []
    size = limit = 0
    for entry in entries:
        if size >= limit or len(chunks[-1]) >= indexer.BATCH:
            chunks.append([])
            size, limit = 0, min(largest, max(smallest, remaining // CHUNK_DIVISOR))
        chunks[-1].append(entry)
        size += entry.size
        remaining -= entry.size
    return chunks


def _make_queue(count: int) -> int:
    """Return the read end of a new pipe that contains the job numbers from 0 to `count`."""
    # The job `count` takes longest, so it is not the last one.
    reads, writes = os.pipe()
    order = [*range(count)]
    order.insert(count * 3 // 4, count)
    # The numbers fit into the pipe's buffer, so this does not block.
    os.write(writes, b"".join(map(_NUMBER.pack, order)))
    os.close(writes)
    return reads


def _read_all(index_file: index_db.IndexFile, work: _Work, process: int) -> None:
    killers = crashed_files(work.file)
    note = CurrentFileNote(work.file, process)
    while _is_wanted(work) and (data := os.read(work.queue, _NUMBER.size)):
        (number,) = _NUMBER.unpack(data)
        if number == len(work.chunks):
            commit_search.refresh(index_file, Path(work.root))
            continue
        items = []
        for entry in work.chunks[number]:
            note.write(entry.path)
            # If the parser needs longer, the signal kills this process, and the next worker does not parse the file.
            signal.setitimer(signal.ITIMER_PROF, FILE_S)
            parse = entry.path not in killers
            items.append(indexer.index_entry(work.root, entry, work.known, parse=parse, cleaner=work.cleaner))
        signal.setitimer(signal.ITIMER_PROF, 0)
        note.write("")
        with index_file.transaction():
            index_file.add_files(items)
            index_file.set_meta("graph", "")
    note.remove()


def _is_wanted(work: _Work) -> bool:
    """Return True if the worker must continue: it is detached, or its standard input is still open."""
    if work.detached:
        return True
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return not readable


if __name__ == "__main__":
    main()
