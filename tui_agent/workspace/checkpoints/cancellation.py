"""Cancellation of blocking work in a thread.

Invariant: only reading is cancelled this way, never a write to the workspace or the creation of a checkpoint.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from anyio import NoEventLoopError, from_thread

T = TypeVar("T")
CHECK_INTERVAL = 32
"""Number of items processed between two checks for cancellation."""


def iterate_cancellable(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and stop with an exception if the task that waits for this thread is cancelled.

    Cancellation is checked every `CHECK_INTERVAL` items, only in a thread started by `to_thread.run_sync`.
    """
    for index, item in enumerate(items):
        if not index % CHECK_INTERVAL:
            with contextlib.suppress(NoEventLoopError):
                from_thread.check_cancelled()
        yield item
