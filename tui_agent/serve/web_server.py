"""The HTTP server: the page with the app, its WebSocket, and the interface below `/api`.

Invariant: every request passes `AccessControl`, and the page loads nothing from other servers.
"""

import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import anyio
from aiohttp import web

from tui_agent.config.options import SessionOptions
from tui_agent.errors import ConfigError, UsageError
from tui_agent.serve.access import AccessControl
from tui_agent.serve.engine_socket import EngineSocket
from tui_agent.serve.hosted_sessions import HostedSessions
from tui_agent.serve.http_api import HttpApi
from tui_agent.serve.page_connection import MAX_INPUT_BYTES, PageConnection, app_command, bound
from tui_agent.wiring.startup_context import load_startup_context, require_trust_decision

MAX_BODY_BYTES = 1 << 20
HEARTBEAT_S = 15.0
SHUTDOWN_S = 3.0


class WebServer:
    """The routes of one server. `first` is the session that its first page shows."""

    def __init__(
        self, options: SessionOptions, sessions: HostedSessions, access: AccessControl, first: str
    ) -> None:
        self._options = options
        self._sessions = sessions
        self._access = access
        self._first = first
        self._page = Template(_read("page.html"))
        self._script = _read("page.js")

    def app(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._access.middleware], client_max_size=MAX_BODY_BYTES)
        app.add_routes(
            [
                web.get("/", self._open_first),
                web.get("/new", self._open_new),
                web.get("/s/{session}", self._show_page),
                web.get("/page.js", self._send_script),
                web.get("/ws/{session}", self._serve_socket),
                web.static("/static", _static_folder()),
                *HttpApi(self._sessions).routes(),
            ]
        )
        return app

    async def _open_first(self, request: web.Request) -> web.StreamResponse:
        response = _redirect(f"/s/{self._first}")
        if "token" in request.query:
            self._access.keep_token(response)
        return response

    async def _open_new(self, request: web.Request) -> web.StreamResponse:
        return _redirect(f"/s/{self._sessions.issue_id()}")

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        session_id = await self._require_session(request)
        scheme = "wss" if request.secure else "ws"
        page = self._page.substitute(socket=f"{scheme}://{request.host}/ws/{session_id}")
        return web.Response(text=page, content_type="text/html")

    async def _send_script(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text=self._script, content_type="text/javascript")

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        session_id = await self._require_session(request)
        messages = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_INPUT_BYTES)
        await messages.prepare(request)
        width, height = (_cells(request.query.get(name, "")) for name in ("width", "height"))
        command = app_command(replace(self._options, session=session_id))
        page = PageConnection(messages, command, self._options.cwd)
        await page.serve(width or 80, height or 24)
        await messages.close()
        return messages

    async def _require_session(self, request: web.Request) -> str:
        session_id = request.match_info["session"]
        if not await self._sessions.exists(session_id):
            raise web.HTTPNotFound(text="There is no such session.\n")
        return session_id


def _redirect(path: str) -> web.Response:
    return web.Response(status=302, headers={"Location": path})


def _read(name: str) -> str:
    return files("tui_agent.serve").joinpath(name).read_text("utf-8")


def _cells(text: str) -> int:
    return bound(int(text)) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


def _static_folder() -> Path:
    """Return the folder with the terminal that runs in the browser. Raises `ConfigError` if it is not installed."""
    try:
        return Path(str(files("textual_serve").joinpath("static")))
    except ModuleNotFoundError as error:
        raise ConfigError(
            "The web server needs the package textual-serve.",
            hint="Install it: pip install 'tui-agent[web]'.",
        ) from error


async def serve(
    options: SessionOptions, host: str, port: int, announce: Callable[[str], None], token: str = ""
) -> None:
    """Serve until cancelled. `announce` is called with the address of the first page, which contains the token.

    `port` 0 takes a free one. Raises `UsageError` if the port cannot be used, `ConfigError` if the user has not
    decided about the project's files.
    """
    require_trust_decision(load_startup_context(options))
    listener = _listen(host, port)
    address = listener.getsockname()
    token = token or secrets.token_urlsafe(32)
    with TemporaryDirectory(prefix="tui-agent-serve-") as folder:
        async with anyio.create_task_group() as group:
            sessions = HostedSessions(options, group)
            path = Path(folder, "engines.sock")
            await group.start(EngineSocket(sessions).serve, path)
            first = options.session or (await sessions.latest() if options.continue_latest else None)
            pages = replace(options, client="web", engine_socket=path, continue_latest=False)
            access = AccessControl(token, host, address[1])
            runner = web.AppRunner(
                WebServer(pages, sessions, access, first or sessions.issue_id()).app(),
                access_log=None,
                handler_cancellation=True,
                shutdown_timeout=SHUTDOWN_S,
            )
            await runner.setup()
            try:
                await web.SockSite(runner, listener).start()
                name = f"[{host}]" if ":" in host else host
                announce(f"http://{name}:{address[1]}/?token={token}")
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await runner.cleanup()
                    await sessions.aclose()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host}:{port}: {error.strerror}.", hint="Choose another port with --port."
        ) from error
