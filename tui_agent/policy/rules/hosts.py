"""Host names and addresses in every spelling, and the host patterns of rules.

Programs can read one text in different ways: `127.1` can mean `127.0.0.1`.

Invariant: an `allow` rule must match every reading of a host; for other rules, one matching reading is enough.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_WITH_PORT = re.compile(
    r"(?:\[([^]:]*+:[^]]*+)]|([^\[:]+))(?::([0-9]{1,5}))?|([^\[:]*+:[^\[:]*+:[^\[]*+)", re.DOTALL
)
"""Matches `[::1]:80`, `[::1]`, `name:80`, `name` and `::1`."""
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")
_IN_FRONT = re.compile(r"\A(-[^=]*=)?([A-Za-z][A-Za-z0-9+.-]*:(?=[/\\]))?")
"""Matches the text before a host in a word: an option such as `--url=`, and the scheme of an address."""
_ADDRESS = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]{0,60}:[/\\]{2}[^\s'"`<>()]+""")
"""Matches an address inside a text, such as `https://example.org/x`."""
_NAME = re.compile(r"(?<![\w.-])(?:(?:[\w-]+\.)+[^\W\d][\w-]*|\d+(?:\.\d+){3})(?![\w-])")
_MAX_FOUND = 50
DEVICES = ("/dev/tcp/", "/dev/udp/")
"""Prefixes of paths for which bash opens a connection (`/dev/tcp/HOST/PORT`)."""
_UNSPECIFIED = frozenset({"0.0.0.0", "::"})
"""Addresses that lead to this machine when a program connects to them."""
_THIS_MACHINE = frozenset({"127.0.0.1", "::1"})
_EMBEDDING = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""Networks whose addresses end with the 32 bits of an IPv4 address."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host named in a text.

    `names`: every host that the text can mean, as lower-case names (without a trailing dot) or as addresses.
    """

    names: frozenset[str]
    port: int | None = None


@dataclass(frozen=True, slots=True)
class HostPattern:
    """The host pattern of a rule, such as `*.example.org:443`.

    `names`: the names that the pattern matches.
    `below`: the pattern matches only subdomains of `names`.
    `network`: the network whose addresses the pattern matches.
    `everything`: the pattern matches every host.
    `port`: the only port that the pattern matches.
    """

    names: frozenset[str] = frozenset()
    below: bool = False
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    everything: bool = False
    port: int | None = None

    def fits(self, host: Host, *, certain: bool) -> bool:
        """Return True if the pattern matches a host.

        `certain`: if True, the pattern must match every possible name of the host, and the port must be known to match.
        If False, one matching name is enough, and an unknown port matches every port.
        """
        if self.port is not None and self.port != host.port and (certain or host.port is not None):
            return False
        matches = [self._fits_name(name) for name in host.names]
        return all(matches) if certain else any(matches)

    def _fits_name(self, name: str) -> bool:
        if self.network is not None:
            address = _address(name)
            return address is not None and address in self.network
        if self.below:
            return any(name.endswith(f".{parent}") for parent in self.names)
        return self.everything or name in self.names


@lru_cache(maxsize=512)
def read_host(text: str) -> Host | None:
    """Parse a host with an optional port; return None for a text that cannot be a host."""
    match = _WITH_PORT.fullmatch(text)
    port = int(match[3]) if match is not None and match[3] else None
    if match is None or (port is not None and not 0 < port < 65536):
        return None
    names = frozenset(_readings(match[1] or match[2] or match[4]))
    if not _UNSPECIFIED.isdisjoint(names):
        names |= _UNSPECIFIED | _THIS_MACHINE
    return Host(names, port) if names else None


@lru_cache(maxsize=512)
def parse_pattern(text: str) -> HostPattern:
    """Parse the text after `connect` in a rule. Raise `ConfigError` with the fault."""
    if text == "*":
        return HostPattern(everything=True)
    if "/" in text:
        try:
            return HostPattern(network=ipaddress.ip_network(text))
        except ValueError as error:
            raise ConfigError(
                f"{text!r} is not a network: {error}.", hint="Write a host, *.example.org or 10.0.0.0/8."
            ) from error
    below = text.startswith("*.")
    host = read_host(text[2:] if below else text)
    if host is None or (below and any(_address(name) for name in host.names)):
        raise ConfigError(
            f"{text!r} is not a host.",
            hint="Write a host such as api.example.org, *.example.org for all subdomains, an IP address, or a network "
            "such as 10.0.0.0/8. Write a port as example.org:443.",
        )
    return HostPattern(host.names, below, port=host.port)


def is_private_host(host: Host) -> bool:
    """Return True if the host can mean an address of this machine or of a private network."""
    addresses = [address for name in host.names if (address := _address(name)) is not None]
    return any(not address.is_global or address.is_multicast for address in addresses)


def possible_hosts(word: str) -> Iterator[Host]:
    """Yield every host that some program might read from a command's word."""
    if word.startswith(DEVICES):
        word = word.split("/")[3]
    for address in dict.fromkeys(
        (word, re.sub(r"[\t\r\n]", "", word), *_ADDRESS.findall(word)[:_MAX_FOUND])
    ):  # some programs ignore tabs and newlines in an address
        authority = _IN_FRONT.sub("", address).lstrip("/\\").split("/", 1)[0]
        for piece in re.split(r"[\\?#@\s]", authority):
            # Some programs read `name:port`, others (such as scp) `host:path`.
            for text in (piece, *piece.split(":")):
                host = read_host(text)
                if host is not None:
                    yield host


def mentioned_hosts(text: str) -> Iterator[Host]:
    """Yield every host name with a dot and every address in a text."""
    for name in _NAME.findall(text)[:_MAX_FOUND]:
        host = read_host(name)
        if host is not None:
            yield host


def _readings(name: str) -> Iterator[str]:
    for plain in _plain_names(name):
        if ":" in plain:
            yield from _read_ipv6(plain)
            continue
        plain = plain.removesuffix(".")
        labels = plain.split(".")
        if _NUMBER.match(labels[-1]):
            # In URLs, a hexadecimal number without digits is zero.
            numbers = ["0" if label == "0x" else label for label in labels]
            yield from _read_ipv4(".".join(numbers)) if all(map(_NUMBER.match, numbers)) else ()
        elif len(plain) <= 253 and all(_LABEL.match(label) for label in labels):
            yield plain
            if plain == "localhost" or plain.endswith(".localhost"):
                yield from _THIS_MACHINE


def _plain_names(name: str) -> tuple[str, ...]:
    """Return a host name in ASCII, in two encodings if the name is international. Empty if an encoding fails."""
    if name.isascii():
        return (name.lower(),)
    import idna  # noqa: PLC0415 - slow, and only such names need it

    try:
        old = name.encode("idna").decode("ascii").lower()
        labels = idna.uts46_remap(name, std3_rules=False).split(".")
    except UnicodeError:
        return ()
    # `idna.encode` would refuse labels that programs do look up, such as those with emoji.
    encoded = (label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)
    return (old, ".".join(encoded))


def _read_ipv4(name: str) -> Iterator[str]:
    """Yield the IPv4 addresses that a host name can mean."""
    # For `010.0.0.1`, the C library reads an octal number, and other programs read a decimal number.
    with suppress(OSError):
        yield str(ipaddress.IPv4Address(socket.inet_aton(name)))
    decimals = _address(".".join(label.lstrip("0") or "0" for label in name.split(".")))
    if decimals is not None:
        yield str(decimals)


def _read_ipv6(text: str) -> Iterator[str]:
    address = _address(text)
    if not isinstance(address, ipaddress.IPv6Address) or address.scope_id:
        return
    inner = address.ipv4_mapped or address.sixtofour
    last = int(address) & 0xFFFFFFFF
    # `::1` is in `::/96` too, but contains no IPv4 address.
    if inner is None and last > 0xFFFF and any(address in network for network in _EMBEDDING):
        inner = ipaddress.IPv4Address(last)
    if inner is not None:
        yield str(inner)
    if address.ipv4_mapped is None:
        yield str(address)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def host_in_address(address: str) -> str:
    """Return the host in an address such as `https://example.org/x`, or an empty string if the text is not an address.

    After a scheme such as `https://`, any text is returned as the host, even if it is not a valid host.
    """
    scheme, slashes, rest = address.partition("://")
    host = (rest if slashes else scheme).split("/", 1)[0].split("?", 1)[0]
    return host if slashes or ("." in host and read_host(host) is not None) else ""
