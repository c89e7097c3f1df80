"""L7: the unsent message in a 0600 side file of its session, so that a crash loses no typed text.

Invariant: the file is replaced in one move; an empty draft leaves no file.
"""

import os
from pathlib import Path


class DraftFile:
    """One session's draft. All methods block for a small file; `save` is called in a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> str:
        """What was left unsent, or nothing."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def save(self, text: str) -> None:
        """Keep this text; an empty one removes the file. A folder that is not there is not made."""
        try:
            if not text:
                self.path.unlink(missing_ok=True)
                return
            beside = self.path.with_name(self.path.name + ".new")
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            beside.replace(self.path)
        except OSError:
            # The session's folder may be read-only or gone; typing goes on.
            return
