"""Cancellation of blocking work in a thread.

Invariant: only reading is cancelled this way, never a write to the workspace or the store.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from anyio import NoEventLoopError, from_thread

T = TypeVar("T")
CHECK_INTERVAL = 32
"""Number of items processed between two checks for cancellation."""


def iterate_cancellable(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and check for cancellation after every `CHECK_INTERVAL` items."""
    for index, item in enumerate(items):
        if not index % CHECK_INTERVAL:
            with contextlib.suppress(NoEventLoopError):
                from_thread.check_cancelled()
        yield item
