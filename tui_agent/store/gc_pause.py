"""Making very many objects at once without the garbage collector counting them again and again.

Invariant: the collector is on afterwards if it was on before.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def many_objects() -> Iterator[None]:
    """Hold the cyclic collector for a short, synchronous piece of work that only builds up.

    Decoding 100,000 events makes no cycles, but lets the collector walk all of them several times: 2.1 s against
    0.5 s (benchmarks/log_append.py). Must not be held over an `await`.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
