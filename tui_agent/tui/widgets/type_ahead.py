"""Handling of keys that the user typed for the prompt when a question appeared.

Invariant: keys typed for the prompt never answer the question, and the typed text is not lost. If the prompt is empty,
a single key is dropped, because it can be meant as an answer.
"""

from collections.abc import Callable
from typing import Final

from textual import events

RECENT_S: Final = 2.0
"""A user who typed a key within this time, in seconds, counts as still writing when a question appears."""
WRITING_PAUSE_S: Final = 0.8
"""If the user is writing, a question ignores keys until this time after the last key, in seconds."""
_EDITING: Final = frozenset({"backspace", "enter", "tab", "shift+enter", "alt+enter", "ctrl+j"})


class TypedAhead:
    """Calls `give` with each key that a question ignored, to pass the key on to the prompt.

    `midway` means that the prompt already contains text.
    """

    def __init__(self, give: Callable[[events.Key], object], *, midway: bool) -> None:
        self._give = give
        self.midway = midway
        self._held: list[events.Key] = []

    def take_key(self, event: events.Key) -> bool:
        """Pass an ignored key to the prompt. If the prompt is empty, hold the first key until a second key is typed.

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
