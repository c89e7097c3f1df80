"""Cancellation of blocking work in a thread.

Invariant: only reading is cancelled this way; writing the workspace or moving the newest checkpoint never is.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from anyio import NoEventLoopError, from_thread

T = TypeVar("T")
CHECK_INTERVAL = 32
"""Number of items processed between two checks for cancellation."""


def iterate_cancellable(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, checking for cancellation in a function run by `to_thread.run_sync`.

    When cancelled, it raises within `CHECK_INTERVAL` items. Outside such a function it only yields the items.
    """
    for index, item in enumerate(items):
        if not index % CHECK_INTERVAL:
            with contextlib.suppress(NoEventLoopError):
                from_thread.check_cancelled()
        yield item
