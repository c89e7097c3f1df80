"""The new commits in the reflog of a git repository, by reading one file.

Invariant: this module runs no program.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_agent.config.project.repository import MAX_BYTES, find_repository, read_small_text

MAX_SUBJECT_CHARS = 72
_NEW_COMMIT = ("commit", "cherry-pick", "revert")
"""The first words of the reflog's lines about a new commit."""


def find_new_commits(root: Path, spans: Sequence[tuple[float, float]]) -> list[str]:
    """Return the commits that were made in one of the time spans, oldest first, e.g. `1a2b3c4 Fix the total`.

    The times are seconds since the epoch. A commit that was amended or reset later is left out. Blocking.
    """
    repository = find_repository(root)
    text = "" if repository is None else read_small_text(repository.git_folder / "logs/HEAD", 16 * MAX_BYTES)
    parents: dict[str, str] = {}
    subjects: dict[str, str] = {}
    for line in text.splitlines():
        head, _, message = line.partition("\t")
        words = head.split()
        action, _, subject = message.partition(": ")
        if len(words) < 4 or not words[-2].isdigit():
            continue
        old, new, time = words[0], words[1], int(words[-2])
        if action == "commit (amend)":
            old = parents.pop(old, old)
        elif action.startswith("reset"):
            parents = _commits_up_to(new, parents)
        if action.startswith(_NEW_COMMIT) and any(int(start) <= time <= end for start, end in spans):
            parents[new], subjects[new] = old, subject
    return [f"{commit[:7]} {_clean(subjects[commit])}" for commit in parents]


def _commits_up_to(end: str, parents: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from commit to parent. Commits that follow the commit `end` are left out."""
    left: dict[str, str] = {}
    for commit, parent in parents.items():
        if parent == end:
            break
        left[commit] = parent
    return left


def _clean(subject: str) -> str:
    text = subject.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if len(text) <= MAX_SUBJECT_CHARS else f"{text[: MAX_SUBJECT_CHARS - 1]}…"
