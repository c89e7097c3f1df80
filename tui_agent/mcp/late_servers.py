"""Servers that did not answer an earlier run in time, so that later runs do not wait for them again.

Invariant: the list is only a cache. Each server has an empty file, and the files can be deleted at any time.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tui_agent.mcp.server_settings import ServerSettings


class LateServers:
    """The late servers in a folder. If a server's arguments or address change, it counts as a new server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, servers: Iterable[ServerSettings]) -> frozenset[str]:
        """Return the names of those servers that were late. Blocking."""
        return frozenset(settings.name for settings in servers if self._path(settings).exists())

    def add(self, settings: ServerSettings) -> None:
        """Note that a server was late. Blocking."""
        with suppress(OSError):  # without the note, the next run waits again
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path(settings).touch()

    def remove(self, settings: ServerSettings) -> None:
        """Note that a server has answered. Blocking."""
        with suppress(OSError):
            self._path(settings).unlink(missing_ok=True)

    def _path(self, settings: ServerSettings) -> Path:
        words = (settings.name, settings.command, *settings.args, settings.url)
        return self._folder / hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
