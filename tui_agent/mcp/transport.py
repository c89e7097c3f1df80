"""Messages from and to an MCP server: the pipes of a server's program, and the check of each list from a server.

Invariant: no output of a server raises an error in this module or makes memory grow without limit, and an answer with
only valid items passes unchanged.
"""

# The SDK refuses a whole list if one item is invalid.
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ValidationError

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
MAX_NAMED = 10
"""Maximum number of invalid items that are named; further ones are only counted."""
_LISTS: Mapping[str, tuple[str, type[BaseModel]]] = {
    "tools": ("tools/list", types.ListToolsResult),
    "prompts": ("prompts/list", types.ListPromptsResult),
    "resources": ("resources/list", types.ListResourcesResult),
    "resourceTemplates": ("resources/templates/list", types.ListResourceTemplatesResult),
}
"""Maps a kind of list to (the method that requests it, the SDK's class for the answer)."""


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
        # Without a buffer, reading waits until a message is taken, so a server cannot fill the memory.
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
            # Only the new bytes are searched: otherwise a long line would take quadratic time.
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


class ListCheck:
    """Removes invalid items from the lists that one server sends, and records the reasons."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The protocol version for checking items, set after the negotiation."""
        self._left_out: dict[str, list[str]] = {key: [] for key in _LISTS}

    def begin(self, key: str) -> None:
        """Clear what was recorded about left-out items of the list `key` (such as `tools`): it is requested again."""
        self._left_out[key].clear()

    def leave_out_duplicate(self, tool: str) -> None:
        """Record that a tool was left out, because an earlier tool has the same name."""
        self._left_out["tools"].append(
            f"The server has two tools named {clean_line(tool, 80)}; the second tool is left out."
        )

    def left_out(self, *keys: str) -> tuple[str, ...]:
        """Return sentences about the left-out items of the lists `keys`.

        After `MAX_NAMED` sentences, one sentence gives the number of further items.
        """
        sentences = [sentence for key in keys for sentence in self._left_out[key]]
        rest = len(sentences) - MAX_NAMED
        return (*sentences[:MAX_NAMED], *([f"{rest} more items are left out."] if rest > 0 else []))

    def check(self, message: Incoming) -> Incoming:
        """Remove the invalid items from a message that answers the request for a list. Return the message."""
        response = message.message if isinstance(message, SessionMessage) else None
        if isinstance(response, types.JSONRPCResponse):
            for key in _LISTS.keys() & response.result.keys():
                items = response.result[key]
                if isinstance(items, list):
                    faults = self._find_faults(key, response.result)
                    self._left_out[key] += [
                        _describe(key, items[index], fault) for index, fault in sorted(faults.items())
                    ]
                    response.result[key] = [item for index, item in enumerate(items) if index not in faults]
        return message

    def _find_faults(self, key: str, result: Mapping[str, Any]) -> dict[int, str]:
        """Map the index of each invalid item to the item's first fault."""
        method, model = _LISTS[key]
        faults: dict[int, str] = {}
        for validate in (
            lambda: validate_server_result(method, self.version, result),
            lambda: model.model_validate(result, by_name=False),
        ):
            try:
                validate()
            except ValidationError as error:
                for each in error.errors(include_url=False, include_input=False):
                    match each["loc"]:
                        case (str(named), int(index), *place) if named == key:
                            where = ".".join(map(str, place))
                            faults.setdefault(index, f"{where}: {each['msg']}" if where else each["msg"])
        return faults

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
        """Open a transport of the SDK. Each message from the server is checked."""
        async with transport as (incoming, outgoing):
            yield _CheckedStream(incoming, self), outgoing


def _describe(key: str, item: object, fault: str) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    kind = key.removesuffix("s")
    title = f"The {kind} {clean_line(name, 80)}" if isinstance(name, str) else f"A {kind} without a name"
    return f"{title} is left out, because its description is not valid: {clean_line(fault)}."


class _CheckedStream:
    """A stream of the SDK that checks each message."""

    def __init__(self, inner: Any, check: ListCheck) -> None:
        self._inner = inner
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        async for message in self._inner:
            yield self._check.check(message)

    async def __aenter__(self) -> "_CheckedStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)
