"""An MCP server over HTTP that wants a login, with its own authorization server: `python mcp_oauth_server.py PORT MODE`.

Modes: `good`, `denies`, `wrong-state`, `no-pkce`, and `foreign`, whose metadata name another host over http.
"""

import secrets
import sys
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PORT, MODE = int(sys.argv[1]), sys.argv[2]
BASE = f"http://127.0.0.1:{PORT}"


class Provider:
    """Lets everybody in. An access token is used up when it is refreshed, and so is a refresh token."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if MODE == "denies":
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        state = "somebody-elses" if MODE == "wrong-state" else params.state
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refreshes.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.tokens.clear()
        return self.issue(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def issue(self, client: str, scopes: list[str]) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.tokens[access] = AccessToken(token=access, client_id=client, scopes=scopes)
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3600)


def foreign() -> Starlette:
    """A server whose tokens another host issues, over http."""

    async def refuse(request: Request) -> Response:
        return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})

    async def describe(request: Request) -> Response:
        servers = ["http://login.example.org"] if MODE == "foreign" else [BASE]
        return JSONResponse({"resource": f"{BASE}/mcp", "authorization_servers": servers})

    async def describe_login(request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": BASE,
                "authorization_endpoint": f"{BASE}/authorize",
                "token_endpoint": f"{BASE}/token",
                "registration_endpoint": f"{BASE}/register",
                "response_types_supported": ["code"],
            }
        )

    async def register(request: Request) -> Response:
        return JSONResponse({**await request.json(), "client_id": "client"}, 201)

    return Starlette(
        routes=[
            Route("/mcp", refuse, methods=["GET", "POST"]),
            Route("/.well-known/oauth-protected-resource/mcp", describe),
            Route("/.well-known/oauth-authorization-server", describe_login),
            Route("/register", register, methods=["POST"]),
        ]
    )


def good() -> Starlette:
    server = MCPServer(
        "locked",
        version="1.0",
        auth_server_provider=Provider(),
        auth=AuthSettings.model_validate(
            {
                "issuer_url": BASE,
                "resource_server_url": f"{BASE}/mcp",
                "client_registration_options": ClientRegistrationOptions(enabled=True),
            }
        ),
    )

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server.streamable_http_app()


app = foreign() if MODE in ("foreign", "no-pkce") else good()
uvicorn.run(app, host="127.0.0.1", port=PORT)
