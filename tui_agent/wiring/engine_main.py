"""One session served over pipes, by a process of its own: options and commands in on standard input, events out on what was standard output.

Invariant: nothing but the protocol's lines reaches the app: descriptor 1 is moved away first, so that a chatty
library writes to standard error. It ends with its parent: the end of input closes the session in order.
"""

import asyncio
import gc
import json
import os
import threading
from dataclasses import dataclass
from functools import partial

import anyio
from anyio import to_thread

from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import Close
from tui_agent.session.fault_redaction import fault_redactor
from tui_agent.session.local import LocalSession
from tui_agent.session.wire import (
    LINE_LIMIT,
    Closed,
    Failed,
    Held,
    Opened,
    Trouble,
    note_line,
    read_command,
    record_line,
)
from tui_agent.store.log import SessionLog
from tui_agent.wiring.base import ground
from tui_agent.wiring.session import session

LAST_WORDS = 2.0
"""Seconds that an app which no longer reads is given for the last events."""
LOOK_EVERY_S = 1.0
ORPHAN_GRACE_S = 3.0
"""Seconds in which a session whose app is gone may close in order."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors that carry the protocol: input from the app, output to it."""

    inp: int
    out: int


def main() -> int:
    """Serve one session. Returns the exit status: 0, or 2 when the session could not be opened."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    return anyio.run(_serve, _claim_pipes())


def _end_with_parent(parent: int) -> None:
    """Once the app is gone the end of input closes the session; an engine whose loop is held up (a plugin that
    never returns, say) would not notice, so this thread ends it then."""
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(LOOK_EVERY_S)
    pause.wait(ORPHAN_GRACE_S)
    os._exit(1)


def _claim_pipes() -> Pipes:
    """Keep both pipes for ourselves: what prints goes to standard error, what reads finds an end."""
    pipes = Pipes(inp=os.dup(0), out=os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return pipes


async def _serve(pipes: Pipes) -> int:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(
        partial(asyncio.StreamReaderProtocol, reader), os.fdopen(pipes.inp, "rb", buffering=0)
    )
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(pipes.out, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    first = await reader.readline()
    if not first:
        return 0
    options = SessionOptions.from_json(json.loads(first)["options"])
    try:
        return await _session(options, reader, writer)
    except TuiAgentError as error:
        clean = fault_redactor(dict(os.environ), options.cwd).text
        writer.write(note_line(Failed(type(error).__name__, clean(error.message), clean(error.hint))))
        await writer.drain()
        return 2
    finally:
        writer.close()


async def _session(
    options: SessionOptions, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> int:
    def trouble(error: TuiAgentError) -> None:
        clean = base.redactor.text
        writer.write(note_line(Trouble(clean(error.message), clean(error.hint))))

    def held(log: SessionLog) -> None:
        writer.write(note_line(Held(log.session, str(log.folder), log.last_seq)))

    base = ground(options)
    async with session(options, base, trouble, held) as opened:
        last, stored = opened.log.last_seq, opened.log.stored_seq
        note = Opened(opened.id, str(opened.log.folder), last, stored, os.getpid(), stored < 0)
        writer.write(note_line(note))
        async with anyio.create_task_group() as group:
            group.start_soon(_send_events, opened, stored, writer)
            group.start_soon(to_thread.run_sync, _warm, opened)
            await _take_commands(opened, reader)
            await opened.ended()
            group.cancel_scope.deadline = anyio.current_time() + LAST_WORDS
    writer.write(note_line(Closed("done")))
    try:
        await writer.drain()
    except ConnectionError:
        return 0  # the app is gone; the log has everything
    return 0


def _warm(opened: LocalSession) -> None:
    """Load what is slow. It stays, so that no collection need look at it again: one took longer than a judgement."""
    opened.warm()
    gc.freeze()


async def _send_events(opened: LocalSession, after: int, writer: asyncio.StreamWriter) -> None:
    follower = opened.follow(after)
    try:
        while batch := await follower.next():
            writer.write(b"".join(record_line(record) for record in batch))
            await writer.drain()
    except ConnectionError:
        opened.submit(Close(reason="signal"))
    finally:
        follower.close()


async def _take_commands(opened: LocalSession, reader: asyncio.StreamReader) -> None:
    while True:
        try:
            line = await reader.readline()
        except (ValueError, ConnectionError):
            line = b""
        if not line:
            opened.submit(Close(reason="signal"))
            return
        command = read_command(line)
        if command is None:
            continue
        opened.submit(command)
        if isinstance(command, Close):
            return
