"""Httpx, without what it loads for others: its own command line (click, pygments, rich) and HTTP/2.

Those take two thirds of its import, 0.08 s of every start. Invariant: nothing is changed in httpx, and both can still
be imported by whoever wants them; whoever has imported httpx before gets it as it is.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

UNUSED = ("httpx._main", "httpcore._async.http2", "httpcore._sync.http2")
"""What httpx and httpcore do without where it is not installed."""


@contextmanager
def _without(modules: tuple[str, ...]) -> Iterator[None]:
    """Importing one of these raises `ImportError` meanwhile, as where it is not installed."""
    absent = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


with _without(UNUSED):
    import httpcore  # httpx loads it where the first client is made
    import httpx

__all__ = ["httpcore", "httpx"]
