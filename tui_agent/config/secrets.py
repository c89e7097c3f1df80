"""L2: keys: from the environment, a trusted `.env`, the system's key ring, or a 0600 file of the user's.

Invariant: a key is never in configuration, a log or an error text; nothing is stored unless the user asked.
"""

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from tui_agent.config.files import read_small, write_private
from tui_agent.config.vendors import key_variable
from tui_agent.errors import ConfigError

SERVICE = "tui-agent"

SHORTEST = 8
"""Characters of a value that can be a secret: `KEY=1` is none."""

_NAMED = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)", re.IGNORECASE)


class Keys(Mapping[str, str]):
    """Variables as the program sees them: the environment first, then `.env`, then what the user stored.

    A mapping for whoever looks up `OPENAI_API_KEY` and the like; iterating shows what is set, but not what a key
    ring may hold.
    """

    def __init__(self, environ: Mapping[str, str], stored: Path, *, use_keyring: bool = True) -> None:
        self._environ = environ
        self._stored = stored
        self._use_keyring = use_keyring

    def __getitem__(self, name: str) -> str:
        if self._environ.get(name):
            return self._environ[name]
        kept = load(self._stored).get(name)
        if not kept and self._use_keyring and name.endswith("_API_KEY"):
            kept = _from_ring(name)
        if not kept:
            raise KeyError(name)
        return kept

    def __iter__(self) -> Iterator[str]:
        return iter({**load(self._stored), **self._environ})

    def __len__(self) -> int:
        return len({**load(self._stored), **self._environ})

    def secrets(self) -> dict[str, str]:
        """All values that must never be written anywhere, by name: what redaction is given."""
        named = {
            name: value
            for name, value in self._environ.items()
            if len(value) >= SHORTEST and _NAMED.search(name)
        }
        return {**named, **load(self._stored)}

    def save_key(self, provider: str, value: str) -> str:
        """Keep a vendor's key (`anthropic`, or a variable's name) because the user asked; tells where it went.

        Raises `ConfigError`.
        """
        name, key = key_variable(provider), value.strip()
        if not key or any(character.isspace() for character in key):
            raise ConfigError("That is no key: it is empty or has spaces in it.", hint="Paste the key alone.")
        if self._use_keyring and _to_ring(name, key):
            return "the system's key ring"
        write_private(self._stored, json.dumps({**load(self._stored), name: key}, indent=1))
        return str(self._stored)


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


def _ring() -> ModuleType | None:
    if importlib.util.find_spec("keyring") is None:
        return None
    return importlib.import_module("keyring")


def _from_ring(name: str) -> str | None:
    ring = _ring()
    if ring is None:
        return None
    try:
        found = ring.get_password(SERVICE, name)
    except ring.errors.KeyringError:
        return None
    return str(found) if found else None


def _to_ring(name: str, value: str) -> bool:
    ring = _ring()
    if ring is None:
        return False
    try:
        ring.set_password(SERVICE, name, value)
    except ring.errors.KeyringError:
        return False
    return True
