"""Cancellation of long scans when a map is closed."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tui_agent.errors import EnvironmentFault

T = TypeVar("T")


class ClosedFlag:
    """Flag for a closed map, usable from any thread."""

    def __init__(self) -> None:
        self._ended = False

    def __bool__(self) -> bool:
        return self._ended

    def close(self) -> None:
        """Mark the map as closed."""
        self._ended = True

    def require_open(self) -> None:
        """Raise `EnvironmentFault` if the map is closed."""
        if self._ended:
            raise EnvironmentFault("The map was closed.")

    def until(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items while the map is open. Raises `EnvironmentFault` once it is closed."""
        for item in items:
            self.require_open()
            yield item
