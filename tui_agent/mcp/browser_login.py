"""The login to an MCP server in the user's browser.

Invariant: a failed login saves nothing.
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
from tui_agent.mcp.content.outside_text import clean_line
from tui_agent.mcp.login import ServerLogin
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.ports.environment import ProcessOpener
from tui_agent.units import format_time_limit

WRONG_ADDRESS = "This is not the address of the browser's last page; that address has /callback and a code."
OTHER_LOGIN = "The browser's answer does not belong to this login."
TRY_AGAIN = "Try again: paste the address of the last page of this login."
_PATH = "/callback"
_MAX_REQUEST_BYTES = 16_000
_REQUEST_LIMIT_S = 5.0
_PAGE = "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"

ShowAddress: TypeAlias = Callable[[str], Coroutine[Any, Any, None]]
"""Function that shows the login address to the user."""


class BrowserAnswer:
    """Waits for the address that the browser is redirected to, or that the user pastes."""

    def __init__(self, show: ShowAddress, warn: Callable[[str], object]) -> None:
        self._show = show
        self._warn = warn
        self._state: str | None = None
        self._query: Mapping[str, list[str]] = {}
        self._fault = ""
        self._arrived = anyio.Event()

    async def ask(self, url: str, fault: str = "") -> AuthorizationCodeResult:
        """Show an address, and return the authorization server's answer.

        `fault`: error in the last answer, if the user is asked again.

        Raise `ConfigError` if the server refuses the login, or if nobody can correct a wrong answer.
        """
        self._state = _first_value(parse_qs(urlsplit(url).query), "state")
        self._query, self._arrived = {}, anyio.Event()
        async with anyio.create_task_group() as group:
            if fault:
                self._refuse(fault)
            else:
                group.start_soon(self._show, url)
            if sys.stdin.isatty():
                group.start_soon(self._read_lines)
            await self._arrived.wait()
            group.cancel_scope.cancel()
        if self._fault:
            raise ConfigError(self._fault, hint="Nothing was saved.")
        error = self._value("error")
        if error:
            detail = clean_line(self._value("error_description") or error)
            raise ConfigError(f"The login was declined: {detail}.")
        return AuthorizationCodeResult(
            code=self._value("code") or "", state=self._value("state"), iss=self._value("iss")
        )

    def _value(self, name: str) -> str | None:
        return _first_value(self._query, name)

    def _refuse(self, fault: str) -> None:
        """Report a wrong answer, and end the login if nobody can paste another one."""
        if sys.stdin.isatty():
            self._warn(f"{fault} {TRY_AGAIN}")
        else:
            self._fault = fault
            self._arrived.set()

    def _take_address(self, address: str) -> str:
        """Store the login answer in a pasted address. Return an error message, or an empty string."""
        try:
            url = urlsplit(address)
        except ValueError:
            return WRONG_ADDRESS
        query = parse_qs(url.query)
        if url.path != _PATH or not query.keys() & {"code", "error"}:
            return WRONG_ADDRESS
        # Only the authorization server knows `state`: another page could otherwise log the user in to a foreign
        # account.
        if _first_value(query, "state") != self._state:
            return OTHER_LOGIN
        self._query = query
        self._arrived.set()
        return ""

    async def _read_lines(self) -> None:
        """Read the addresses that the user pastes, because a browser on another machine cannot reach this program."""
        while True:
            await anyio.wait_readable(sys.stdin)
            line = sys.stdin.buffer.readline().decode(errors="replace")
            if not line:
                return
            fault = self._take_address(line.strip()) if line.strip() else ""
            if fault:
                self._refuse(fault)

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
                is_request = len(words) == 3 and words[0] == "GET"
                fault = self._take_address(words[1]) if is_request else WRONG_ADDRESS
                if fault == OTHER_LOGIN:
                    self._refuse(fault)
                text = fault or "You can close this page and continue in the terminal."
                status = "404 Not Found" if fault else "200 OK"
                await stream.send(_PAGE.format(status=status, length=len(text), text=text).encode())


def _first_value(query: Mapping[str, list[str]], name: str) -> str | None:
    return query.get(name, [None])[0]


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
    """Log in to a server with a `url`, and save the login.

    - `show`: called with the address that the user must open in a browser.
    - `warn`: called with a message after a wrong answer that the user can correct.
    - `limit_s`: time limit of the login, in seconds.
    Return the number of the server's tools, or None if the server needs no login.

    Raise `ConfigError` if the login fails.
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
    """Convert the error of a login to a `ConfigError`."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ConfigError):
        return error
    if isinstance(error, OAuthRegistrationError):
        hint = "Set a header with a token instead (see docs/mcp.md)."
        return ConfigError(f"The server does not let tui-agent register: {clean_line(str(error))}", hint=hint)
    return ConfigError(f"The login failed: {clean_line(str(error)) or type(error).__name__}")
