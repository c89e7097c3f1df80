"""Where a link leads, as it is shown and as it may be opened.

Invariant: pure; what is shown is where it leads: the host in the letters that are looked up (punycode), nothing hidden.
Only an address of the web that is shown whole can be opened.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tui_agent.protocol.unicode_text import concealed, revealed

_WEB: Final = re.compile(r"https?://[^\s\\<>\"`{}|^]+", re.IGNORECASE)
_NETLOC: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:[/\\]*)([^/\\?#\s]*)")
_HOST: Final = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,62})\.)*[a-z0-9_-]{1,63}\.?|\[[0-9a-f:.%]+\]", re.IGNORECASE
)


class Address(NamedTuple):
    """`shown` is what stands on the screen, and what is opened; `host` is where it leads. `opens` tells that it may."""

    shown: str
    host: str
    opens: bool


def address_of(written: str) -> Address:
    """What a link's address is."""
    plain = written.strip()
    found = _NETLOC.match(plain)
    if found is not None and found[2]:
        plain = found[1] + _looked_up(found[2]) + plain[found.end() :]
    shown = revealed(plain, tabs=True).replace("\n", "<U+000A>")
    if not _WEB.fullmatch(plain) or shown != plain or concealed(plain):
        return Address(shown, "", opens=False)
    try:
        host = urlsplit(plain).hostname or ""
    except ValueError:
        host = ""
    return Address(shown, host, opens=_HOST.fullmatch(host) is not None)


def _looked_up(place: str) -> str:
    """Who, host and port, the host as it is looked up."""
    who, at, host = place.rpartition("@")
    if host.isascii():
        return place
    name, colon, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    labels = [_label(one) for one in re.split("[.\u3002\uff0e\uff61]", name)]
    return f"{who}{at}{'.'.join(labels)}{colon}{port}"


def _label(label: str) -> str:
    if label.isascii() or concealed(label):
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:
        return "xn--" + label.lower().encode("punycode").decode("ascii")
