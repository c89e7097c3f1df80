"""Work in a thread that ends when nobody waits for it any more.

Invariant: only reading is done this way; what writes the workspace or moves the newest checkpoint is never cut.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from anyio import NoEventLoopError, from_thread

T = TypeVar("T")
EVERY = 32
"""So many items are gone through between two looks at whether to go on."""


def while_wanted(items: Iterable[T]) -> Iterator[T]:
    """These items, for a function that `to_thread.run_sync` runs: cancelled, it raises that there, within `EVERY` of them.
    Elsewhere just the items."""
    for at, item in enumerate(items):
        if not at % EVERY:
            with contextlib.suppress(NoEventLoopError):
                from_thread.check_cancelled()
        yield item
