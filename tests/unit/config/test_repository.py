"""The label of a repository's head: a branch, `detached`, or nothing."""

import subprocess
from pathlib import Path

import pytest

from tui_agent.config.project.repository import find_repository


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def label(folder: Path) -> str | None:
    repository = find_repository(folder)
    return None if repository is None else repository.head_label


def test_a_work_tree_has_the_branch_of_its_own(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q", "-b", "trunk")
    assert label(main) == "trunk", "before the first commit"
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", "-b", "fix/dates", str(other))
    (other / "src").mkdir()
    assert (label(main), label(other / "src")) == ("trunk", "fix/dates")
    git(other, "switch", "-q", "--detach")
    assert (label(main), label(other)) == ("trunk", "detached")


@pytest.mark.parametrize(
    ("head", "expected"), [("ref: refs/heads/.invalid", ""), ("", ""), ("ref: HEAD", "")]
)
def test_a_head_that_names_no_branch_has_no_label(tmp_path: Path, head: str, expected: str) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text(f"{head}\n")
    assert label(tmp_path) == expected
