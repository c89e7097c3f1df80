"""Keys that were meant for the prompt when a question appeared under someone's hands.

Invariant: they answer nothing, and what was typed is not lost. A single key to an empty prompt may be an answer that
came too early: it is neither.
"""

from collections.abc import Callable
from typing import Final

from textual import events

RECENT_S: Final = 2.0
"""Who typed so short a time before the question appeared is still writing."""
STILL_S: Final = 0.8
"""For how long after such a key the question goes on ignoring keys."""
_WRITING: Final = frozenset({"backspace", "enter", "tab", "shift+enter", "alt+enter", "ctrl+j"})


class TypedAhead:
    """Takes the keys that a question ignores; `give` hands one to the prompt. `midway`: it holds a text already."""

    def __init__(self, give: Callable[[events.Key], object], *, midway: bool) -> None:
        self._give = give
        self._midway = midway
        self._held: list[events.Key] = []

    def take(self, event: events.Key) -> bool:
        """An ignored key; whether it is one of a text that is being written."""
        if not (event.is_printable or (self._midway and event.key in _WRITING)):
            return False
        self._held.append(events.Key(event.key, event.character))
        if not self._midway and len(self._held) < 2:
            return False
        self._midway = True
        for key in self._held:
            self._give(key)
        self._held.clear()
        return True
