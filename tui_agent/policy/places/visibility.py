"""L3: whether a file of the workspace may be shown to a model without being asked for, by its path alone.

Invariant: the same table decides that decides about reading; nothing is opened.
"""

import hashlib
from functools import cache
from pathlib import Path

from tui_agent.policy.places.paths import Guards, Place


def may_show(path: str) -> bool:
    """False for a file that holds secrets. `path` is relative to the workspace."""
    return not _guards().is_secret(Place(path, path, path))


def rules_digest() -> str:
    """What names the rules: another table has another one."""
    return hashlib.sha256(Path(__file__).with_name("places.toml").read_bytes()).hexdigest()[:16]


@cache
def _guards() -> Guards:
    return Guards()
