"""The new commits that a repository's reflog names."""

from pathlib import Path

from tests.stubs.sandboxed import git
from tui_agent.config.project.repository import find_repository
from tui_agent.engine.checkpoints.irreversible_effects import (
    MAX_SUBJECT_CHARS,
    find_new_commits,
    find_new_stashes,
)

START = 1_700_000_000


def commit(root: Path, second: int, subject: str) -> str:
    """Make a commit at this second and return its short id."""
    time = f"{START + second} +0000"
    (root / "a.txt").write_text(f"{second}\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", subject, time=time)
    return git(root, "rev-parse", "HEAD")[:7]


def found(root: Path, start: float, end: float) -> list[str]:
    return find_new_commits(find_repository(root / "sub"), [(START + start, START + end)])


def test_commits_of_the_spans_are_named_oldest_first(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    assert found(tmp_path, 0, 100) == []
    first, second, third = (commit(tmp_path, second, f"number {second}") for second in (10, 20, 30))
    assert found(tmp_path, 10.9, 20.1) == [f"{first} number 10", f"{second} number 20"]
    assert found(tmp_path, 21, 29.9) == []
    long = commit(tmp_path, 40, "x" * 200)
    (named,) = found(tmp_path, 35, 45)
    assert named.startswith(long) and len(named) == 8 + MAX_SUBJECT_CHARS
    spans = [(START + 10.0, START + 11.0), (START + 30.0, START + 31.0)]
    assert find_new_commits(find_repository(tmp_path), spans) == [f"{first} number 10", f"{third} number 30"]
    (tmp_path / ".git/logs/HEAD").write_bytes(b"nonsense\n\xff\tcommit: x\n")
    assert found(tmp_path, 0, 100) == []


def test_a_commit_that_was_amended_or_reset_is_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    first = commit(tmp_path, 10, "first")
    commit(tmp_path, 20, "second")
    git(tmp_path, "commit", "-q", "--amend", "-m", "amended", time=f"{START + 21} +0000")
    amended = git(tmp_path, "rev-parse", "HEAD")[:7]
    assert found(tmp_path, 0, 100) == [f"{first} first", f"{amended} amended"]
    commit(tmp_path, 30, "third")
    git(tmp_path, "reset", "-q", "HEAD~2", time=f"{START + 31} +0000")
    assert found(tmp_path, 0, 100) == [f"{first} first"]
    again = commit(tmp_path, 40, "again")
    assert found(tmp_path, 15, 100) == [f"{again} again"]


def test_a_folder_without_a_repository_has_none(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert found(tmp_path, 0, 100) == []


def test_only_the_stashes_that_are_still_there_are_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    first = commit(tmp_path, 10, "first")
    span = [(START + 15.0, START + 45.0)]
    assert find_new_stashes(find_repository(tmp_path), span) == []
    for second in (12, 20, 30, 50):
        (tmp_path / "a.txt").write_text(f"stashed at {second}\n")
        git(tmp_path, "stash", "push", "-q", "-m", f"at {second}", time=f"{START + second} +0000")
    assert find_new_stashes(find_repository(tmp_path), span) == ["On main: at 20", "On main: at 30"]
    git(tmp_path, "stash", "drop", "-q", "stash@{1}")
    assert find_new_stashes(find_repository(tmp_path), span) == ["On main: at 20"]
    assert found(tmp_path, 0, 100) == [f"{first} first"]
    assert find_new_stashes(None, span) == []
