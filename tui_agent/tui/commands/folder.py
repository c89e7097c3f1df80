"""A few facts about the working folder for the start page. Blocking: called in a thread."""

from pathlib import Path

from tui_agent.config.git import ask_git
from tui_agent.config.repository import find_repository


def folder_facts(root: Path) -> str:
    """`git main, clean`, or nothing where it is no repository."""
    repository = find_repository(root)
    if repository is None:
        return ""
    changed = ask_git(root, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
    if changed is None:
        return f"git {repository.branch or 'detached'}"
    state = f"{len(changed.splitlines())} changed" if changed else "clean"
    return f"git {repository.branch or 'detached'}, {state}"
