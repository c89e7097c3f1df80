"""What a client must know to reach a provider, and base addresses brought to one form.

Invariant: an `Endpoint` is the only holder of a key; its representation never shows it.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from tui_agent import __version__
from tui_agent.errors import ConfigError

USER_AGENT = f"tui-agent/{__version__}"

_ROUTES = ("/chat/completions", "/responses", "/messages", "/models")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address and how to speak to it. `timeout`: seconds without a byte that count as a stall. `bridge`:
    its template wants the order and the ids of `models.stream_bridge`."""

    base_url: str
    api_key: str = field(default="", repr=False)
    timeout: float = 300.0
    stream: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    bridge: bool = False

    def url(self, route: str) -> str:
        """The address of a route such as `chat/completions`."""
        return f"{self.base_url}/{route}"

    def all_headers(self) -> dict[str, str]:
        """The headers of every request: who asks, the key, and what the profile adds."""
        headers = {"user-agent": USER_AGENT, "accept": "text/event-stream, application/json"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return {**headers, **{name.lower(): value for name, value in self.headers.items()}}

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def local(self) -> bool:
        """Whether the address is this machine: no proxy stands between."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def normalised(url: str) -> str:
    """One form for all spellings of a base address: no trailing slash, no route, `/v1` once where no version stands.

    Raises `ConfigError` for what is no http address.
    """
    text = url.strip()
    if "://" not in text:
        text = (
            f"http://{text}" if re.match(r"(localhost|127\.|0\.0\.0\.0|\[::1\])", text) else f"https://{text}"
        )
    parts = urlsplit(text)
    try:
        bad_port = parts.port == 0
    except ValueError:
        bad_port = True
    if parts.scheme not in ("http", "https") or not parts.hostname or bad_port or re.search(r"\s", text):
        raise ConfigError(
            f"'{url}' is no http or https address.", hint="Write it like http://127.0.0.1:8080/v1."
        )
    if parts.username or parts.password:
        raise ConfigError(
            f"The address of {parts.hostname} holds a user name or password.",
            hint="Give the key by its environment variable.",
        )
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    for route in _ROUTES:
        path = path.removesuffix(route)
    if not re.search(r"/(v\d+\w*|openai|compatible-mode|openapi)(/|$)", path):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
