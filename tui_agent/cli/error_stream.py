"""Standard error without secrets: whatever is said there, by us or by what we call, goes through it.

Invariant: what redacts is loaded when there is something to say, not before; it is no reason to say nothing.
"""

import io
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, TextIO

SHORT = 8
"""Characters of a text that can hold no secret."""


class Redacting(Protocol):
    """Leaves the secrets out of a text."""

    def text(self, text: str) -> str:
        """The text without them."""
        ...


class ErrorStream(io.TextIOBase):
    """Writes to `out` what it is given, without secrets; `words` are those of the command line."""

    def __init__(self, out: TextIO, words: Sequence[str] = ()) -> None:
        self._out = out
        self._words = words
        self._redactor: Redacting | None = None

    def write(self, text: str) -> int:
        """Raises OSError, as the stream behind it."""
        self._out.write(text if len(text) < SHORT else self._known().text(text))
        return len(text)

    def _known(self) -> Redacting:
        if self._redactor is None:
            # By name: only what goes wrong needs it, and it is slow to load.
            made: Redacting = import_module("tui_agent.session.fault_redaction").fault_redactor(
                dict(os.environ), working_folder(self._words)
            )
            self._redactor = made
        return self._redactor

    def flush(self) -> None:
        """Raises OSError."""
        self._out.flush()

    def fileno(self) -> int:
        """The descriptor behind it."""
        return self._out.fileno()

    def isatty(self) -> bool:
        """Whether a person sits there."""
        return self._out.isatty()

    def writable(self) -> bool:
        """Always."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream behind it."""
        return self._out.encoding


def working_folder(words: Sequence[str] = ()) -> Path:
    """Where the command line says that the work is, as far as it can be read; else where the process is, and the root
    where that folder is gone."""
    try:
        here = Path.cwd()
    except OSError:
        here = Path("/")
    asked = None
    for at, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == "--cwd":
            asked = value if equals else next(iter(words[at + 1 :]), None)
        elif word.startswith("-C"):
            asked = word[2:] or next(iter(words[at + 1 :]), None)
    return here / asked if asked else here
