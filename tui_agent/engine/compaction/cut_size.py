"""The length of user messages that are too long for the window and therefore cut.

Invariant: under the same limit the length never grows, so that a cut text is not sent again with another length.
"""


class CutSize:
    """The number of characters that remain of the user's messages."""

    def __init__(self) -> None:
        self._chars = 0
        self._limit: object = None

    def told(self, chars: int, limit: object) -> None:
        """Record how many characters a request under this limit contained."""
        if limit != self._limit or chars < self._chars:
            self._chars, self._limit = chars, limit

    def within(self, room: int, limit: object) -> int:
        """Return the characters for a summary: at most `room`, and no more than before under the same limit."""
        chars = min(self._chars, room) if limit == self._limit and self._chars else room
        self._chars, self._limit = chars, limit
        return chars
