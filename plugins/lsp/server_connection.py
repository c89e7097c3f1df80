"""The messages to and from one language server, over its pipes.

Invariant: whatever a server writes, memory use stays bounded.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio

import tui_agent.plugin_api as api

MAX_MESSAGE_BYTES = 16_000_000
MAX_HEADER_BYTES = 4_000
MAX_QUEUED = 1_000
"""Maximum number of messages that wait until the server reads them. With more, the connection is closed."""
_ERROR_TAIL_BYTES = 2_000


class ServerGone(Exception):
    """Raised if the server ended, or the connection to it was closed; the message gives the reason."""


class ServerRefused(Exception):
    """Raised if the server answers a request with an error."""


class _PendingRequest:
    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: Mapping[str, Any] = {}


class Connection:
    """The requests and notifications of one server.

    `on_notification`: called with each notification of the server.
    """

    def __init__(
        self,
        process: api.PipedProcess,
        on_notification: Callable[[str, Mapping[str, Any]], None],
        answers: Mapping[str, Callable[[Mapping[str, Any]], Any]],
    ) -> None:
        self._process = process
        self._on_notification = on_notification
        self._answers = answers
        self._outgoing, self._outgoing_end = anyio.create_memory_object_stream[bytes](MAX_QUEUED)
        self._written = anyio.Event()
        self._pending: dict[int, _PendingRequest] = {}
        self._count = 0
        self._errors = b""
        self.fault = ""
        """The reason why the connection ended; empty while it is open."""

    async def request(self, method: str, params: object) -> Any:
        """Send a request and return its result.

        Raise `ServerRefused` if the server answers with an error, and `ServerGone` if the connection has ended.
        """
        self._count += 1
        number, pending = self._count, _PendingRequest()
        self._send({"id": number, "method": method, "params": params})
        self._pending[number] = pending
        try:
            await pending.done.wait()
        finally:
            del self._pending[number]
            if not pending.done.is_set():  # the caller was cancelled
                with suppress(ServerGone):
                    self._send({"method": "$/cancelRequest", "params": {"id": number}})
        if "error" in pending.answer:
            error = pending.answer["error"]
            raise ServerRefused(clean(error.get("message") if isinstance(error, dict) else error))
        if not pending.answer:
            raise ServerGone(self.fault)
        return pending.answer.get("result")

    def notify(self, method: str, params: object) -> None:
        """Send a notification; raise `ServerGone` if the connection has ended."""
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, object]) -> None:
        if self.fault:
            raise ServerGone(self.fault)
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        try:
            # It does not wait for room in the queue, so a server that does not read cannot block the session.
            self._outgoing.send_nowait(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except (anyio.WouldBlock, anyio.BrokenResourceError):
            self.give_up("it does not read its input")
            raise ServerGone(self.fault) from None

    def give_up(self, reason: str) -> None:
        """End the connection; all requests without an answer fail."""
        self.fault = self.fault or reason
        for pending in self._pending.values():
            pending.done.set()

    def close(self) -> None:
        """Release the queue of outgoing messages."""
        self.give_up("it was stopped")
        self._outgoing.close()
        self._outgoing_end.close()

    async def write_messages(self) -> None:
        """Write the outgoing messages, one after the other."""
        try:
            async for data in self._outgoing_end:
                await self._process.write(data)
        except api.EnvironmentFault:
            return  # the server has ended; `read_messages` says why
        finally:
            self._written.set()

    async def finish(self) -> None:
        """Refuse new messages, and wait until all queued messages are written."""
        self._outgoing.close()
        await self._written.wait()

    async def read_errors(self) -> None:
        """Keep the last lines that the server writes to standard error."""
        while data := await self._process.read_errors():
            self._errors = (self._errors + data)[-_ERROR_TAIL_BYTES:]

    async def read_messages(self) -> None:
        """Read the server's messages until it ends or sends invalid data."""
        buffer = bytearray()
        length = -1
        while data := await self._process.read_output():
            buffer += data
            while not self.fault:
                if length < 0:
                    length = self._take_header(buffer)
                if length < 0 or len(buffer) < length:
                    break
                self._receive(bytes(buffer[:length]))
                del buffer[:length]
                length = -1
            if self.fault:
                return
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        self.give_up(f"it ended: {clean(lines[-1])}" if lines else "it ended")

    def _take_header(self, buffer: bytearray) -> int:
        """Remove a message's header from the buffer; return the message's length, or -1 if the header is incomplete."""
        end = buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
        if end < 0:
            if len(buffer) >= MAX_HEADER_BYTES:
                self.give_up("it sent data that is not a Language Server Protocol message")
            return -1
        header = bytes(buffer[:end]).decode("ascii", "replace").lower()
        del buffer[: end + 4]
        for line in header.split("\r\n"):
            name, _, value = line.partition(":")
            if name == "content-length" and value.strip().isdigit() and len(value) < 12:
                if int(value) > MAX_MESSAGE_BYTES:
                    self.give_up(f"it sent a message of more than {api.format_bytes(MAX_MESSAGE_BYTES)}")
                    return -1
                return int(value)
        self.give_up("it sent a message without a length")
        return -1

    def _receive(self, body: bytes) -> None:
        try:
            message = api.parse_json(body)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self.give_up("it sent a message that is not valid JSON")
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        if isinstance(method, str) and number is None:
            self._on_notification(method, params if isinstance(params, dict) else {})
        elif isinstance(method, str):
            self._answer(method, number, params if isinstance(params, dict) else {})
        elif isinstance(number, int) and number in self._pending:
            pending = self._pending[number]
            pending.answer = message
            pending.done.set()

    def _answer(self, method: str, number: object, params: Mapping[str, Any]) -> None:
        answer = self._answers.get(method)
        reply: dict[str, object] = {"id": number}
        if answer is None:
            reply["error"] = {"code": -32601, "message": "not supported"}
        else:
            reply["result"] = answer(params)
        try:
            self._send(reply)
        except ServerGone:
            return  # the next request reports it


def clean(text: object, limit: int = 300) -> str:
    """Return a server's text in one line, without control characters, cut to `limit` characters."""
    line = api.escape_unprintable(" ".join(str(text).split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
