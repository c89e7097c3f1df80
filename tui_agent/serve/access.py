"""Access control of the server.

Invariant: the host, the origin and the token of every request are checked, even if the route does not exist.
"""

import hmac
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class AccessControl:
    """Checks requests to one server, which listens on `host` and `port`."""

    def __init__(self, token: str, host: str, port: int) -> None:
        self._token = token
        self._host = host
        self.cookie = f"tui_agent_{port}"
        """Name of the cookie with the token."""
        # The name contains the port, because browsers send a host's cookies to all ports of the host.

    def refusal(self, request: web.Request) -> web.Response | None:
        """Return an error response if the request is not allowed, otherwise None."""
        if not self._is_own_host(request.host):
            return web.Response(
                status=403, text="Forbidden: this server does not accept the host name in the request.\n"
            )
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
            return web.Response(status=403, text="Forbidden: the request is from another site.\n")
        if self._has_token(request.headers.get("Authorization", "").removeprefix("Bearer ")):
            return None
        if self._has_token(request.cookies.get(self.cookie, "")):
            is_read = request.method in ("GET", "HEAD") and "Upgrade" not in request.headers
            if is_read or origin is not None:
                return None
            return web.Response(status=403, text="Forbidden: the request has no Origin header.\n")
        is_page = request.method == "GET" and (request.path == "/" or request.path.startswith("/s/"))
        if is_page and self._has_token(request.query.get("token", "")):
            return None
        return web.Response(status=401, text="Unauthorized: use the address that tui-agent printed.\n")

    def _is_own_host(self, host: str) -> bool:
        """Return True if the host in a request is this server."""
        # Prevents DNS rebinding: a page of another site could reach the server through a DNS entry that points to this
        # machine.
        return self._host not in LOOPBACK or urlsplit(f"//{host}").hostname in LOOPBACK

    def _has_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    def keep_token(self, response: web.StreamResponse) -> None:
        """Store the token in a cookie for this host until the browser is closed."""
        response.set_cookie(self.cookie, self._token, httponly=True, samesite="Strict", path="/")

    @property
    def middleware(self) -> Middleware:
        """The middleware that checks each request and adds the security headers to its answer."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                response = self.refusal(request) or await handler(request)
            except web.HTTPException as raised:
                raised.headers.update(SECURITY_HEADERS)
                raise
            if not response.prepared:
                response.headers.update(SECURITY_HEADERS)
            return response

        return check
