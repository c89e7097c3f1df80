"""The protocol's messages as JSON lines over two pipes.

Invariant: a line that is not a JSON object is skipped, with a message on standard error. Such a line never ends the
connection.
"""

import asyncio
import json
import sys
from typing import Any

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Maximum size of a message, in bytes. It is large because a message can contain images."""


class JsonLines:
    """One connection to an editor. Implements the library's `Transport`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises `ConnectionError` if the editor has disconnected.

        The line is queued before anything is awaited, so messages keep the order in which they were sent.
        """
        if self._writer.is_closing():
            raise ConnectionResetError("The editor has disconnected.")
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None when the editor has disconnected."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
                return None
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            if line.strip():
                sys.stderr.write("tui-agent: A line that is not a JSON object was skipped.\n")

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
