"""Teaches Textual's parser of terminal input that Alt+Enter is Esc and a carriage return in one sequence.

Invariant: the parser decides by what was read together, as for every other sequence; Esc, and Enter after it, stay two
keys.
"""

from enum import StrEnum
from typing import Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

ALT_ENTER: Final = "alt+enter"


class _Keys(StrEnum):
    ALT_ENTER = ALT_ENTER


def register_alt_enter() -> None:
    """Make `ESC CR` and `ESC LF` the key `alt+enter`; otherwise the parser drops their Esc."""
    for sequence in ("\x1b\r", "\x1b\n"):
        ANSI_SEQUENCES_KEYS[sequence] = (_Keys.ALT_ENTER,)  # type: ignore[index]
