"""Classification of a file by its path alone.

Invariant: the file itself is not read.
"""

import re
from functools import lru_cache
from typing import Final

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|testdata|fixtures?|mocks|__mocks__|__snapshots__|e2e|benchmarks?)/"
    r"|(?:^|/)(?:integration|functional|acceptance|unit|smoke|e2e)[._-]tests?/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*(?:[._-](?:test|tests|spec)|_test))\.[a-z0-9]+$|(?:^|/)conftest\.py$|[a-z0-9]tests?\.(?:java|kt|cs|scala|swift|php)$"
)


@lru_cache(maxsize=65_536)
def is_test(path: str) -> bool:
    """Return True for a test, and for a file that only tests use."""
    return _TEST.search(path.lower()) is not None
