"""Normalisation of a provider's base URL.

Invariant: an unusable URL raises `ConfigError`.
"""

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from tui_agent.errors import ConfigError

_ROUTES: Final = ("/chat/completions", "/responses", "/messages", "/models")


def is_web_address(text: str) -> bool:
    """Return True if a text begins like a URL of a web server."""
    return text.startswith(("http://", "https://"))


def normalise_url(url: str) -> str:
    """Normalise a base URL: remove the path of an API call, and add `/v1` if the URL contains no version.

    Raise `ConfigError` if the URL is not a valid http or https address.
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
            f"'{url}' is not a valid http or https address.", hint="Example: http://127.0.0.1:8080/v1"
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
