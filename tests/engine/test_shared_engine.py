"""One engine of a server for several clients over its socket: each sees everything, and none can hold another up."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from tests.engine.test_session_contract import SCRIPT, options
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.serve.engine_socket import EngineSocket
from tui_agent.serve.hosted_sessions import HostedSessions
from tui_agent.session.remote_session import RemoteSession

__all__ = ["SCRIPT", "options"]


@asynccontextmanager
async def served(options: SessionOptions, path: Path) -> AsyncIterator[HostedSessions]:
    """The sessions of a server. Every client of the socket `path`2 is taken for one that does not read."""
    async with anyio.create_task_group() as group:
        sessions = HostedSessions(options, group)
        await group.start(EngineSocket(sessions).serve, path)
        await group.start(EngineSocket(sessions, stall_s=0.0).serve, path.with_name(f"{path.name}2"))
        yield sessions
        await sessions.aclose()
        group.cancel_scope.cancel()


@asynccontextmanager
async def attached(options: SessionOptions, path: Path) -> AsyncIterator[RemoteSession]:
    session = RemoteSession.spawn(replace(options, engine_socket=path, session="ses_shared"))
    async with anyio.create_task_group() as group:
        group.start_soon(session.serve)
        await session.wait_until_open()
        yield session
        await session.aclose()


async def read_turn(session: RemoteSession, after: int = -1) -> list[int]:
    follower = session.follow(after)
    seqs: list[int] = []
    try:
        while batch := await follower.next_batch():
            for record in batch:
                seqs.append(record.seq)
                if isinstance(record, Envelope) and isinstance(record.payload, TurnFinished):
                    return seqs
    finally:
        follower.close()
    return seqs


async def test_two_clients_share_an_engine_and_a_third_sees_what_was_before(
    options: SessionOptions, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    async with served(options, path):
        assert path.stat().st_mode & 0o777 == 0o600
        async with attached(options, path) as first, attached(options, path) as second:
            opened = [await session.wait_until_open() for session in (first, second)]
            assert opened[0].pid == opened[1].pid and first.id == second.id == "ses_shared"
            first.submit(SubmitPrompt(text="read it"))
            seen = [await read_turn(session) for session in (first, second)]
            assert seen[0] == seen[1] == list(range(seen[0][-1] + 1))
        async with attached(options, path) as third:
            assert await read_turn(third) == seen[0]
            for words in (options_line(options), b"nonsense\n", b"{}\n"):
                await anyio.to_thread.run_sync(be_dropped, path.with_name("s2"), words)
            for words in (b'{"opt', options_line(options) + b'{"kind"'):
                await anyio.to_thread.run_sync(hang_up, path, words)
            third.submit(SubmitPrompt(text="again"))
            assert (await read_turn(third, seen[0][-1]))[0] == seen[0][-1] + 1


def options_line(options: SessionOptions) -> bytes:
    return json.dumps({"options": replace(options, session="ses_shared").to_json()}).encode() + b"\n"


def be_dropped(path: Path, words: bytes) -> None:
    """Connect, say the words, and wait until the server has closed the connection."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(str(path))
        client.sendall(words)
        while client.recv(1 << 16):
            pass


def hang_up(path: Path, words: bytes) -> None:
    """Connect, say the words, say no more, and wait until the server has closed the connection."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(str(path))
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            pass
