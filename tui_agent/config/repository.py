"""Detection of the git repository that contains a folder, by reading a few small files.

Invariant: runs nothing and reads no configuration of the repository.
"""

from dataclasses import dataclass
from pathlib import Path

POINTER_LENGTH = 4_096
MOST_BYTES = 1_000_000
_BRANCH = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Repository:
    """A user's repository: top folder, git folder, and the git folder its worktrees share."""

    top: Path
    own: Path
    common: Path

    @property
    def branch(self) -> str:
        """The branch that is checked out; empty for a detached head."""
        head = self._read_head()
        return head.removeprefix(f"ref: {_BRANCH}") if head.startswith(f"ref: {_BRANCH}") else ""

    @property
    def commit(self) -> str:
        """The id of the newest commit; empty if there is none or it cannot be determined."""
        head = self._read_head()
        if not head.startswith("ref: "):
            return head if _is_commit_id(head) else ""
        name = head.removeprefix("ref: ")
        if not name.startswith("refs/") or ".." in name:
            return ""
        commit = next(
            (text for folder in (self.own, self.common) if (text := small_text(folder / name).strip())), ""
        )
        return commit if _is_commit_id(commit) else self._packed_commit(name)

    def _read_head(self) -> str:
        return small_text(self.own / "HEAD", POINTER_LENGTH).strip()

    def _packed_commit(self, name: str) -> str:
        for line in small_text(self.common / "packed-refs", 16 * MOST_BYTES).splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and _is_commit_id(commit):
                return commit
        return ""


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that contains a folder; None if there is none."""
    for top in (folder, *folder.parents):
        own = _resolve_git_folder(top / ".git")
        if own is not None and (own / "HEAD").is_file():
            shared = small_text(own / "commondir").strip()
            common = (own / shared).resolve() if shared else own
            if (common / "objects").is_dir():
                return Repository(top, own, common)
    return None


def small_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the content of a regular file; empty if it is missing, unreadable or above `most` bytes."""
    try:
        if not path.is_file() or path.stat().st_size > most:
            return ""
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _resolve_git_folder(git_path: Path) -> Path | None:
    if git_path.is_dir():
        return git_path.resolve()
    text = small_text(git_path, POINTER_LENGTH)
    if not text.startswith("gitdir: "):
        return None
    return (git_path.parent / text.removeprefix("gitdir: ").rstrip("\r\n")).resolve()


def _is_commit_id(text: str) -> bool:
    return len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text)
