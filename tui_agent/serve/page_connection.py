"""The connection of one page: a WebSocket to the browser, and the app process that draws the page.

Invariant: the app's process ends with the page, and the session continues.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from aiohttp import WSMsgType, web

from tui_agent.config.session_options import SessionOptions
from tui_agent.json_text import parse_json

PAGE_COMMAND: Final = (sys.executable, "-P", "-m", "tui_agent.serve.page_app")
"""Start of the command that draws a page; the arguments follow."""
STALL_S: Final = 30.0
QUIT_S: Final = 5.0
MAX_CELLS: Final = 1_000
MAX_INPUT_BYTES: Final = 1 << 22
_START: Final = b"__GANGLION__\n"
"""The first line that Textual's web driver prints."""
_DRAWING_ENDS: Final = (
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
    ConnectionError,
    TimeoutError,
    ValueError,
)
"""Errors after which a page is closed: the app's output cannot be read or passed on."""


class PageConnection:
    """Passes the app's output to the page, and keys, mouse events and the size to the app.

    `command` starts the app in `cwd`.
    """

    def __init__(
        self, socket: web.WebSocketResponse, command: Sequence[str], cwd: Path, *, stall_s: float = STALL_S
    ) -> None:
        self._socket = socket
        self._command = command
        self._cwd = cwd
        self._stall_s = stall_s

    async def serve(self, width: int, height: int) -> None:
        """Run the app until the page or the app is closed."""
        app = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._cwd,
            env=_environment(width, height),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert app.stdin is not None and app.stdout is not None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._draw, app.stdout, group.cancel_scope)
                await self._take_input(app.stdin)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(app)

    async def _draw(self, output: asyncio.StreamReader, scope: anyio.CancelScope) -> None:
        with suppress(*_DRAWING_ENDS):
            await output.readuntil(_START)
            while True:
                head = await output.readexactly(5)
                payload = await output.readexactly(int.from_bytes(head[1:], "big"))
                with anyio.fail_after(self._stall_s):
                    if head[:1] == b"D":
                        await self._socket.send_bytes(payload)
                    elif head[:1] == b"M" and not await self._take_meta(parse_json(payload)):
                        break
        scope.cancel()

    async def _take_meta(self, meta: dict[str, Any]) -> bool:
        """Process a message of Textual's web driver. Return False if the app has ended."""
        url = meta.get("url", "")
        # Only web addresses: with `javascript:`, text on the app's screen could run code in the page.
        if meta.get("type") == "open_url" and str(url).startswith(("http://", "https://")):
            await self._socket.send_str(json.dumps(["open_url", {"url": url, "new_tab": True}]))
        return meta.get("type") != "exit"

    async def _take_input(self, app: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            async for message in self._socket:
                match _parse(message.data) if message.type == WSMsgType.TEXT else []:
                    case ["stdin", str(text)]:
                        await _send(app, b"D", text.encode("utf-8", "replace"))
                    case ["resize", {"width": int(width), "height": int(height)}]:
                        size = {"type": "resize", "width": clamp_cells(width), "height": clamp_cells(height)}
                        await _send(app, b"M", json.dumps(size).encode())
                    case ["focus" | "blur" as kind, *_]:
                        await _send(app, b"M", json.dumps({"type": kind}).encode())
                    case ["ping", data]:
                        await self._socket.send_str(json.dumps(["pong", data]))
                    case _:
                        pass  # not a message of our page


def app_command(options: SessionOptions) -> tuple[str, ...]:
    """Return the command that runs the app for a page."""
    return *PAGE_COMMAND, json.dumps(options.to_json())


def clamp_cells(cells: int) -> int:
    """Limit a width or height, in cells, to what the app can draw."""
    return max(1, min(cells, MAX_CELLS))


def _parse(text: str) -> list[Any]:
    try:
        value = parse_json(text)
    except ValueError:
        return []
    return value if isinstance(value, list) else []


async def _send(app: asyncio.StreamWriter, kind: bytes, payload: bytes) -> None:
    app.write(kind + len(payload).to_bytes(4, "big") + payload)
    await app.drain()


def _environment(width: int, height: int) -> dict[str, str]:
    """Return the environment variables for the app: its size, and a terminal type with all colours."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR")}
    return inherited | {
        "COLUMNS": str(width),
        "ROWS": str(height),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
    }


async def _end(app: asyncio.subprocess.Process) -> None:
    """Ask the app to quit, and kill it after `QUIT_S`."""
    # The app's output must be read until the end, because a full pipe would block the app.
    assert app.stdin is not None and app.stdout is not None
    async with anyio.create_task_group() as group:
        group.start_soon(_discard, app.stdout)
        with suppress(ConnectionError, RuntimeError):
            await _send(app.stdin, b"M", b'{"type":"quit"}')
        with anyio.move_on_after(QUIT_S):
            await app.wait()
        if app.returncode is None:
            app.kill()
            await app.wait()


async def _discard(output: asyncio.StreamReader) -> None:
    while await output.read(1 << 16):
        pass
