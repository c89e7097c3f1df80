"""The login to an MCP server in the user's browser. The browser then sends the answer to a port of this machine.

Invariant: a login ends within its time limit, and nothing is saved unless the whole login succeeded.
"""

import sys
import webbrowser
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio import to_thread
from anyio.abc import SocketAttribute, SocketStream
from httpx2 import HTTPError
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError
from mcp.shared.auth import AuthorizationCodeResult
from mcp.shared.exceptions import MCPError

from tui_agent.config.settings.mcp_logins import LoginFile
from tui_agent.errors import ConfigError, LoginNeeded
from tui_agent.mcp.connection import connect
from tui_agent.mcp.login import ServerLogin
from tui_agent.mcp.outside_text import clean_line
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.ports.environment import ProcessOpener
from tui_agent.units import format_time_limit

WRONG_ADDRESS = (
    "This is not the address of the browser's last page. That address contains /callback and a code."
)
_PATH = "/callback"
_MAX_REQUEST_BYTES = 16_000
_REQUEST_LIMIT_S = 5.0
_PAGE = "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"

ShowAddress: TypeAlias = Callable[[str], Coroutine[Any, Any, None]]
"""Function that shows the address of a login to the user."""


class BrowserAnswer:
    """Waits for the address that the browser is redirected to.

    The address comes as a request to a port of this machine, or the user pastes it.
    """

    def __init__(self, show: ShowAddress, warn: Callable[[str], object]) -> None:
        self._show = show
        self._warn = warn
        self._query: Mapping[str, list[str]] = {}
        self._arrived = anyio.Event()

    async def ask(self, url: str) -> AuthorizationCodeResult:
        """Show an address, and return the answer of the authorization server.

        Raises `ConfigError` if the server refuses the login.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._show, url)
            if sys.stdin.isatty():
                group.start_soon(self._read_lines)
            await self._arrived.wait()
            group.cancel_scope.cancel()
        error = self._value("error")
        if error:
            detail = clean_line(self._value("error_description") or error)
            raise ConfigError(f"The login was declined: {detail}.")
        return AuthorizationCodeResult(
            code=self._value("code") or "", state=self._value("state"), iss=self._value("iss")
        )

    def _value(self, name: str) -> str | None:
        return self._query.get(name, [None])[0]

    def _accept_address(self, address: str) -> bool:
        """Return True if the address is the answer to the login. In this case, also store the address's query."""
        url = urlsplit(address)
        query = parse_qs(url.query)
        if url.path != _PATH or not query.keys() & {"code", "error"}:
            return False
        self._query = query
        self._arrived.set()
        return True

    async def _read_lines(self) -> None:
        """Read pasted addresses, because a browser on another machine cannot reach this machine's port."""
        while True:
            await anyio.wait_readable(sys.stdin)
            line = sys.stdin.readline()
            if not line or self._accept_address(line.strip()):
                return
            if line.strip():
                self._warn(WRONG_ADDRESS)

    async def serve(self, stream: SocketStream) -> None:
        """Answer a request of the browser."""
        request = b""
        async with stream:
            with (
                anyio.move_on_after(_REQUEST_LIMIT_S),
                suppress(anyio.EndOfStream, anyio.BrokenResourceError),
            ):
                while b"\r\n\r\n" not in request and len(request) < _MAX_REQUEST_BYTES:
                    request += await stream.receive()
                words = request.split(b"\r\n", 1)[0].decode("ascii", "replace").split(" ")
                is_answer = len(words) == 3 and words[0] == "GET" and self._accept_address(words[1])
                text = "You can close this page, and go on in the terminal." if is_answer else "Not found."
                status = "200 OK" if is_answer else "404 Not Found"
                await stream.send(_PAGE.format(status=status, length=len(text), text=text).encode())


async def open_browser(url: str) -> None:
    """Open an address in the user's browser, if there is one."""
    await to_thread.run_sync(webbrowser.open, url, abandon_on_cancel=True)


async def log_in(
    settings: ServerSettings,
    opener: ProcessOpener,
    root: str,
    show: ShowAddress,
    warn: Callable[[str], object],
    limit_s: float,
) -> int | None:
    """Log in to a server with an address, and save the login.

    Return the number of the server's tools, or None if the server needs no login. If the user pastes a wrong address,
    call `warn` with a message. Raises `ConfigError` if the login fails.
    """
    assert settings.login is not None
    try:
        with anyio.fail_after(limit_s):
            return await _log_in(settings, settings.login, opener, root, BrowserAnswer(show, warn))
    except TimeoutError as error:
        raise ConfigError(
            f"The login was not finished within {format_time_limit(limit_s)}.",
            hint="Nothing was saved. Try again.",
        ) from error
    except LoginNeeded as error:
        raise ConfigError("The server refuses the token that it has just issued.") from error
    except (ExceptionGroup, MCPError, HTTPError, OAuthFlowError) as error:
        raise _explain(error) from error


async def _log_in(
    settings: ServerSettings, file: LoginFile, opener: ProcessOpener, root: str, answer: BrowserAnswer
) -> int | None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    login = ServerLogin(file, f"http://127.0.0.1:{port}{_PATH}", answer.ask)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer.serve)
        async with connect(settings, opener, root, lambda change: None, login) as connection:
            tools = await connection.list_tools()
        group.cancel_scope.cancel()
    return len(tools) if login.is_saved else None


def _explain(error: BaseException) -> ConfigError:
    """Return the first error of a group in plain words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ConfigError):
        return error
    if isinstance(error, OAuthRegistrationError):
        hint = "Set a header with a token instead: docs/mcp.md."
        return ConfigError(f"The server does not let tui-agent register: {clean_line(str(error))}", hint=hint)
    if str(error).startswith("State parameter mismatch"):
        return ConfigError("The answer of the browser does not belong to this login. Nothing was saved.")
    return ConfigError(f"The login failed: {clean_line(str(error)) or type(error).__name__}")
