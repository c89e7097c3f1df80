"""API keys from the environment, a trusted `.env`, the system's key ring, or a private file (mode 0600).

Invariant: a key is never in the configuration, a log or an error text.
"""

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

from tui_agent.config.settings.mcp_logins import collect_login_secrets
from tui_agent.config.small_files import read_small, write_private
from tui_agent.errors import ConfigError
from tui_agent.json_text import parse_json
from tui_agent.protocol.secret_names import is_secret_variable

SERVICE = "tui-agent"

MIN_SECRET_CHARS = 8
"""Minimum length of a secret, in characters; a shorter value, as in `KEY=1`, is not a secret."""


class KeyringClient:
    """The system's key ring, which needs the package `keyring`."""

    def get(self, name: str) -> str | None:
        """Return the secret of this name from the key ring, or None if the secret is missing or locked."""
        ring = _load_keyring()
        if ring is None:
            return None
        try:
            secret = ring.get_password(SERVICE, name)
        except ring.errors.KeyringError:
            return None
        return str(secret) if secret else None

    def store(self, name: str, value: str) -> bool:
        """Store a secret in the key ring; return False if there is no usable key ring."""
        ring = _load_keyring()
        if ring is None:
            return False
        try:
            ring.set_password(SERVICE, name, value)
        except ring.errors.KeyringError:
            return False
        return True


class Keys(Mapping[str, str]):
    """API keys and other variables. The environment (with `.env`) wins over saved keys.

    `stored`: the file of saved keys. A key in the key ring has an empty text in this file.
    """

    # The key ring is asked only for keys in the file, because the key ring can ask the user for a password.

    def __init__(
        self, environ: Mapping[str, str], stored: Path, key_ring: KeyringClient | None = None
    ) -> None:
        self._environ = environ
        self._stored = stored
        self._ring = KeyringClient() if key_ring is None else key_ring

    def __getitem__(self, name: str) -> str:
        if self._environ.get(name):
            return self._environ[name]
        key = load_keys(self._stored).get(name)
        if key == "":
            key = self._ring.get(name)
        if not key:
            raise KeyError(name)
        return key

    def __iter__(self) -> Iterator[str]:
        return iter({**load_keys(self._stored), **self._environ})

    def __len__(self) -> int:
        return len({**load_keys(self._stored), **self._environ})

    def names(self) -> frozenset[str]:
        """Return the names of the variables with a value, without reading the key ring."""
        return frozenset(load_keys(self._stored)) | {name for name, value in self._environ.items() if value}

    def collect_secrets(self, more: Iterable[str] = ()) -> dict[str, str]:
        """Return the secret values by name. These values must never be written anywhere.

        `more`: names of further variables that hold a key (a profile's `api_key_env`).
        """
        names = set(more) | load_keys(self._stored).keys()
        names |= {name for name, value in self._environ.items() if is_secret_variable(name, value)}
        values = {name: self.get(name, "") for name in sorted(names) if name}
        return {name: value for name, value in values.items() if len(value) >= MIN_SECRET_CHARS}

    def collect_redacted(self, more: Iterable[str] = ()) -> dict[str, str]:
        """Return all secrets to redact: those of `collect_secrets`, and the tokens of MCP servers' logins."""
        logins = collect_login_secrets(self._stored.with_name("mcp_logins"))
        return {**self.collect_secrets(more), **logins}

    def save_key(self, provider: str, value: str) -> str:
        """Save a provider's key at the user's request, and return where it was saved.

        `provider`: a provider's name (`anthropic`) or the name of a variable.
        Raise `ConfigError` if `value` is not a key or cannot be saved.
        """
        from tui_agent.config.settings.providers import key_variable  # noqa: PLC0415 - loads all settings: only this needs it

        name, key = key_variable(provider), value.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(
                "This is not a key: it is empty or contains spaces or unusual characters.",
                hint="Paste only the key.",
            )
        in_ring = self._ring.store(name, key)
        stored = {**load_keys(self._stored), name: "" if in_ring else key}
        write_private(self._stored, json.dumps(stored, indent=1))
        return "the system's key ring" if in_ring else str(self._stored)


def load_keys(path: Path) -> dict[str, str]:
    """Return the keys in a private file; an empty mapping if the file does not exist.

    Raise `ConfigError` if other users can read the file.
    """
    text = read_small(path)
    if text is None:
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"Other users can read {path}.", hint=f"Run: chmod 600 {path}")
    try:
        return {str(name): str(value) for name, value in parse_json(text).items()}
    except (ValueError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not a JSON table of keys: {error}.", hint="Delete the file, and enter the keys again."
        ) from error


def _load_keyring() -> ModuleType | None:
    if importlib.util.find_spec("keyring") is None:
        return None
    return importlib.import_module("keyring")
