"""The start times of MCP servers, measured to decide how long a session waits for them."""

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from tui_agent.mcp.server_settings import ServerSettings

PATIENCE_S = 2.0
"""Seconds that a run waits for a server whose last start was not measured. For any other server, the minimum."""
MAX_PATIENCE_S = 10.0
START_TIME_FACTOR = 3.0
"""A run waits at most this many times as long as the server's last start took."""


class StartTimes:
    """Durations of the servers' last starts, saved as files in a folder.

    A server with other arguments or another address counts as a new server.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def patience(self, settings: ServerSettings, prompt: str) -> float:
        """Return how many seconds a run waits for the server. This method blocks.

        If the prompt names the server, the result is `MAX_PATIENCE_S`. Otherwise, the result is 0 if the last start
        took longer than `MAX_PATIENCE_S`.
        """
        if re.search(rf"\b{re.escape(settings.name)}\b", prompt, re.IGNORECASE):
            return MAX_PATIENCE_S
        try:
            last = float(self._path(settings).read_text())
        except (OSError, ValueError):
            return PATIENCE_S
        return (
            max(PATIENCE_S, min(MAX_PATIENCE_S, START_TIME_FACTOR * last)) if last <= MAX_PATIENCE_S else 0.0
        )

    def save(self, settings: ServerSettings, seconds: float) -> None:
        """Save the seconds that a start took. Infinity means that the server did not answer. This method blocks."""
        with suppress(OSError):  # without the file, the next run waits as for an unknown server
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path(settings).write_text(f"{seconds:.1f}")

    def _path(self, settings: ServerSettings) -> Path:
        words = (settings.name, settings.command, *settings.args, settings.url)
        return self._folder / hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
