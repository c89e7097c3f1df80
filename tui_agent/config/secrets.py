"""Keys: from the environment, a trusted `.env`, the system's key ring, or a 0600 file of the user's.

Invariant: a key is never in configuration, a log or an error text; nothing is stored unless the user asked.
"""

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Protocol

from tui_agent.config.files import read_small, write_private
from tui_agent.errors import ConfigError
from tui_agent.protocol.secret_names import holds_secret

SERVICE = "tui-agent"

SHORTEST = 8
"""Characters of a value that can be a secret: `KEY=1` is none."""


class Ring(Protocol):
    """A store for secrets that the system guards."""

    def get(self, name: str) -> str | None:
        """The secret of this name, if it is there and may be read."""
        ...

    def put(self, name: str, value: str) -> bool:
        """Keep a secret; False where that cannot be done here."""
        ...


class SystemRing:
    """The system's key ring, where the `keyring` package is installed and finds one."""

    def get(self, name: str) -> str | None:
        """The secret of this name."""
        ring = _keyring()
        if ring is None:
            return None
        try:
            found = ring.get_password(SERVICE, name)
        except ring.errors.KeyringError:
            return None
        return str(found) if found else None

    def put(self, name: str, value: str) -> bool:
        """Keep a secret."""
        ring = _keyring()
        if ring is None:
            return False
        try:
            ring.set_password(SERVICE, name, value)
        except ring.errors.KeyringError:
            return False
        return True


class Keys(Mapping[str, str]):
    """Variables as the program sees them: the environment (with `.env`) first, then what the user stored.

    The file `stored` holds keys, or an empty text for each that lies in the key ring: so the ring, which may ask the
    user for a password, is touched only for keys that are known to be in it.
    """

    def __init__(self, environ: Mapping[str, str], stored: Path, ring: Ring | None = None) -> None:
        self._environ = environ
        self._stored = stored
        self._ring = SystemRing() if ring is None else ring

    def __getitem__(self, name: str) -> str:
        if self._environ.get(name):
            return self._environ[name]
        kept = load(self._stored).get(name)
        if kept == "":
            kept = self._ring.get(name)
        if not kept:
            raise KeyError(name)
        return kept

    def __iter__(self) -> Iterator[str]:
        return iter({**load(self._stored), **self._environ})

    def __len__(self) -> int:
        return len({**load(self._stored), **self._environ})

    def names(self) -> frozenset[str]:
        """The variables that have a value, without asking the key ring for it."""
        return frozenset(load(self._stored)) | {name for name, value in self._environ.items() if value}

    def secrets(self, more: Iterable[str] = ()) -> dict[str, str]:
        """All values that must never be written anywhere, by name: what redaction is given.

        `more` are variables that hold a key without saying so in their name (a profile's `api_key_env`).
        """
        named = set(more) | load(self._stored).keys()
        named |= {name for name, value in self._environ.items() if holds_secret(name, value)}
        found = {name: self.get(name, "") for name in sorted(named) if name}
        return {name: value for name, value in found.items() if len(value) >= SHORTEST}

    def save_key(self, provider: str, value: str) -> str:
        """Keep a vendor's key (`anthropic`, or a variable's name) because the user asked; tells where it went.

        Raises `ConfigError`.
        """
        from tui_agent.config.vendors import key_variable  # noqa: PLC0415 - loads all settings: only this needs it

        name, key = key_variable(provider), value.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(
                "That is no key: it is empty, or has spaces or odd characters in it.",
                hint="Paste the key alone.",
            )
        ringed = self._ring.put(name, key)
        kept = {**load(self._stored), name: "" if ringed else key}
        write_private(self._stored, json.dumps(kept, indent=1))
        return "the system's key ring" if ringed else str(self._stored)


def load(path: Path) -> dict[str, str]:
    """The keys of a 0600 file; empty where there is none. Raises `ConfigError` where others could read it."""
    text = read_small(path)
    if text is None:
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"{path} can be read by others.", hint=f"Run: chmod 600 {path}")
    try:
        kept = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{path} is damaged: {error}.", hint="Remove it and enter the keys again."
        ) from error
    if not isinstance(kept, dict):
        raise ConfigError(f"{path} holds no table of keys.", hint="Remove it and enter the keys again.")
    return {str(name): str(value) for name, value in kept.items()}


def _keyring() -> ModuleType | None:
    if importlib.util.find_spec("keyring") is None:
        return None
    return importlib.import_module("keyring")
