"""Addresses of links, as the app shows and opens them.

Invariant: the app opens exactly the address that it shows. A shown address has its host in DNS form, and no hidden
characters.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tui_agent.protocol.unicode_text import describe_invisible, reveal_invisible

_WEB: Final = re.compile(r"https?://[^\s\\<>\"`{}|^]+", re.IGNORECASE)
"""Matches an address that the app may open."""
_NETLOC: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:[/\\]*)([^/\\?#\s]*)")
"""Matches the scheme of an address, and its part with the user, the host and the port."""
_HOST: Final = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,62})\.)*[a-z0-9_-]{1,63}\.?|[0-9a-f]*+:[0-9a-f:.]*", re.IGNORECASE
)
"""Matches a host name in DNS form, or an IPv6 address as `urlsplit` returns it: without its brackets."""


class Address(NamedTuple):
    """A link's address, as shown and opened.

    `opens`: True if the app is allowed to open the address.
    """

    text: str
    host: str
    opens: bool


def address_of(written: str) -> Address:
    """Parse the address of a link as written in a text."""
    plain = written.strip()
    start = _NETLOC.match(plain)
    if start is not None and start[2]:
        plain = start[1] + _encode_host(start[2]) + plain[start.end() :]
    shown = reveal_invisible(plain, tabs=True).replace("\n", "<U+000A>")
    if not _WEB.fullmatch(plain) or shown != plain or describe_invisible(plain):
        return Address(shown, "", opens=False)
    try:
        host = urlsplit(plain).hostname or ""
    except ValueError:
        host = ""
    return Address(shown, host, opens=_HOST.fullmatch(host) is not None)


def _encode_host(netloc: str) -> str:
    """Return `netloc` (user, host and port) with its host encoded as punycode."""
    user, separator, host = netloc.rpartition("@")
    if host.isascii():
        return netloc
    name, colon, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    labels = [_encode_label(label) for label in re.split("[.\u3002\uff0e\uff61]", name)]
    return f"{user}{separator}{'.'.join(labels)}{colon}{port}"


def _encode_label(label: str) -> str:
    if label.isascii() or describe_invisible(label):
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:
        return "xn--" + label.lower().encode("punycode").decode("ascii")
