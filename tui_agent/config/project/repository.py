"""Detection of the git repository that contains a folder, by reading a few small files.

Invariant: this module runs no program and does not read the repository's configuration.
"""

from pathlib import Path

from tui_agent.fast_dataclass import dataclass

MAX_POINTER_BYTES = 4_096
MAX_BYTES = 1_000_000
_BRANCH = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Repository:
    """A user's git repository: its top folder, its git folder, and the git folder shared by its worktrees."""

    top: Path
    git_folder: Path
    common_folder: Path

    @property
    def branch(self) -> str:
        """The name of the checked-out branch; empty for a detached head."""
        head = self._read_head()
        return head.removeprefix(f"ref: {_BRANCH}") if head.startswith(f"ref: {_BRANCH}") else ""

    @property
    def head_label(self) -> str:
        """The name of the branch, or `detached`; empty if unknown, for example with reftable storage."""
        return self.branch.removeprefix(".invalid") or (
            "detached" if _is_commit_id(self._read_head()) else ""
        )

    @property
    def commit(self) -> str:
        """The id of the newest commit; empty if there is none or it cannot be determined."""
        head = self._read_head()
        if not head.startswith("ref: "):
            return head if _is_commit_id(head) else ""
        name = head.removeprefix("ref: ")
        if not name.startswith("refs/") or ".." in name:
            return ""
        commits = (read_small_text(folder / name).strip() for folder in (self.git_folder, self.common_folder))
        return next(filter(_is_commit_id, commits), "") or self._packed_commit(name)

    def _read_head(self) -> str:
        return read_small_text(self.git_folder / "HEAD", MAX_POINTER_BYTES).strip()

    def _packed_commit(self, name: str) -> str:
        for line in read_small_text(self.common_folder / "packed-refs", 16 * MAX_BYTES).splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and _is_commit_id(commit):
                return commit
        return ""


def find_repository(folder: Path) -> Repository | None:
    """Return the git repository that contains a folder, or None if there is none."""
    for top in (folder, *folder.parents):
        own = _resolve_git_folder(top / ".git")
        if own is not None and (own / "HEAD").is_file():
            shared = read_small_text(own / "commondir").strip()
            common = (own / shared).resolve() if shared else own
            if (common / "objects").is_dir():
                return Repository(top, own, common)
    return None


def read_small_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the content of a small regular file; empty if the file is missing, unreadable or too large."""
    try:
        if not path.is_file() or path.stat().st_size > max_bytes:
            return ""
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _resolve_git_folder(git_path: Path) -> Path | None:
    if git_path.is_dir():
        return git_path.resolve()
    text = read_small_text(git_path, MAX_POINTER_BYTES)
    if not text.startswith("gitdir: "):
        return None
    return (git_path.parent / text.removeprefix("gitdir: ").rstrip("\r\n")).resolve()


def _is_commit_id(text: str) -> bool:
    return len(text) in (40, 64) and set(text) <= set("0123456789abcdef")
