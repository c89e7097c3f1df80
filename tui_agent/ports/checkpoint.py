"""L2: checkpoints of the workspace, keyed to parts."""

from collections.abc import Sequence
from typing import Protocol


class Checkpoints(Protocol):
    """Takes and restores the workspace's files outside the user's own repository."""

    async def take(self, part: int, paths: Sequence[str]) -> str:
        """Commit these paths as they are now; returns the commit id."""
        ...

    async def restore(self, commit: str, paths: Sequence[str]) -> None: ...
