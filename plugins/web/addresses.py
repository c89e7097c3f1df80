"""Addresses of web pages in one plain form. The policy and the client then see the same host.

Invariant: `plain_address` does not change a plain address, and every parser finds the same host in it.
"""

import re
from urllib.parse import quote, urlsplit, urlunsplit

PORTS = {"http": 80, "https": 443}
MAX_CHARS = 2_000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?|[0-9a-f:.]+")


def plain_address(address: str) -> str:
    """Return the address with an ASCII host, without a fragment.

    Raise `ValueError` if it is not the address of a page.
    """
    if len(address) > MAX_CHARS:
        raise ValueError(f"the address is longer than {MAX_CHARS} characters")
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
