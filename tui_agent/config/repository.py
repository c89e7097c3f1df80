"""The git repository that a folder is in, found by reading a few small files.

Invariant: runs nothing and reads no configuration of the repository.
"""

from dataclasses import dataclass
from pathlib import Path

POINTER_LENGTH = 4_096
MOST_BYTES = 1_000_000
_BRANCH = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Repository:
    """A user's repository: its top folder, its own folder, and the one that its worktrees share."""

    top: Path
    own: Path
    common: Path

    @property
    def branch(self) -> str:
        """The branch that is checked out; empty where it is none."""
        head = self._head()
        return head.removeprefix(f"ref: {_BRANCH}") if head.startswith(f"ref: {_BRANCH}") else ""

    @property
    def commit(self) -> str:
        """The name of the newest commit; empty where there is none yet, or it cannot be told."""
        head = self._head()
        if not head.startswith("ref: "):
            return head if _is_name(head) else ""
        name = head.removeprefix("ref: ")
        if not name.startswith("refs/") or ".." in name:
            return ""
        loose = next(
            (text for place in (self.own, self.common) if (text := small_text(place / name).strip())), ""
        )
        return loose if _is_name(loose) else self._packed(name)

    def _head(self) -> str:
        return small_text(self.own / "HEAD", POINTER_LENGTH).strip()

    def _packed(self, name: str) -> str:
        for line in small_text(self.common / "packed-refs", 16 * MOST_BYTES).splitlines():
            found, _, known = line.partition(" ")
            if known == name and _is_name(found):
                return found
        return ""


def find_repository(folder: Path) -> Repository | None:
    """The repository that the folder is in."""
    for place in (folder, *folder.parents):
        own = _pointed(place / ".git")
        if own is not None and (own / "HEAD").is_file():
            shared = small_text(own / "commondir").strip()
            common = (own / shared).resolve() if shared else own
            if (common / "objects").is_dir():
                return Repository(place, own, common)
    return None


def small_text(path: Path, most: int = MOST_BYTES) -> str:
    """What stands in a regular file; empty where there is none, or too much."""
    try:
        if not path.is_file() or path.stat().st_size > most:
            return ""
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _pointed(dot: Path) -> Path | None:
    if dot.is_dir():
        return dot.resolve()
    text = small_text(dot, POINTER_LENGTH)
    if not text.startswith("gitdir: "):
        return None
    return (dot.parent / text.removeprefix("gitdir: ").rstrip("\r\n")).resolve()


def _is_name(text: str) -> bool:
    return len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text)
