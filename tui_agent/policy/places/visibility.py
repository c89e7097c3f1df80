"""Predicates for the files that a model can see without approval. They look only at the path.

Invariant: the predicates use the same table as the guards, and open no file.
"""

import hashlib
from functools import cache
from pathlib import Path

from tui_agent.policy.places.paths import Guards, Place


def may_hold_secrets(path: str) -> bool:
    """Return True for a file that can hold secrets, or for a folder of such files (`keys/`).

    `path`: relative to the workspace.
    """
    file = f"{path}any" if path.endswith("/") else path
    return _guards().is_secret(Place(file, file, file))


def rules_digest() -> str:
    """Return a digest of the file that lists the guarded places."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
