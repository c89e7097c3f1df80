"""The end of a map, told to who is in the middle of a look at many files."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tui_agent.errors import EnvironmentFault

T = TypeVar("T")


class Ending:
    """Whether a map has been closed; from any thread."""

    def __init__(self) -> None:
        self._ended = False

    def __bool__(self) -> bool:
        return self._ended

    def end(self) -> None:
        """It is closed: nobody waits for an answer."""
        self._ended = True

    def require_open(self) -> None:
        """Raises `EnvironmentFault` once it is closed."""
        if self._ended:
            raise EnvironmentFault("The map was closed.")

    def until(self, items: Iterable[T]) -> Iterator[T]:
        """These items, as long as it is open. Raises `EnvironmentFault` then."""
        for item in items:
            self.require_open()
            yield item
