"""Time for keys and notices, and of a test's sizes of the terminal the first for `make test`, all for `make test-all`."""

from pathlib import Path

import pytest

from tests.tui.app.driving import PATIENCE
from tui_agent.tui import app, main_screen
from tui_agent.tui.controller import interruption

FOLDER = Path(__file__).parent


@pytest.fixture(autouse=True)
def _time_for_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two presses count as a double press, and notices stay, even if the machine is slow."""
    monkeypatch.setattr(app, "TWICE_S", PATIENCE)
    monkeypatch.setattr(interruption, "TWICE_S", PATIENCE)
    monkeypatch.setattr(main_screen, "NOTICE_S", PATIENCE)


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
