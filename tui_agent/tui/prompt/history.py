"""Earlier messages: browsed with Up and Down, searched with Ctrl+R, shared between sessions in a file.

Invariant: messages are written to the file (mode 0600) with secrets redacted, as in a session's log.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

MAX_MESSAGES = 1000
MAX_LOADED_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes to load from the end of the history file."""


class History:
    """The user's earlier messages, oldest first, and the unsent text while the user browses them."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.entries: list[str] = []
        self._index: int | None = None
        self._written = ""

    def load(self) -> list[str]:
        """Return the messages in the history file without duplicates, oldest first.

        This method blocks: call it in a thread.
        """
        if self.path is None:
            return []
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - MAX_LOADED_BYTES))
                lines = file.read().split(b"\n")
        except OSError:
            return []
        texts: list[str] = []
        # The first line can be cut off by `MAX_LOADED_BYTES`. It is then not valid JSON, and is skipped.
        for line in lines[-MAX_MESSAGES:]:
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                texts.append(text)
        return _newest_of_equals(texts)

    def extend(self, texts: Iterable[str]) -> None:
        """Insert older messages in front of the messages of this session. Skip messages that the history already
        has.
        """
        count = len(self.entries)
        self.entries = _newest_of_equals([*texts, *self.entries])[-MAX_MESSAGES:]
        if self._index is not None:  # the user is browsing: the same message stays shown
            self._index += len(self.entries) - count

    def add(self, text: str) -> None:
        """Add a message as the newest one, and remove an equal older message."""
        self._index = None
        if text.strip():
            self.entries = [*(entry for entry in self.entries if entry != text), text][-MAX_MESSAGES:]

    def store(self, texts: Iterable[str]) -> None:
        """Append messages, whose secrets are already redacted, to the history file.

        This method blocks: call it in a thread.
        """
        if self.path is None:
            return
        lines = [json.dumps(text, ensure_ascii=False) + "\n" for text in texts]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # O_APPEND, because several sessions can add messages at the same time.
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
                file.writelines(lines)
        except OSError:
            # The history is a convenience: do not interrupt a conversation with an error.
            return

    def older_message(self, written: str) -> str | None:
        """Return the next older message; None if the oldest message is shown.

        `written`: the text in the editor.
        """
        if self._index is None:
            self._written = written
            index = len(self.entries)
        else:
            index = self._index
        if index == 0:
            return None
        self._index = index - 1
        return self.entries[self._index]

    def newer_message(self) -> str | None:
        """Return the next newer message, or the unsent text at the end; None if the user is not browsing."""
        if self._index is None:
            return None
        if self._index + 1 < len(self.entries):
            self._index += 1
            return self.entries[self._index]
        self._index = None
        return self._written

    @property
    def is_browsing(self) -> bool:
        """True while an earlier message is shown."""
        return self._index is not None

    def search(self, query: str, limit: int = 50) -> list[str]:
        """Return the messages that contain all words of the query, newest first, without duplicates."""
        words = query.casefold().split()
        matches: list[str] = []
        for text in reversed(self.entries):
            folded = text.casefold()
            if text not in matches and all(word in folded for word in words):
                matches.append(text)
                if len(matches) == limit:
                    break
        return matches


def _newest_of_equals(texts: Sequence[str]) -> list[str]:
    """Return the texts in the same order, without duplicates: the last of several equal texts is kept."""
    return list(dict.fromkeys(reversed(texts)))[::-1]
