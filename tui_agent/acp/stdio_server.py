"""The server of `tui-agent acp`: one editor on standard input and output, until it disconnects.

Invariant: only the protocol's messages reach standard output.
"""

import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import acp
import anyio

from tui_agent.acp.editor_agent import EditorAgent
from tui_agent.config.session_options import SessionOptions
from tui_agent.json_text import parse_json
from tui_agent.session.remote_session import RemoteSession
from tui_agent.session.stdio import claim_stdio, open_streams

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Maximum size of a message in bytes. A message can contain images."""


class JsonLines:
    """One connection to an editor; implements the library's `Transport`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raise `ConnectionError` if the editor has disconnected."""
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
                message = parse_json(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                return message
            if line.strip():
                sys.stderr.write("tui-agent: A line that is not a JSON object was skipped.\n")

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def run_stdio_server(options: SessionOptions) -> None:
    """Serve the editor that started this process. Each session has its own engine process."""
    anyio.run(_serve, options, *claim_stdio())


async def _serve(options: SessionOptions, input_fd: int, output_fd: int) -> None:
    lines = JsonLines(*await open_streams(input_fd, output_fd, limit=MAX_LINE_BYTES))
    with TemporaryDirectory(prefix="tui-agent-acp-") as images:
        async with anyio.create_task_group() as group:
            agent = EditorAgent(options, RemoteSession.spawn, group, Path(images))
            # Requests for methods that are not defined are answered with an error. The library allows that; its type does not.
            await acp.run_agent(cast(acp.Agent, agent), lines, use_unstable_protocol=True)
            await agent.aclose()
            group.cancel_scope.cancel()
