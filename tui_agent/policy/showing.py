"""L3: whether a file of the workspace may be shown to a model without being asked for, by its path alone.

Invariant: the same table decides that decides about reading; nothing is opened.
"""

from functools import cache

from tui_agent.policy.paths import Guards, Place


def may_show(path: str) -> bool:
    """False for a file that holds secrets. `path` is relative to the workspace."""
    return not _guards().secret(Place(path, path, path))


@cache
def _guards() -> Guards:
    return Guards()
