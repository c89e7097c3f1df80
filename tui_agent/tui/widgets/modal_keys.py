"""What a screen does with keys that lies over others.

Invariant: none of its keys reaches what lies below it, and none is used by a screen that is closed already: the second
of two quick keys must not close what lies below.
"""

from typing import TypeVar

from textual.events import Key
from textual.screen import Screen

ResultT = TypeVar("ResultT")


def small(key: str) -> str:
    """A letter's key without Shift, as footers mean the letters that they name; any other key as it is."""
    letter = key.removeprefix("shift+").removeprefix("upper_")
    return letter.lower() if len(letter) == 1 and letter.isalpha() else key


def takes(screen: Screen[ResultT], event: Key) -> bool:
    """Keep the key from what lies below; whether this screen is to use it. Ctrl+C is the app's."""
    if event.key == "ctrl+c":
        return False
    event.stop()
    event.prevent_default()
    return screen.is_active
