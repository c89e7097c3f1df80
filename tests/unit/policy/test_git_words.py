"""Rules and guards count for files that git names in its own ways, and what stands in front of a subcommand hides none."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import classes, confined
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


@rows("line", DENIED)
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


HIDDEN = [
    "git -c core.quotepath=off clean -fdx",
    "git -p reset --hard",
    "git --git-dir .git reset --hard",
    "git --work-tree=. checkout -f",
    "git --bare branch -D x",
    "git -c core.pager=less checkout -- .",
    "git --attr-source=HEAD clean -fdx",
    "git --attr-source HEAD clean -fdx",
    "git --exec-path=/x clean -fdx",
    "git --namespace=x clean -fdx",
    "git --no-replace-objects clean -fdx",
    "git --config-env=a.b=C clean -fdx",
    "git --unheard-of x clean -fdx",
    "git -c alias.x='clean -fdx' x",
    "git -c alias.x='!rm -rf src' x",
    "git -c a.b=c -c alias.X='reset --hard' x",
    "git-clean -fdx",
    "/usr/lib/git-core/git-clean -fdx",
    "git checkout-index -f -a",
    "git read-tree --reset -u HEAD",
]
SHOWN = [
    "git -c color.ui=always diff",
    "git -c COLOR.UI=always diff",
    "git -c core.quotepath=off status",
    "git -c core.quotePath=off -c diff.renames=false diff --stat",
    "git -c core.pager=cat log -3",
    "git -p log",
    "git --no-pager diff",
    "git --git-dir .git status",
    "git --git-dir=.git --work-tree=. status",
    "git --no-replace-objects log -3",
]
MAY_RUN = [
    "git -c core.fsmonitor=x status",
    "git -c core.pager=less log",
    "git -c core.hooksPath=x status",
    "git --git-dir=/x/.git status",
    "git --git-dir ../x/.git status",
    "git --exec-path=/x status",
    "git -c",
]


@rows("line", HIDDEN)
def test_an_option_in_front_hides_no_destruction(line: str) -> None:
    assert "destructive" in classes(line)
    assert confined(line).verdict == "ask"


@pytest.mark.parametrize("line", SHOWN)
def test_settings_that_only_change_what_is_shown_read(line: str) -> None:
    assert classes(line) == ("read-only",)


@pytest.mark.parametrize("line", MAY_RUN)
def test_settings_that_may_name_programs_may_do_anything(line: str) -> None:
    assert "arbitrary" in classes(line)


def test_a_push_behind_a_setting_uses_the_network() -> None:
    assert "network" in classes("git -c a.b=c push")
    assert confined('git -c "$X" log').verdict == "ask"


PUSHES = [
    "git-push",
    "git-push origin main",
    "/usr/lib/git-core/git-push",
    "./git-push x",
    "git send-pack x",
    "git-send-pack x main",
    "git -c alias.p=push p",
    "git -c a.b=c push",
    "git --unheard-of x push",
]


@pytest.mark.parametrize("line", PUSHES)
def test_a_rule_against_pushing_holds_however_git_is_told(line: str) -> None:
    assert verdicts(line, "deny run git push *") == {"deny"}


def test_a_rule_against_pushing_holds_nothing_else() -> None:
    for line in ("git fetch-pack x", "git-log -3", "git -c alias.l=log l"):
        assert "deny" not in verdicts(line, "deny run git push *"), line


WRITERS = [
    "git stash",
    "git stash pop",
    "git clean -fdx",
    "git reset --hard",
    "git checkout -f main",
    "git read-tree --reset -u HEAD",
    "git checkout-index -f -a",
]


@pytest.mark.parametrize("line", WRITERS)
def test_what_writes_the_whole_tree_is_asked_about_where_a_rule_is_against_editing_some(line: str) -> None:
    assert verdicts(line, "deny edit private/**") == {"ask"}


def test_what_changes_a_part_of_the_tree_is_held_there_only() -> None:
    assert verdicts("git clean -fdx private", "deny edit private/**") <= {"deny", "ask"}
    assert judged("git clean -fdx build", "deny edit private/**").verdict == "allow"
    assert verdicts("git checkout -f -- private/a", "deny edit private/**") == {"deny"}
    for line in ("git stash list", "git clean -n", "git reset", "git add -n ."):
        assert "deny" not in verdicts(line, "deny edit private/**"), line
        assert judged(line, "deny edit private/**").verdict == "allow", line


TAKEN = [
    "prisma migrate reset --force",
    "npx prisma migrate reset --force",
    "rails db:drop",
    "bin/rails db:reset",
    "flask db downgrade",
    "python manage.py flush",
    "python3 manage.py flush --noinput",
    "./manage.py flush",
    "rake db:drop",
    "mix ecto.reset",
    "php artisan migrate:fresh",
    "python3 -c \"import subprocess; subprocess.run(['git','clean','-fdx'])\"",
    "python3 -c \"import os; os.execvp('git', ['git', 'reset', '--hard'])\"",
    "node -e \"require('child_process').spawnSync('git', ['clean', '-fdx'])\"",
]


@pytest.mark.parametrize("line", TAKEN)
def test_what_empties_a_database_or_is_run_by_a_list_of_words_is_destructive(line: str) -> None:
    assert "destructive" in classes(line)
    assert confined(line).verdict == "ask"


def test_lists_of_words_that_take_nothing_away_make_nothing_more() -> None:
    assert "destructive" not in classes("python3 -c \"import subprocess; subprocess.run(['git', 'status'])\"")
    assert "destructive" not in classes("rails db:migrate")
