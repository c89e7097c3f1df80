"""L3: files of the workspace that may be shown to a model unasked, told by their paths alone.

Invariant: decided by the same table as reading; nothing is opened.
"""

import hashlib
from functools import cache
from pathlib import Path

from tui_agent.policy.places.paths import Guards, Place


def may_show(path: str) -> bool:
    """Return False for a file that may hold secrets. `path` is relative to the workspace."""
    return not _guards().is_secret(Place(path, path, path))


def rules_digest() -> str:
    """Return a name for the table of places, which changes with its text."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
