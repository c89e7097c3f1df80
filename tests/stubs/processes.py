"""What other processes do in tests of the store; importable by name, so that a fork server can run it."""

import contextlib
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from tests.stubs.store import said, store
from tui_agent.errors import SessionLocked, SessionNotFound
from tui_agent.store.log_chunks import find_end_offset
from tui_agent.store.session_summary import summarise_session


def processes() -> ForkServerContext:
    """Processes that are forked from a clean server, which has the store loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.stubs.processes"])
    return context


def open_and_hold(root: Path, go: Connection, said_back: Connection) -> None:
    """Open a session when told; say `writer` and hold it, or say why not."""
    go.recv()
    try:
        log = store(root).open("s1", wait_s=0.2)
    except SessionLocked as refusal:
        said_back.send(str(refusal))
        return
    said_back.send("writer")
    go.recv()
    log.close()


def write_many(root: Path, count: int) -> None:
    """Append many events of different lengths."""
    log = store(root).open("s1")
    for number in range(count):
        log.append(said(f"message {number} " + "x" * (number % 700)))
    log.close()


def find_ends(path: Path, count: int) -> None:
    """Find the ends of events in a log, again and again."""
    for _ in range(count):
        for seq in range(0, 700, 50):
            find_end_offset(path, seq)


def find_runs(path: Path, count: int) -> None:
    """Search a log for a run that it does not contain, again and again."""
    sessions = store(path.parents[2])
    for _ in range(count):
        with contextlib.suppress(SessionNotFound):
            sessions.find("run_0123456789ab")


def summarise_damaged_starts(path: Path, count: int) -> None:
    """Summarise a session whose log begins with a damaged line, again and again."""
    for _ in range(count):
        summarise_session(path.parent)
