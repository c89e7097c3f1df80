"""Imports httpx without its command line (click, pygments, rich) and without HTTP/2, for a faster start.

Invariant: httpx itself is not changed, and the omitted modules can still be imported later.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNUSED_MODULES = ("httpx._main", "httpcore._async.http2", "httpcore._sync.http2")
"""Names of modules that httpx and httpcore treat as optional."""


@contextmanager
def _hide_modules(modules: tuple[str, ...]) -> Iterator[None]:
    """Make imports of these modules raise `ImportError` inside the block, as if they were not installed."""
    absent = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


with _hide_modules(UNUSED_MODULES):
    import httpcore  # imported now, because httpx would otherwise import it later for its first client
    import httpx

__all__ = ["httpcore", "httpx"]
