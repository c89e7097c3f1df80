"""Client that fetches one web page over HTTP. Client and policy use only addresses that `plain_address` returned.

Invariant: the client never connects to addresses that the policy denies, and sends no cookies and no keys. Every parser
of addresses finds the same host in a result of `plain_address`.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from tui_agent.plugin_api import ToolError, format_time_limit

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 1_000_000
"""Maximum number of bytes to read from a page. The limit keeps the conversion to Markdown fast."""
MAX_REDIRECTS = 5
TIME_LIMIT_S = 30.0
HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
    "User-Agent": "Mozilla/5.0 (compatible; tui-agent)",
}
PORTS = {"http": 80, "https": 443}
MAX_ADDRESS_CHARS = 2_000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?|[0-9a-f:.]+")


@dataclass(frozen=True, slots=True)
class Page:
    """A response of a server.

    - `address`: address of the response
    - `moved_to`: target of a redirect to another host
    - `is_cut`: True if the page is longer than `body`
    """

    address: str
    status: int
    content_type: str
    charset: str
    body: bytes
    moved_to: str = ""
    is_cut: bool = False


async def fetch_page(address: str, may_connect: Callable[[str], bool]) -> Page:
    """Fetch a page; raise `ToolError` if it cannot be fetched or the policy denies its address."""
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            for _ in range(MAX_REDIRECTS + 1):
                page = await _request(address, may_connect)
                target = page.moved_to
                if not target or host_and_port(target) != host_and_port(address):
                    # From http to https on the same host. The policy judges the host, so this needs no new call.
                    is_upgrade = target.startswith("https:") and host_of(target) == host_of(address)
                    if not is_upgrade:
                        return page
                address = target
    except TimeoutError as error:
        raise ToolError(
            f"{host_of(address)} did not send the page within {format_time_limit(TIME_LIMIT_S)}."
        ) from error
    raise ToolError(f"{address} redirects more than {MAX_REDIRECTS} times.")


async def _request(address: str, may_connect: Callable[[str], bool]) -> Page:
    # Slow, and only pages need them.
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    import httpx  # noqa: PLC0415

    host, port = host_and_port(address)
    is_proxied = bool({urlsplit(address).scheme, "all"} & getproxies().keys()) and not proxy_bypass(host)
    # Connect to the very addresses that were checked: a second look-up of the name could lead elsewhere.
    # A proxy looks up the name itself.
    places = [host_of(address)] if is_proxied else await _resolve(host, port, may_connect)
    is_secure = urlsplit(address).scheme == "https"
    client = httpx.AsyncClient(
        # Loading the certificates is slow, and only https needs them.
        verify=httpx.create_ssl_context() if is_secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=is_proxied,
        follow_redirects=False,
        timeout=TIME_LIMIT_S,
    )
    reason = ""
    async with client:
        for place in places:
            request = client.build_request(
                "GET",
                urlsplit(address)._replace(netloc=place).geturl(),
                headers={**HEADERS, "Host": host_of(address)},
                extensions={"sni_hostname": host},
            )
            try:
                return await _read(address, await client.send(request, stream=True))
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                reason = str(error) or type(error).__name__
                # Only if there was no connection can another address of the host help.
                if not isinstance(error, httpx.ConnectError):
                    break
    raise ToolError(f"{host_of(address)} cannot be reached: {reason}.")


async def _resolve(host: str, port: int, may_connect: Callable[[str], bool]) -> list[str]:
    """Return the host's addresses as `ADDRESS:PORT`. Raise `ToolError` if the policy denies one of them."""
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {host} was not found.") from error
    addresses = [
        f"[{entry[4][0]}]:{port}" if entry[0] == socket.AF_INET6 else f"{entry[4][0]}:{port}"
        for entry in entries
    ]
    for address in addresses:
        if not await asyncio.to_thread(may_connect, address):
            raise ToolError(
                f"The policy denies connecting to {address}, the address of {host}.",
                hint=f"If the user agrees, they can add the rule `allow connect {address}`.",
            )
    return addresses


async def _read(address: str, response: "httpx.Response") -> Page:
    kind = response.headers.get("content-type", "").partition(";")[0]
    charset: Any = response.charset_encoding or ""
    location = response.headers.get("location", "")
    page = Page(address, response.status_code, kind.strip().lower(), charset, b"")
    if location and 300 <= response.status_code < 400:
        try:
            return replace(page, moved_to=plain_address(urljoin(address, location)))
        except ValueError as error:
            raise ToolError(f"{address} redirects to an address that is not valid: {error}.") from error
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            break
    return replace(page, body=bytes(body[:MAX_BYTES]), is_cut=len(body) > MAX_BYTES)


def plain_address(address: str) -> str:
    """Return the address with an ASCII host, without a fragment.

    Raise `ValueError` if it is not the address of a page.
    """
    if len(address) > MAX_ADDRESS_CHARS:
        raise ValueError(f"the address is longer than {MAX_ADDRESS_CHARS} characters")
    # Parsers treat these characters differently, and could find different hosts.
    if re.search(r"[\x00-\x20\x7f\\]", address):
        raise ValueError("the address contains a space, a backslash or a control character")
    parts = urlsplit(address)
    if parts.scheme not in PORTS:
        raise ValueError("the address must begin with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("the address must not contain a user name or password")
    try:
        host = (parts.hostname or "").encode("idna").decode().lower()
    except UnicodeError as error:
        raise ValueError("the host is not valid") from error
    if not _HOST.fullmatch(host):
        raise ValueError("the host is not valid")
    port = parts.port
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, PORTS[parts.scheme]) else f"{shown}:{port}"
    path, query = (quote(text, safe="/:;,@!$&'()*+=~?[]%-._") for text in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme, place, path, query, ""))


def host_of(address: str) -> str:
    """Return the host of a plain address, and the port if it is not the default one."""
    return urlsplit(address).netloc


def host_and_port(address: str) -> tuple[str, int]:
    """Return a plain address's host (without brackets) and port."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or PORTS[parts.scheme]
