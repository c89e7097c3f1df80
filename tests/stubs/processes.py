"""What other processes do in tests of the store; importable by name, so that a fork server can run it."""

import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from tests.stubs.store import said, store
from tui_agent.errors import SessionLocked


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
