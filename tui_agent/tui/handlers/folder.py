"""L7: a few facts about the working folder for the start page. Blocking: called in a thread."""

import subprocess
from pathlib import Path


def folder_facts(root: Path) -> str:
    """`git main, clean, 41 files`, or nothing where it is no repository."""
    branch = _git(root, "branch", "--show-current")
    if branch is None:
        return ""
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal")
    state = "clean" if not changed else f"{len(changed.splitlines())} changed"
    return f"git {branch.strip() or 'detached'}, {state}"


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
