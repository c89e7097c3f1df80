"""The OAuth login of one MCP server through the SDK: saved tokens, their refresh, and the login itself.

Invariant: OAuth requests go only to https addresses, or to this machine if the MCP server runs here too.
"""

from collections.abc import AsyncGenerator, Awaitable
from typing import Protocol
from urllib.parse import SplitResult, parse_qsl, urlsplit

import anyio
import httpx2
from anyio import to_thread
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ValidationError

from tui_agent.config.settings.mcp_logins import LoginFile
from tui_agent.errors import ConfigError
from tui_agent.mcp.content.outside_text import clean_line

BAD_REQUEST, UNAUTHORIZED = 400, 401
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class AskUser(Protocol):
    """Function that shows the login address to the user and returns the browser's answer.

    `fault`: error in the last answer, if the user is asked again.
    """

    def __call__(self, url: str, fault: str = "") -> Awaitable[AuthorizationCodeResult]: ...


class SavedLogin(BaseModel):
    """A saved login: the token, and the data for its refresh."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    expires_at: float | None = None
    """Time at which the token expires, in seconds since 1970; None if this is unknown."""


class OAuthError(BaseModel):
    """The answer of an authorization server that refuses a request."""

    error: str
    error_description: str = ""


class ServerLogin(httpx2.Auth):
    """Adds the saved token to each request. Without `ask_user`, no new login is possible."""

    def __init__(self, file: LoginFile, redirect_uri: str = "", ask_user: AskUser | None = None) -> None:
        self.refused = anyio.Event()
        """Set when the server refuses the saved login. Also set if the server needs a login and none is saved."""
        self.is_saved = False
        self.is_interactive = ask_user is not None
        self._file = file
        self._ask_user = ask_user
        self._is_loaded = False
        self._url = ""
        self._client: OAuthClientInformationFull | None = None
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": "tui-agent",
                "redirect_uris": [redirect_uri or "http://127.0.0.1/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": "none",
            }
        )
        self._provider = OAuthClientProvider(
            file.url, metadata, self, redirect_handler=self._check_address, callback_handler=self._wait
        )

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; if the token is refused, refresh it once."""
        context = self._provider.context
        if self._ask_user is None and not (self._is_loaded and _is_usable(context)):
            await self._load()
        for _ in range(2):
            status, used = 0, context.current_tokens
            flow = self._provider.async_auth_flow(request)
            try:
                sent = await anext(flow)
                while True:
                    if sent is not request:
                        self._require_safe(str(sent.url))
                    response = yield sent
                    while self._ask_user is not None and (reason := await _refused_code(sent, response)):
                        answer = await self._wait(f"The server refused the code: {reason}.")
                        sent = _with_code(sent, answer.code)
                        response = yield sent
                    if sent is request:
                        status = response.status_code
                        if self._ask_user is None:
                            break
                    sent = await flow.asend(response)
            except StopAsyncIteration:
                pass
            finally:
                await flow.aclose()
            if status != UNAUTHORIZED or self._ask_user is not None:
                break
            await self._load()  # another session may have refreshed the token
            if context.current_tokens == used:
                if not context.can_refresh_token():
                    break
                context.token_expiry_time = 1.0  # long ago: the SDK refreshes it before the next request
        if status == UNAUTHORIZED:
            self.refused.set()

    async def get_tokens(self) -> OAuthToken | None:
        """Return the token in use, for the SDK."""
        return self._provider.context.current_tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return this client's registration, for the SDK."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration of this client in memory; `set_tokens` saves it together with the token."""
        self._client = client_info

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Save the SDK's new token, together with the data that is needed to refresh it."""
        context = self._provider.context
        login = SavedLogin(
            tokens=tokens,
            client=context.client_info,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            expires_at=context.token_expiry_time,
        )
        await to_thread.run_sync(self._file.save, login.model_dump(mode="json", exclude_none=True))
        self.is_saved = True

    async def _load(self) -> None:
        """Load the saved login. Ignore a login in the format of another version."""
        self._is_loaded = True
        context = self._provider.context
        try:
            login = SavedLogin.model_validate(await to_thread.run_sync(self._file.load))
        except ValidationError:
            login = SavedLogin()
        context.current_tokens = login.tokens
        context.client_info = self._client = login.client
        context.oauth_metadata = login.metadata
        context.protected_resource_metadata = login.resource
        context.token_expiry_time = login.expires_at

    async def _check_address(self, url: str) -> None:
        """Raise `ConfigError` if the MCP specification forbids using this authorization server."""
        self._require_safe(url)
        metadata = self._provider.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise ConfigError("The authorization server does not support PKCE with S256.")
        self._url = url

    async def _wait(self, fault: str = "") -> AuthorizationCodeResult:
        """Ask the user for the browser's answer, and return it. Ask again if another authorization server answered."""
        assert self._ask_user is not None
        while True:
            answer = await self._ask_user(self._url, fault)
            try:
                validate_authorization_response_iss(answer.iss, self._provider.context.oauth_metadata)
            except OAuthFlowError:
                fault = "The browser's answer names another authorization server."
            else:
                return answer

    def _require_safe(self, url: str) -> None:
        address = urlsplit(url)
        if address.scheme == "https" or (_is_local(address) and _is_local(urlsplit(self._file.url))):
            return
        raise ConfigError(f"The server's login uses an address that is not https: {url.partition('?')[0]}.")


async def _refused_code(request: httpx2.Request, response: httpx2.Response) -> str:
    """Return why the authorization server refuses the login code in a request, or an empty string."""
    if response.status_code != BAD_REQUEST or ("grant_type", "authorization_code") not in _form_fields(
        request
    ):
        return ""
    try:
        error = OAuthError.model_validate_json(await response.aread())
    except ValidationError:
        return ""
    if error.error != "invalid_grant":
        return ""
    return clean_line(error.error_description or error.error).rstrip(".")


def _with_code(request: httpx2.Request, code: str) -> httpx2.Request:
    """Return a copy of a token request with another login code."""
    fields = {**dict(_form_fields(request)), "code": code}
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return httpx2.Request(request.method, request.url, data=fields, headers=headers)


def _form_fields(request: httpx2.Request) -> list[tuple[str, str]]:
    is_form = request.headers.get("content-type") == "application/x-www-form-urlencoded"
    return parse_qsl(request.content.decode()) if is_form else []


def _is_usable(context: OAuthContext) -> bool:
    return context.current_tokens is None or context.is_token_valid()


def _is_local(address: SplitResult) -> bool:
    return address.scheme == "http" and address.hostname in _LOOPBACK
