"""Rules and guards count for files that git names in its own ways, and what stands in front of a subcommand hides none."""

import pytest

from tests.unit.policy.test_deny_patterns import judged, verdicts

DENIED = [
    "git show ':(top)private/a'",
    "git show ':(top,icase)PRIVATE/a'",
    "git show :private/a",
    "git show :2:private/a",
    "git show HEAD~1:private/a",
    "git cat-file blob :private/a",
    "git -C src show :private/a",
    "cd src && git show HEAD:private/a",
    "git log -p -- 'priv*'",
    "git log -p -- ':/private'",
    "git log -p -- ':/priv*'",
    "git log -p -L1,1:private/a",
    "git log -p -L 1,1:private/a",
    "git log -p -L:f:private/a",
    "git diff HEAD -- ':(glob)priv*/**'",
    "git diff HEAD -- ':(literal)private/a'",
    "git diff HEAD -- '[p]rivate'",
    "git diff HEAD --relative=private",
    "git diff-tree -p HEAD -- 'priv*'",
    "git grep -n . -- 'priv*'",
    "git grep -ne . -- 'priv*'",
    "git grep -n x 'priv*/a'",
]
ASKED = ["git log -p -- '*.py'", "git log -p -- 'p*a'", "git log -p -- 'private?a'", "git diff -- '*'"]
"""A sign of git's patterns may stand for a slash."""
READ = [
    "git log -p -- 'src*' 'tests/[ab].py'",
    "git log -p -- src ':!private'",
    "git diff -- ':(exclude)private' src",
    "git show HEAD:src/a.py",
    "git grep -n 'p.*' -- src",
    "git log --oneline 'HEAD^{/fix*}'",
    "git for-each-ref 'refs/heads/*'",
    "git ls-files '*.py'",
    "git blame -L1,10 src/a.py",
]


@pytest.mark.parametrize("line", DENIED)
def test_what_git_names_in_its_own_ways_is_held(line: str) -> None:
    assert verdicts(line, "deny read private/**") == {"deny"}


@pytest.mark.parametrize("line", ASKED)
def test_a_pattern_of_git_may_reach_below_a_folder(line: str) -> None:
    assert verdicts(line, "deny read private/**") <= {"ask", "deny"}


@pytest.mark.parametrize("line", READ)
def test_what_git_names_elsewhere_is_read(line: str) -> None:
    assert verdicts(line, "deny read private/**") == {"allow"}


def test_the_index_counts_from_the_top_wherever_the_tool_runs() -> None:
    assert judged("git show :private/a", "deny read private/**", cwd="src").verdict == "deny"


@pytest.mark.parametrize("line", ["git log -p -- '.e*'", "git grep KEY -- '.e*'", "git show ':(top).env'"])
def test_a_pattern_of_git_that_finds_secrets_is_held(line: str) -> None:
    assert verdicts(line) == {"deny"}


@pytest.mark.parametrize(
    "line", ["git rm 'priv*/a'", "git checkout HEAD -- 'priv*'", "git restore ':/private/a'"]
)
def test_what_git_changes_by_a_pattern_is_held(line: str) -> None:
    assert verdicts(line, "deny edit private/**") == {"deny"}
