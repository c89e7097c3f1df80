"""The HTTP server: the page with the app, its WebSocket, and the interface below `/api`.

Invariant: every request passes `AccessControl`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from aiohttp import web

from tui_agent.config.session_options import SessionOptions
from tui_agent.serve.access import AccessControl
from tui_agent.serve.app_pages import AppPages, Listener, redirect
from tui_agent.serve.engine_socket import EngineSocket
from tui_agent.serve.hosted_sessions import HostedSessions
from tui_agent.serve.http_api import HttpApi
from tui_agent.serve.page_connection import app_command
from tui_agent.wiring.startup_context import load_startup_context, require_trust_decision

MAX_BODY_BYTES = 1 << 20


class WebServer:
    """The routes of one server. The server's first page shows the session with the id `first`."""

    def __init__(
        self, options: SessionOptions, sessions: HostedSessions, access: AccessControl, first: str
    ) -> None:
        self._options = options
        self._sessions = sessions
        self._access = access
        self._first = first
        self._pages = AppPages()

    def app(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._access.middleware], client_max_size=MAX_BODY_BYTES)
        app.add_routes(
            [
                web.get("/", self._open_first),
                web.get("/new", self._open_new),
                web.get("/s/{session}", self._show_page),
                web.get("/ws/{session}", self._serve_socket),
                *self._pages.routes(),
                *HttpApi(self._sessions).routes(),
            ]
        )
        return app

    async def _open_first(self, request: web.Request) -> web.StreamResponse:
        response = redirect(f"/s/{self._first}")
        if "token" in request.query:
            self._access.keep_token(response)
        return response

    async def _open_new(self, request: web.Request) -> web.StreamResponse:
        return redirect(f"/s/{self._sessions.issue_id()}")

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        if "token" in request.query:
            response = redirect(request.rel_url.raw_path)
            self._access.keep_token(response)
            return response
        return self._pages.show(request, f"/ws/{await self._require_session(request)}")

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        session_id = await self._require_session(request)
        command = app_command(replace(self._options, session=session_id))
        return await self._pages.serve_socket(request, command, self._options.cwd)

    async def _require_session(self, request: web.Request) -> str:
        session_id = request.match_info["session"]
        if not await self._sessions.exists(session_id):
            raise web.HTTPNotFound(text="There is no such session.\n")
        return session_id


async def serve(
    options: SessionOptions, host: str, port: int, announce: Callable[[str], None], token: str = ""
) -> None:
    """Serve until cancelled.

    `announce` is called with the address of the first page, which contains the token. `port` 0 means any free port.
    Raise `UsageError` if the port cannot be used. Raise `ConfigError` if the user has not yet decided to trust or
    refuse the project's files.
    """
    require_trust_decision(load_startup_context(options))
    listener = Listener(host, port, token)
    with TemporaryDirectory(prefix="tui-agent-serve-") as folder:
        async with anyio.create_task_group() as group:
            sessions = HostedSessions(options, group)
            path = Path(folder, "engines.sock")
            await group.start(EngineSocket(sessions).serve, path)
            first = options.session or (
                await sessions.latest_session_id() if options.continue_latest else None
            )
            pages = replace(options, client="web", engine_socket=path, continue_latest=False)
            server = WebServer(pages, sessions, listener.access, first or sessions.issue_id())
            try:
                await listener.serve(server.app(), announce)
            finally:
                with anyio.CancelScope(shield=True):
                    await sessions.aclose()
