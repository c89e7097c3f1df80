"""L4: what a model's provider holds, as far as it showed in this run, and how long words are that it does not hold.

Invariant: further refusals make it smaller, never larger.
"""

from dataclasses import dataclass, replace

from tui_agent.context.budgets import BELOW_REFUSED


@dataclass(frozen=True, slots=True)
class LearntWindow:
    """The provider took `held` tokens at most, or nearly as many; of what it refused three quarters are `learnt` (0: it
    refused nothing)."""

    learnt: int = 0
    held: int = 0

    @property
    def last(self) -> int:
        """What a request may take where a person's words need it; 0 where nothing was refused."""
        return max(self.learnt, self.held) if self.learnt else 0

    def took(self, tokens: int) -> "LearntWindow":
        """It took a request of so many."""
        return replace(self, held=max(self.held, tokens))

    def refused(self, tokens: int) -> "LearntWindow":
        """It refused so many."""
        below = round(tokens * BELOW_REFUSED)
        held = self.held + (tokens - self.held) // 4 if self.held < tokens else 0
        return LearntWindow(min(self.learnt or below, below), held)


class CutSize:
    """Characters that are left of a person's words: what was cut is not told again in other words."""

    def __init__(self) -> None:
        self._left = self._window = 0

    def told(self, left: int, window: int) -> None:
        """So many went out in a request to this window."""
        if window != self._window or left < self._left:
            self._left, self._window = left, window

    def within(self, room: int, fresh: int, window: int) -> int:
        """Those of a summary that has this room at most, `fresh` where nothing was cut for this window before."""
        left = min(self._left, room) if window == self._window and self._left else fresh
        self._left, self._window = left, window
        return left
