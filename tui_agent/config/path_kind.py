"""What a path alone says of a file: whether it is a test. Invariant: pure; the same for every spelling of letter case."""

import re
from functools import lru_cache
from typing import Final

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|testdata|fixtures?|__mocks__|__snapshots__|e2e|benchmarks?)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*(?:[._-](?:test|tests|spec)|_test))\.[a-z0-9]+$|(?:^|/)conftest\.py$|[a-z0-9]tests?\.(?:java|kt|cs|scala|swift|php)$"
)


@lru_cache(maxsize=65_536)
def is_test(path: str) -> bool:
    """Whether a file is a test, or something that only tests use."""
    return _TEST.search(path.lower()) is not None
