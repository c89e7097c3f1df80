"""Places in which commands are confined for real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stubs.sandboxed import World, elsewhere, require_sandbox


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder outside those that a command in a sandbox has for itself."""
    require_sandbox()
    with elsewhere() as folder:
        yield folder


@pytest.fixture
def world(base: Path) -> Iterator[World]:
    with World(base) as made:
        yield made
