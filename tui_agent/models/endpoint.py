"""Address, key and options of a provider, and normalisation of base URLs.

Invariant: only an `Endpoint` holds a key, and its representation never shows it.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit, urlunsplit

from tui_agent import __version__
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass

USER_AGENT = f"tui-agent/{__version__}"

_ROUTES = ("/chat/completions", "/responses", "/messages", "/models")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, key and options.

    `timeout` is the number of seconds without a byte after which the answer is treated as stalled. `bridge` is True if
    messages must be adapted to a strict chat template.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    timeout: float = 300.0
    stream: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    bridge: bool = False

    def url(self, route: str) -> str:
        """Return the URL of a route such as `chat/completions`."""
        return f"{self.base_url}/{route}"

    def all_headers(self) -> dict[str, str]:
        """Return the headers of every request: user agent, key, and the profile's headers."""
        headers = {"user-agent": USER_AGENT, "accept": "text/event-stream, application/json"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return {**headers, **{name.lower(): value for name, value in self.headers.items()}}

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """True if the address is on this machine, so that no proxy is used."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def normalise_url(url: str) -> str:
    """Normalise a base URL: no trailing slash, no route, and `/v1` if it contains no version.

    Raises `ConfigError` if the URL is not an http or https address.
    """
    text = url.strip()
    if "://" not in text:
        text = (
            f"http://{text}" if re.match(r"(localhost|127\.|0\.0\.0\.0|\[::1\])", text) else f"https://{text}"
        )
    parts = urlsplit(text)
    try:
        is_bad_port = parts.port == 0 or parts.netloc.endswith(":")
    except ValueError:
        is_bad_port = True
    if parts.scheme not in ("http", "https") or not parts.hostname or is_bad_port or re.search(r"\s", text):
        raise ConfigError(
            f"'{url}' is not an http or https address.", hint="Example: http://127.0.0.1:8080/v1"
        )
    if parts.username or parts.password:
        raise ConfigError(
            f"The address of {parts.hostname} contains a user name or password.",
            hint="Set the key in its environment variable instead.",
        )
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    for route in _ROUTES:
        path = path.removesuffix(route)
    if not re.search(r"/(v\d\w*|openai|compatible-mode|openapi)(/|$)", path):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
