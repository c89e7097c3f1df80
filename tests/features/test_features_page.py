"""The page of features names only tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED}))
def test_every_named_test_exists(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    names = [name for named, name in NAMED if named == path and name]
    assert not [name for name in names if f"def {name}(" not in text]
