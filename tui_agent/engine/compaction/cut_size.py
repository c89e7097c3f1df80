"""How long the words are that a model does not hold whole.

Invariant: what was cut for a window is not told again in other words: it grows no longer, and shorter only where it has to.
"""


class CutSize:
    """Characters that are left of a person's words."""

    def __init__(self) -> None:
        self._left = 0
        self._limit: object = None

    def told(self, left: int, limit: object) -> None:
        """So many went out in a request under this limit."""
        if limit != self._limit or left < self._left:
            self._left, self._limit = left, limit

    def within(self, room: int, limit: object) -> int:
        """Those of a summary that has this room at most; fewer where fewer were left under this limit before."""
        left = min(self._left, room) if limit == self._limit and self._left else room
        self._left, self._limit = left, limit
        return left
