"""Of a test's sizes of the terminal, `make test` plays the first and `make test-all` all."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test `slow` that differs from an earlier one only in `size`."""
    seen: set[tuple[object, ...]] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.path.parent != FOLDER:
            continue
        callspec = getattr(item, "callspec", None)
        if callspec is None or "size" not in callspec.params:
            continue
        others = sorted((name, index) for name, index in callspec.indices.items() if name != "size")
        key = (item.path, item.originalname, *others)
        if key in seen:
            item.add_marker(pytest.mark.slow)
        seen.add(key)
