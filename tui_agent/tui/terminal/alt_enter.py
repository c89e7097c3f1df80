"""Tells Textual's parser of terminal input what Alt+Enter is: Esc and a carriage return, as one sequence.

Invariant: the parser decides by what came together, as for every other sequence; Esc alone, and Enter after it, stay
two keys.
"""

from enum import StrEnum
from typing import Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

ALT_ENTER: Final = "alt+enter"


class _Keys(StrEnum):
    ALT_ENTER = ALT_ENTER


def know_alt_enter() -> None:
    """From now on `ESC CR` and `ESC LF` are the key `alt+enter`. Without it the parser drops the Esc of them."""
    for sequence in ("\x1b\r", "\x1b\n"):
        ANSI_SEQUENCES_KEYS[sequence] = (_Keys.ALT_ENTER,)  # type: ignore[index]
