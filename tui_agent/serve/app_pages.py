"""Serves web pages that show an app, with the files and WebSockets of the pages.

Invariant: a page loads nothing from other servers.
"""

import secrets
import socket
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

import anyio
from aiohttp import web

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import UsageError, os_errors_as
from tui_agent.serve.access import AccessControl
from tui_agent.serve.page_connection import MAX_INPUT_BYTES, PageConnection, clamp_cells

HEARTBEAT_S = 15.0
SHUTDOWN_S = 3.0


class AppPages:
    """Answers requests of the browser pages that show the app."""

    def __init__(self) -> None:
        self._page = Template(_read("page.html"))
        self._script = _read("page.js")

    def routes(self) -> list[web.AbstractRouteDef]:
        """Return the routes of the files that all pages share. Raise `ConfigError` if the files are not installed."""
        return [web.get("/page.js", self._send_script), web.static("/static", _static_folder())]

    def show(self, request: web.Request, socket_path: str) -> web.Response:
        """Return the web page for the app. The page opens a WebSocket at `socket_path`."""
        scheme = "wss" if request.secure else "ws"
        page = self._page.substitute(socket=f"{scheme}://{request.host}{socket_path}")
        return web.Response(text=page, content_type="text/html")

    async def serve_socket(
        self, request: web.Request, command: Sequence[str], cwd: Path
    ) -> web.WebSocketResponse:
        """Connect a page's WebSocket with a new app process, until the app or the page is closed.

        `command`: command that starts the app, in the folder `cwd`.
        """
        messages = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_INPUT_BYTES)
        await messages.prepare(request)
        width, height = (_cells(request.query.get(name, "")) for name in ("width", "height"))
        await PageConnection(messages, command, cwd).serve(width or 80, height or 24)
        await messages.close()
        return messages

    async def _send_script(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text=self._script, content_type="text/javascript")


class Listener:
    """The address of a server, and the token that requests need. `port` 0 means any free port.

    Raise `UsageError` if the port cannot be used.
    """

    def __init__(self, host: str, port: int, token: str = "") -> None:
        self._host = host
        self._socket = _listen(host, port)
        self._token = token or secrets.token_urlsafe(32)
        self._port: int = self._socket.getsockname()[1]
        self.access = AccessControl(self._token, host, self._port)

    async def serve(self, app: web.Application, announce: Callable[[str], None]) -> None:
        """Serve until cancelled. `announce` is called with the address of the first page, which contains the token."""
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket).start()
            name = f"[{self._host}]" if ":" in self._host else self._host
            announce(f"http://{name}:{self._port}/?token={self._token}")
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await runner.cleanup()


def redirect(path: str) -> web.Response:
    """Return a redirect to another path."""
    return web.Response(status=302, headers={"Location": path})


def _read(name: str) -> str:
    return files("tui_agent.serve").joinpath(name).read_text("utf-8")


def _cells(text: str) -> int:
    return clamp_cells(int(text)) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


def _static_folder() -> Path:
    """Return the folder with the browser terminal's files (from `textual_serve`)."""
    return Path(str(files(load_package("textual_serve")).joinpath("static")))


def _listen(host: str, port: int) -> socket.socket:
    with os_errors_as(UsageError, f"Cannot listen on {host}:{port}", hint="Choose another port with --port."):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
