"""Predicates that decide which workspace files a model can see without approval. They use only the path.

Invariant: the predicates use the same table as the guards. No file is opened.
"""

import hashlib
from functools import cache
from pathlib import Path

from tui_agent.policy.places.paths import Guards, Place


def may_hold_secrets(path: str) -> bool:
    """Return True for a file that can hold secrets.

    For a folder (a path with a trailing slash), return True if any file in it can hold secrets. `path` is relative to
    the workspace.
    """
    file = f"{path}any" if path.endswith("/") else path
    return _guards().is_secret(Place(file, file, file))


def rules_digest() -> str:
    """Return a digest of the table of guarded places. It changes with the text of that table."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
