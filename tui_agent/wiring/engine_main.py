"""Main function of the engine process: serves one session over pipes.

Options and commands arrive on standard input; events are written to the original standard output.

Invariant: the process ends when its parent ends.
"""

import asyncio
import gc
import json
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.ports.session import LockedNote, OpenedNote, StorageFaultNote
from tui_agent.protocol.commands import Close
from tui_agent.session.fault_redaction import build_fault_redactor
from tui_agent.session.local_session import LocalSession
from tui_agent.session.stdio import claim_stdio, open_streams
from tui_agent.session.wire import (
    LINE_LIMIT,
    ClosedNote,
    CompletionRequest,
    CompletionsNote,
    FailedNote,
    note_line,
    read_request,
    record_line,
)
from tui_agent.store.session_log import SessionLog
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

LAST_EVENTS_TIMEOUT_S = 2.0
"""Maximum seconds to wait until the app has read the last events."""
EXIT_TIMEOUT_S = 4.0
"""Maximum seconds from the end of the session to the end of the process, including `LAST_EVENTS_TIMEOUT_S`."""
PARENT_CHECK_INTERVAL_S = 1.0
ORPHAN_GRACE_S = 3.0
"""Seconds for a session to close normally after the app has exited."""


def main() -> int:
    """Serve one session over standard input and output; return 0, or 2 if it could not be opened."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), name="parent", daemon=True).start()
    return anyio.run(_serve, *claim_stdio())


def _end_with_parent(parent: int) -> None:
    """End this process some time after its parent has exited."""
    # Normally the end of input closes the session, but a blocked event loop does not notice it.
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(PARENT_CHECK_INTERVAL_S)
    pause.wait(ORPHAN_GRACE_S)
    os._exit(1)


async def _serve(input_fd: int, output_fd: int) -> int:
    reader, writer = await open_streams(input_fd, output_fd, limit=LINE_LIMIT)
    first = await reader.readline()
    if not first:
        return 0
    options = SessionOptions.from_json(json.loads(first)["options"])
    try:
        return await _serve_session(options, reader, writer, partial(_end_blocked, output_fd))
    except TuiAgentError as error:
        redact = build_fault_redactor(dict(os.environ), options.cwd).redact_text
        writer.write(note_line(FailedNote(type(error).__name__, redact(error.message), redact(error.hint))))
        await writer.drain()
        return 2
    finally:
        writer.close()


def _end_blocked(output_fd: int, error: PluginError) -> None:
    """Tell the app that a plugin blocks this process permanently, then end the process."""
    # The event loop is blocked too, so the note is written directly. Every recorded event is in the log already.
    note = note_line(FailedNote.from_exception(error))
    with suppress(OSError):
        os.write(output_fd, b"\n" + note)  # the loop may have written a part of a line
    os._exit(1)


def _limit_exit() -> None:
    """Make sure that the process ends within `EXIT_TIMEOUT_S`, even if a plugin hangs."""
    # The default action of this signal ends the process, no matter what its threads are doing.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, EXIT_TIMEOUT_S)


async def _serve_session(
    options: SessionOptions,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    end_process: Callable[[PluginError], None],
) -> int:
    def report_trouble(error: TuiAgentError) -> None:
        redact = base.redactor.redact_text
        writer.write(note_line(StorageFaultNote(redact(error.message), redact(error.hint))))

    def report_locked(log: SessionLog) -> None:
        writer.write(note_line(LockedNote(log.session, str(log.folder), log.last_seq)))

    base = load_startup_context(options)
    async with open_session(options, base, report_trouble, report_locked) as opened:
        opened.end_process = end_process
        last_seq, stored_seq = opened.log.last_seq, opened.log.last_stored_seq
        note = OpenedNote(
            opened.id, str(opened.log.folder), last_seq, stored_seq, os.getpid(), stored_seq < 0
        )
        writer.write(note_line(note))
        async with anyio.create_task_group() as group:
            group.start_soon(_send_events, opened, stored_seq, writer)
            group.start_soon(to_thread.run_sync, _preload, opened)
            await _take_requests(opened, reader, writer, group)
            await opened.wait_until_ended()
            _limit_exit()
            group.cancel_scope.deadline = anyio.current_time() + LAST_EVENTS_TIMEOUT_S
    writer.write(note_line(ClosedNote("done")))
    with suppress(ConnectionError):  # the app is gone; the log has everything
        await writer.drain()
    return 0


def _preload(opened: LocalSession) -> None:
    """Import slow modules, and exempt all existing objects from garbage collection.

    A collection of so many objects would delay the engine's decisions.
    """
    opened.preload_client()
    gc.freeze()


async def _send_events(opened: LocalSession, after: int, writer: asyncio.StreamWriter) -> None:
    follower = opened.follow(after)
    try:
        while batch := await follower.next_batch():
            writer.write(b"".join(record_line(record) for record in batch))
            await writer.drain()
    except ConnectionError:
        opened.submit(Close(reason="signal"))
    finally:
        follower.close()


async def _complete(opened: LocalSession, request: CompletionRequest, writer: asyncio.StreamWriter) -> None:
    texts = await opened.complete(request.command, request.arguments)
    writer.write(note_line(CompletionsNote(request.id, texts)))


async def _take_requests(
    opened: LocalSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, group: TaskGroup
) -> None:
    while True:
        try:
            line = await reader.readline()
        except (ValueError, ConnectionError):  # a line over the limit, or the app is gone
            line = b""
        if not line:
            opened.submit(Close(reason="signal"))
            return
        request = read_request(line)
        if isinstance(request, CompletionRequest):
            # A task of its own, because a plugin's slow completion must not delay commands.
            group.start_soon(_complete, opened, request, writer)
        elif request is not None:
            opened.submit(request)
        if isinstance(request, Close):
            return
