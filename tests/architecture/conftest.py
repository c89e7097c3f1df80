"""The rules share what they read, and keep it no longer than they need it."""

from collections.abc import Iterator

import pytest

from tests.architecture.source import product, tooling


@pytest.fixture(scope="package", autouse=True)
def _shared_source() -> Iterator[None]:
    yield
    product.cache_clear()
    tooling.cache_clear()
