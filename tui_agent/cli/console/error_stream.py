"""A replacement for `sys.stderr` that removes secrets from everything this process writes.

Invariant: the redactor is loaded only when something is written.
"""

import io
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tui_agent.store.redaction.redactor import Redactor

MIN_REDACTED_CHARS = 8
"""Minimum length of a text to be redacted, in characters; a shorter text cannot contain a secret."""


class ErrorStream(io.TextIOBase):
    """Text stream that removes the secrets from each text, and writes the text to `out`.

    `words`: the words of the command line after the program's name.
    """

    def __init__(self, out: TextIO, words: Sequence[str] = ()) -> None:
        self._out = out
        self._words = words
        self._redactor: Redactor | None = None

    def write(self, text: str) -> int:
        """Write the text without its secrets."""
        self._out.write(text if len(text) < MIN_REDACTED_CHARS else self._load_redactor().redact_text(text))
        return len(text)

    def _load_redactor(self) -> "Redactor":
        if self._redactor is None:
            # Imported only here: the redactor is slow to load, and only errors need it.
            redactor: Redactor = import_module("tui_agent.session.fault_redaction").build_fault_redactor(
                dict(os.environ), working_folder(self._words)
            )
            self._redactor = redactor
        return self._redactor

    def flush(self) -> None:
        self._out.flush()

    def fileno(self) -> int:
        return self._out.fileno()

    def isatty(self) -> bool:
        return self._out.isatty()

    def writable(self) -> bool:
        return True


def working_folder(words: Sequence[str] = ()) -> Path:
    """Return the folder that the command line gives by `-C` or `--cwd`; by default, the current folder.

    If the current folder was deleted, `/` is used in its place.
    """
    # The command line can be invalid, so argparse is not used.
    try:
        current = Path.cwd()
    except OSError:
        current = Path("/")
    requested = None
    for index, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == "--cwd":
            requested = value if equals else next(iter(words[index + 1 :]), None)
        elif word.startswith("-C"):
            requested = word[2:] or next(iter(words[index + 1 :]), None)
    return current / requested if requested else current
