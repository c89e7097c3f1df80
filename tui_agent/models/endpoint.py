"""Address, key and options of a provider.

Invariant: only an `Endpoint` holds a key, and the `repr` of an `Endpoint` never shows the key.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from tui_agent import __version__
from tui_agent.fast_dataclass import dataclass

USER_AGENT = f"tui-agent/{__version__}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, key and options.

    - `timeout`: maximum time without a byte of the answer, in seconds.
    - `bridge`: True if the provider has a strict chat template.
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
        """True if the address is on this machine, so that requests use no proxy."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
