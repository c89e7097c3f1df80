"""Saved logins of MCP servers: one private file (mode 0600) for each server, beside the user's keys.

Invariant: a login is sent only to the server address for which it was saved.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

from tui_agent.config.small_files import read_small, write_private
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json

Login: TypeAlias = dict[str, Any]
"""A login as JSON."""
# `JsonMap` is not used here, because its module loads pydantic.

_SUFFIX = "_credentials.json"
_SECRET_FIELDS = frozenset(
    {"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token"}
)


@dataclass(frozen=True, slots=True)
class LoginFile:
    """The file with one server's login.

    `learn`: called with the secrets of each loaded or saved login, so that the caller can redact them.
    """

    folder: Path
    server: str
    url: str = ""
    learn: Callable[[Mapping[str, str]], object] = field(default=lambda secrets: None, repr=False)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.server}{_SUFFIX}"

    def load(self) -> Login:
        """Return the login for `url`; empty if there is none. This method blocks.

        Raise `ConfigError` if the file cannot be used.
        """
        login = _load(self.path)
        if login and self.path.stat().st_mode & 0o077:
            raise ConfigError(f"Other users can read {self.path}.", hint=f"Run: chmod 600 {self.path}")
        if login.get("url") != self.url:
            return {}
        self.learn(dict(_secrets(self.server, login)))
        return login

    def save(self, login: Login) -> None:
        """Replace the login. This method blocks. Raise `ConfigError` if the file cannot be written."""
        self.learn(dict(_secrets(self.server, login)))
        write_private(self.path, json.dumps({**login, "url": self.url}, indent=1))

    def delete(self) -> bool:
        """Delete the login, and return True if there was one. Raise `ConfigError` if the file cannot be deleted."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be deleted: {error.strerror}.") from error
        return True

    def stamp(self) -> tuple[int, int] | None:
        """Return a value that changes with each save; None if there is no login."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


def collect_login_secrets(folder: Path) -> dict[str, str]:
    """Return the secrets of all saved logins; skip faulty files.

    The keys are descriptions, such as `access_token of MCP server NAME`.
    """
    secrets: dict[str, str] = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            secrets |= _secrets(path.name.removesuffix(_SUFFIX), _load(path))
        except ConfigError:
            continue
    return secrets


def _load(path: Path) -> Login:
    text = read_small(path)
    try:
        login = parse_json(text) if text else {}
    except ValueError:
        login = None
    if not isinstance(login, dict):
        raise ConfigError(f"{path} does not hold a valid login.", hint="Delete the file, and log in again.")
    return login


def _secrets(server: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield (name, value) for each secret in a login."""
    # Names contain spaces, so no `${NAME}` in a configuration can refer to them.
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in _SECRET_FIELDS and isinstance(inner, str):
            yield f"{name} of MCP server {server}", inner
        yield from _secrets(server, inner)
