"""L7: the workspace's files for `@` completion, listed off the loop and kept for a few seconds.

Invariant: what git ignores is not offered; no more than `MOST` paths are held.
"""

import os
import time
from pathlib import Path

from tui_agent.tui.git_view import ask_git
from tui_agent.tui.prompt.paths import PathIndex

MOST = 50_000
FRESH_S = 5.0
_SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".tox", "target"}
)


def list_files(root: Path) -> list[str]:
    """Paths below `root` with `/`, as git knows them, else by walking. Blocking: call it in a thread."""
    listed = ask_git(root, "ls-files", "-co", "--exclude-standard", "-z")
    if listed is None:
        return _walk(root)
    names = listed.decode("utf-8", "replace").split("\0")
    return sorted({name for name in names if name})[:MOST]


def _walk(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        below = Path(folder).relative_to(root).as_posix()
        found.extend(name if below == "." else f"{below}/{name}" for name in sorted(names))
        if len(found) >= MOST:
            break
    return found[:MOST]


class FileIndex:
    """The newest listing of one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = PathIndex(())
        self._listed_at = float("-inf")

    @property
    def stale(self) -> bool:
        """Whether it should be listed again."""
        return time.monotonic() - self._listed_at > FRESH_S

    def refresh(self) -> None:
        """List again. Blocking: call it in a thread."""
        listed = list_files(self.root)
        if listed != self.paths.files:
            self.paths = PathIndex(listed)
        self._listed_at = time.monotonic()
