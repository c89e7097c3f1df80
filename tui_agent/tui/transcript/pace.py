"""How often a growing text is painted. Invariant: a text that has ended is never kept waiting."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ReasoningEntry, ToolEntry

TAIL_S: Final = 1 / 30
"""Between frames that change some rows."""
SCROLL_S: Final = 1 / 12
"""Behind a frame that moved all rows: such a frame is 10 KB for the terminal."""


class Pace:
    """Says how long the next frame of a growing text has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def painted(self, *, scrolled: bool) -> None:
        """A frame was painted."""
        self._next = self._clock() + (SCROLL_S if scrolled else TAIL_S)

    def wait(self) -> float:
        """Seconds until the next frame may come, 0 or less for now."""
        return self._next - self._clock()


def only_grows(entries: Sequence[Entry], changed: Iterable[int], known: int) -> bool:
    """Whether all that has changed is text that is still coming in."""
    return len(entries) == known and all(_growing(entries[index]) for index in changed)


def _growing(entry: Entry) -> bool:
    match entry:
        case AnswerEntry() | ReasoningEntry():
            return entry.streaming
        case ToolEntry():
            return entry.state == "running" and bool(entry.output)
        case _:
            return False
