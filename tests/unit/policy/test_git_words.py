"""Rules and guards count for files and commands that git names in its own ways."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined
from tests.unit.policy.test_deny_rules_on_commands import judge, verdict, verdicts
from tui_agent.protocol.effects import RunEffect


@rows(
    "line",
    [
        "git show ':(top)private/a'", "git show ':(top,icase)PRIVATE/a'", "git show :private/a", "git show :2:private/a",
        "git show HEAD~1:private/a", "git cat-file blob :private/a", "git -C src show :private/a", "cd src && git show HEAD:private/a",
        "git log -p -- 'priv*'", "git log -p -- ':/private'", "git log -p -- ':/priv*'", "git log -p -L1,1:private/a",
        "git log -p -L 1,1:private/a", "git log -p -L:f:private/a", "git diff HEAD -- ':(glob)priv*/**'",
        "git diff HEAD -- ':(literal)private/a'", "git diff HEAD -- '[p]rivate'", "git diff HEAD --relative=private",
        "git diff-tree -p HEAD -- 'priv*'", "git grep -n . -- 'priv*'", "git grep -ne . -- 'priv*'", "git grep -n x 'priv*/a'",
    ],
)  # fmt: skip
def test_a_rule_against_reading_holds_for_all_names_of_a_file(line: str) -> None:
    assert verdicts(line, "deny read private/**") == {"deny"}


@rows(
    "line",
    [
        "git log -p -- '*.py'", "git log -p -- 'p*a'", "git log -p -- 'private?a'", "git diff -- '*'",
        "git log -p -- 'src*' 'tests/[ab].py'", "git ls-files '*.py'",
    ],
)  # fmt: skip
def test_a_sign_of_git_may_stand_for_a_slash(line: str) -> None:
    assert verdicts(line, "deny read private/**") == {"ask"}


@rows(
    "line",
    [
        "git log -p -- src ':!private'", "git diff -- ':(exclude)private' src", "git show HEAD:src/a.py", "git grep -n 'p.*' -- src",
        "git log --oneline 'HEAD^{/fix*}'", "git for-each-ref 'refs/heads/*'", "git blame -L1,10 src/a.py", "git log -p -- 'src/*.py'",
    ],
)  # fmt: skip
def test_other_files_are_free(line: str) -> None:
    assert verdicts(line, "deny read private/**") == {"allow"}


def test_the_index_counts_from_the_top_wherever_the_tool_runs() -> None:
    show = RunEffect(script="git show :private/a", cwd="src")
    assert judge(show, "deny read private/**").verdict == "deny"


@rows(
    "line",
    [
        "git rm 'priv*/a'", "git checkout HEAD -- 'priv*'", "git checkout -f -- private/a", "git restore ':/private/a'",
        "git restore private/a", "git clean -fdx private", "git stash push private/a",
    ],
)  # fmt: skip
def test_a_rule_against_editing_holds_for_path_filters(line: str) -> None:
    assert verdicts(line, "deny edit private/**") == {"deny"}


@rows(
    "line",
    [
        "git stash", "git stash pop", "git clean -fdx", "git reset --hard", "git checkout -f main", "git read-tree --reset -u HEAD",
        "git checkout-index -f -a",
    ],
)  # fmt: skip
def test_a_command_that_writes_the_whole_tree_is_asked_about_where_a_rule_is_against_editing_some(
    line: str,
) -> None:
    assert verdicts(line, "deny edit private/**") == {"ask"}


def test_a_command_that_writes_elsewhere_or_nothing_is_free() -> None:
    for line in ("git clean -fdx build", "git stash list", "git clean -n"):
        assert verdict(line, "deny edit private/**") == "allow", line


@rows(
    "line",
    [
        "git-push", "git-push origin main", "/usr/lib/git-core/git-push", "./git-push x", "git send-pack x", "git-send-pack x main",
        "git -c a.b=c push", "git --unheard-of x push",
    ],
)  # fmt: skip
def test_a_rule_against_pushing_holds_however_git_is_told_to(line: str) -> None:
    assert verdicts(line, "deny run git push *") == {"deny"}


def test_an_alias_may_be_what_a_rule_denies() -> None:
    for line in ("git -c alias.p=push p", "git -c alias.l=log l"):
        assert verdicts(line, "deny run git push *") == {"ask"}, line
    assert verdict("git-log -3", "deny run git push *") == "allow"


@rows(
    "line",
    [
        "git -c core.quotepath=off clean -fdx", "git -p reset --hard", "git --git-dir .git reset --hard", "git --work-tree=. checkout -f",
        "git --bare branch -D x", "git -c core.pager=less checkout -- .", "git --attr-source=HEAD clean -fdx",
        "git --attr-source HEAD clean -fdx", "git --exec-path=/x clean -fdx", "git --namespace=x clean -fdx",
        "git --no-replace-objects clean -fdx", "git --config-env=a.b=C clean -fdx", "git --unheard-of x clean -fdx",
        "git -c alias.x='clean -fdx' x", "git -c alias.x='!rm -rf src' x", "git -c a.b=c -c alias.X='reset --hard' x",
        "git read-tree --reset -u HEAD", 'git -c "$X" log',
    ],
)  # fmt: skip
def test_an_option_in_front_hides_no_destruction_from_a_profile_that_a_sandbox_bounds(line: str) -> None:
    assert confined(line).verdict == "ask"
