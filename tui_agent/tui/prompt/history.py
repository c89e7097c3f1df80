"""Earlier messages: browsed with Up and Down, searched with Ctrl+R, shared between sessions in a file.

Invariant: only messages as in a session's log (redacted there) are written to the file, which is 0600.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

MOST = 1000
LONGEST = 8_000


class History:
    """Messages, oldest first. The text being written is kept while browsing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.entries: list[str] = []
        self._at: int | None = None
        self._written = ""

    def load(self) -> list[str]:
        """Return the messages of the file; none if it cannot be read. Blocking."""
        if self.path is None:
            return []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()[-MOST:]
        except (OSError, UnicodeDecodeError):
            return []
        texts: list[str] = []
        for line in lines:
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                texts.append(text)
        return texts

    def extend(self, texts: Iterable[str]) -> None:
        """Put older messages in front of those of this session."""
        self.entries = [*texts, *self.entries][-MOST:]

    def add(self, text: str) -> bool:
        """Add a message; return False if it is empty or repeats the one before."""
        self._at = None
        text = text[:LONGEST]
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return False
        self.entries.append(text)
        del self.entries[:-MOST]
        return True

    def store(self, texts: Iterable[str]) -> None:
        """Append messages to the file. Blocking."""
        if self.path is None:
            return
        lines = [json.dumps(text[:LONGEST], ensure_ascii=False) + "\n" for text in texts]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
                file.writelines(lines)
        except OSError:
            # The history is a convenience: do not interrupt a conversation with an error.
            return

    def older(self, written: str) -> str | None:
        """Return the message before, or None at the oldest."""
        if self._at is None:
            self._written = written
            at = len(self.entries)
        else:
            at = self._at
        if at == 0:
            return None
        self._at = at - 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """Return the message after, at the end the text being written; None when not browsing."""
        if self._at is None:
            return None
        if self._at + 1 < len(self.entries):
            self._at += 1
            return self.entries[self._at]
        self._at = None
        return self._written

    def settle(self) -> None:
        """Stop browsing: the text was edited."""
        self._at = None

    @property
    def is_browsing(self) -> bool:
        """True while an earlier message is shown."""
        return self._at is not None

    def search(self, query: str, most: int = 50) -> list[str]:
        """Return the messages that contain all words, newest first, without repeats."""
        words = query.casefold().split()
        found: list[str] = []
        for text in reversed(self.entries):
            folded = text.casefold()
            if text not in found and all(word in folded for word in words):
                found.append(text)
                if len(found) == most:
                    break
        return found
