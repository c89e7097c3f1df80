"""A remote session's log can be looked at before its engine has it, where the session is named."""

import subprocess
import sys
from pathlib import Path
from typing import IO

import anyio
import pytest

from tests.stubs.store import said, store
from tui_agent.protocol.envelope import Envelope
from tui_agent.session.engine_handle import EngineHandle
from tui_agent.session.remote_session import RemoteSession


def silent_engine() -> EngineHandle:
    """An engine's process that ends when its input does, and never says a word."""
    return EngineHandle(b"", lambda errors: piped(sys.executable, "-S", "-c", "import sys; sys.stdin.read()"))


def piped(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_the_end_of_a_named_session_is_read_before_its_engine_speaks(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for number in range(50):
        log.append(said(str(number)))
    handle = silent_engine()
    remote = RemoteSession(handle, named=log.folder)
    try:
        with anyio.fail_after(30):
            held = await remote.wait_until_readable()
            tail = await remote.read_newest(3)
        assert held is not None and held.last_seq == 49
        assert [record.payload for record in tail if isinstance(record, Envelope)] == [
            said("47"),
            said("48"),
            said("49"),
        ]
    finally:
        handle.close(5)
        log.close()


async def test_a_named_session_that_is_not_there_waits_for_the_engine(tmp_path: Path) -> None:
    handle = silent_engine()
    remote = RemoteSession(handle, named=tmp_path / "ses_b")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(remote.serve)
            assert handle.child.stdin is not None
            handle.child.stdin.close()
            assert await remote.wait_until_readable() is None
    handle.close(5)


def test_an_engine_that_is_held_starts_once_and_gets_its_first_line_when_it_is_released() -> None:
    started: list[subprocess.Popen[bytes]] = []

    def launch(errors: IO[bytes]) -> "subprocess.Popen[bytes]":
        started.append(piped("cat"))
        return started[-1]

    handle = EngineHandle(b"options\n", launch)
    assert not started
    handle.release()
    handle.release()
    handle.send(b"after\n")
    [child] = started
    assert child.stdin is not None and child.stdout is not None
    child.stdin.close()
    assert child.stdout.read() == b"options\nafter\n"
    assert handle.close(5.0) == 0


def test_an_engine_that_is_held_can_be_closed_without_a_start() -> None:
    assert EngineHandle(b"", lambda errors: pytest.fail("started")).close(5.0) == 0
