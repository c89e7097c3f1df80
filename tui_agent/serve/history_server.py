"""The HTTP server for histories of simulations: a list, and a page with the app for each history.

Invariant: every request passes `AccessControl`, and only histories below the given path are shown.
"""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from anyio import to_thread

from tui_agent.serve.access import AccessControl
from tui_agent.serve.app_pages import AppPages, Listener, redirect
from tui_agent.serve.page_app import HISTORY_FLAG
from tui_agent.serve.page_connection import PAGE_COMMAND
from tui_agent.simulation.job_folder import find_histories

_LIST = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Simulations</title><style>
body {{ margin: 3rem auto; max-width: 60rem; background: #101418; color: #d8dee4; font-family: monospace; }}
a {{ color: #7fb4ff; }} li {{ margin: 0.4rem 0; list-style: none; }}
</style></head><body><h1>Simulations</h1><ul>{rows}</ul></body></html>
"""


class HistoryServer:
    """The routes of one server. `path` is a folder with histories, or a single history."""

    def __init__(self, path: Path, access: AccessControl) -> None:
        self._path = path
        self._access = access
        self._pages = AppPages()

    def app(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._access.middleware])
        app.add_routes(
            [
                web.get("/", self._list),
                web.get("/view/{name:.+}", self._show),
                web.get("/ws/{name:.+}", self._serve_socket),
                *self._pages.routes(),
            ]
        )
        return app

    async def _find(self) -> Sequence[str]:
        return await to_thread.run_sync(find_histories, self._path)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        names = await self._find()
        rows = "".join(
            f'<li><a href="/view/{html.escape(quote(name))}">{html.escape(name)}</a></li>' for name in names
        )
        page = _LIST.format(rows=rows or "<li>No simulations.</li>")
        response = (
            redirect(f"/view/{quote(names[0])}")
            if len(names) == 1
            else web.Response(text=page, content_type="text/html")
        )
        if "token" in request.query:
            self._access.keep_token(response)
        return response

    async def _require(self, request: web.Request) -> str:
        name = request.match_info["name"]
        if name not in await self._find():
            raise web.HTTPNotFound(text="There is no such history.\n")
        return name

    async def _show(self, request: web.Request) -> web.StreamResponse:
        return self._pages.show(request, f"/ws/{quote(await self._require(request))}")

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        name = await self._require(request)
        file = self._path if self._path.is_file() else self._path / name
        command = (*PAGE_COMMAND, HISTORY_FLAG, str(file))
        return await self._pages.serve_socket(request, command, file.parent)


async def serve_histories(path: Path, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until cancelled. Raise `UsageError` if the port cannot be used."""
    listener = Listener(host, port)
    await listener.serve(HistoryServer(path, listener.access).app(), announce)
