"""The HTTP server for one evaluation environment: its tests, and sessions on uploaded workspaces.

Invariant: every request passes `AccessControl`.
"""

import io
import secrets
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web
from anyio import to_thread

from tui_agent.errors import ConfigError
from tui_agent.evals.environments.environment_file import EvalEnvironment
from tui_agent.evals.environments.environment_tests import EnvironmentSession, OpenEnvironment
from tui_agent.serve.access import AccessControl
from tui_agent.serve.app_pages import Listener

MAX_UPLOAD_BYTES = 256 << 20
MAX_SESSIONS = 64


class EnvironmentServer:
    """The routes of one evaluation environment. Each session has its own folder below `parent`."""

    def __init__(
        self, environment: EvalEnvironment, open_env: OpenEnvironment, access: AccessControl, parent: Path
    ) -> None:
        self._environment = environment
        self._open_env = open_env
        self._access = access
        self._parent = parent
        self._sessions: dict[str, tuple[EnvironmentSession, Path]] = {}

    def app(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._access.middleware], client_max_size=MAX_UPLOAD_BYTES)
        app.add_routes(
            [
                web.get("/", self._describe),
                web.post("/sessions", self._open),
                web.post("/sessions/{session}/test/{path:.*}", self._test),
                web.delete("/sessions/{session}", self._close),
            ]
        )
        return app

    def _description(self) -> dict[str, object]:
        tests = [{"path": item.path, "description": item.description} for item in self._environment.tests]
        return {"name": self._environment.name, "tests": tests}

    async def _describe(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._description())

    async def _open(self, request: web.Request) -> web.StreamResponse:
        """Unpack the `tar.gz` archive in the request's body as the workspace of a new session."""
        if len(self._sessions) >= MAX_SESSIONS:
            return _refusal(429, f"{MAX_SESSIONS} sessions are open. Close a session first.")
        data = await request.read()
        session_id = secrets.token_hex(8)
        folder = self._parent / session_id
        try:
            await to_thread.run_sync(_unpack, data, folder)
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            await to_thread.run_sync(_remove, folder)
            return _refusal(400, f"The workspace is not a usable tar.gz archive: {error}.")
        self._sessions[session_id] = (EnvironmentSession(self._environment, folder, self._open_env), folder)
        return web.json_response({"session": session_id, **self._description()})

    async def _test(self, request: web.Request) -> web.StreamResponse:
        opened = self._sessions.get(request.match_info["session"])
        if opened is None:
            return _refusal(404, "There is no such session.")
        try:
            report = await opened[0].test(request.match_info["path"])
        except ConfigError as error:
            return _refusal(404, str(error))
        return web.json_response(report.to_json())

    async def _close(self, request: web.Request) -> web.StreamResponse:
        opened = self._sessions.pop(request.match_info["session"], None)
        if opened is None:
            return _refusal(404, "There is no such session.")
        await to_thread.run_sync(_remove, opened[1])
        return web.json_response({})


def _refusal(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)


def _remove(folder: Path) -> None:
    shutil.rmtree(
        folder, ignore_errors=True
    )  # if this fails, the files are deleted with the server's own folder


def _unpack(data: bytes, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        archive.extractall(folder, filter="tar")  # refuses paths outside `folder`, also through links


async def serve_environment(
    environment: EvalEnvironment,
    open_env: OpenEnvironment,
    host: str,
    port: int,
    announce: Callable[[str], None],
) -> None:
    """Serve until cancelled. Raise `UsageError` if the port cannot be used."""
    listener = Listener(host, port)
    with TemporaryDirectory(prefix="tui-agent-environment-") as parent:
        server = EnvironmentServer(environment, open_env, listener.access, Path(parent))
        await listener.serve(server.app(), announce)
