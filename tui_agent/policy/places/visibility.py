"""Files of the workspace that may be shown to a model unasked, told by their paths alone.

Invariant: decided by the same table as reading; nothing is opened.
"""

import hashlib
from functools import cache
from pathlib import Path

from tui_agent.policy.places.paths import Guards, Place


def may_hold_secrets(path: str) -> bool:
    """Return True for a file that may hold secrets, and for a folder, with a slash at its end, if any file in it may. `path`
    is relative to the workspace."""
    file = f"{path}any" if path.endswith("/") else path
    return _guards().is_secret(Place(file, file, file))


def rules_digest() -> str:
    """Return a name for the table of places, which changes with its text."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
