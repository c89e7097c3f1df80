"""The transport to a server that runs as a program: one JSON message on each line of its pipes.

Invariant: no output of a server raises an error here or makes memory grow without limit.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tui_agent.errors import EnvironmentFault
from tui_agent.mcp.content.outside_text import clean_line
from tui_agent.ports.environment import PipedProcess
from tui_agent.units import format_bytes

MAX_LINE_BYTES = 16_000_000
MAX_SKIPPED_BYTES = 1_000_000
"""Maximum bytes of lines that are not messages, such as log lines. Above this limit, the connection ends."""
END_GRACE_S = 1.0
"""Seconds for a server to end after its input is closed."""
_ERROR_TAIL_BYTES = 4_000

Incoming = SessionMessage | Exception


class StdioTransport:
    """The pipes of one server as streams of messages.

    `ended`: set when the server closes its output or input.
    """

    def __init__(self, process: PipedProcess) -> None:
        self._process = process
        self._errors = b""
        self._skipped = 0
        self._sample = b""
        self.ended = anyio.Event()
        self.fault = ""
        """The reason why this program ended the connection; empty if the server ended it."""

    def describe_end(self, exit_code: int | None) -> str:
        """Return why the server ended, with the last line that it wrote to standard error."""
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        last = clean_line(lines[-1] if lines else self._sample.decode("utf-8", "replace"))
        reason = self.fault or f"it ended with {exit_code}"
        return f"{reason}: {last}" if last else reason

    @asynccontextmanager
    async def open(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]]:
        """Yield the streams from and to the server; the caller must end the process."""
        incoming_end, incoming = anyio.create_memory_object_stream[Incoming](0)
        outgoing, outgoing_end = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, incoming_end)
            group.start_soon(self._write, outgoing_end)
            group.start_soon(self._read_errors)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()
                outgoing.close()
                group.cancel_scope.cancel()

    async def _read(self, incoming: MemoryObjectSendStream[Incoming]) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with incoming:
                await self._read_messages(incoming)
                self.ended.set()  # before `incoming` is closed, which fails the calls

    async def _read_messages(self, incoming: MemoryObjectSendStream[Incoming]) -> None:
        buffer = bytearray()
        while data := await self._process.read_output():
            searched = len(buffer)
            buffer += data
            while (position := buffer.find(b"\n", searched)) >= 0:
                line, searched = bytes(buffer[:position]), 0
                del buffer[: position + 1]
                message = self._parse(line)
                if message is not None:
                    await incoming.send(message)
            if len(buffer) > MAX_LINE_BYTES:
                self.fault = f"it wrote a line of more than {format_bytes(MAX_LINE_BYTES)}"
            if self.fault:
                return

    def _parse(self, line: bytes) -> SessionMessage | None:
        with suppress(ValueError, RecursionError):
            if line.lstrip().startswith(b"{"):  # any other line is no message: it is skipped without the SDK
                return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        self._skipped += len(line)
        if line.strip():
            self._sample = line[:400]
        if self._skipped > MAX_SKIPPED_BYTES:
            self.fault = "it writes lines to standard output that are not MCP messages"
        return None

    async def _write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await self._process.write(text.encode() + b"\n")
                except EnvironmentFault:
                    self.ended.set()
                    return

    async def _read_errors(self) -> None:
        while data := await self._process.read_errors():
            self._errors = (self._errors + data)[-_ERROR_TAIL_BYTES:]
