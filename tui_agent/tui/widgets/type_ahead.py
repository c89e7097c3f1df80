"""Handling of keys that the user typed for the prompt when a question appeared.

Invariant: such keys never answer the question, and the typed text is not lost. A single key to an empty prompt is
dropped, because it may be an answer that came too early.
"""

from collections.abc import Callable
from typing import Final

from textual import events

RECENT_S: Final = 2.0
"""If the user typed within this many seconds before a question appeared, the user is considered to be writing."""
WRITING_PAUSE_S: Final = 0.8
"""Seconds for which a question ignores keys while the user is writing, after each key again."""
_EDITING: Final = frozenset({"backspace", "enter", "tab", "shift+enter", "alt+enter", "ctrl+j"})


class TypedAhead:
    """Passes to the prompt, by calling `give`, the keys that a question ignores.

    `midway` means that the prompt already contains text.
    """

    def __init__(self, give: Callable[[events.Key], object], *, midway: bool) -> None:
        self._give = give
        self.midway = midway
        self._held: list[events.Key] = []

    def take_key(self, event: events.Key) -> bool:
        """Pass to the prompt a key that the question ignored, or hold the key until a second one comes.

        Return True if the key belongs to a text that the user is writing.
        """
        if not (event.is_printable or (self.midway and event.key in _EDITING)):
            return False
        self._held.append(events.Key(event.key, event.character))
        if not self.midway and len(self._held) < 2:
            return False
        self.midway = True
        for key in self._held:
            self._give(key)
        self._held.clear()
        return True
