"""Commands that read files with secrets without naming them are asked about where no sandbox hides those files."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName


def secret_file(name: str, *, ignored: bool = False, in_git: bool = False) -> SecretFile:
    return SecretFile(name, f"{WORKSPACE}/{name}", in_git=in_git, ignored=ignored)


SECRETS = (
    secret_file(".env", ignored=True),
    secret_file("config/credentials.json", ignored=True),
    secret_file("open/secrets.yml"),
    secret_file("certs/own.pem", in_git=True),
    secret_file("open/.aws/"),
)


def decide(
    script: str, policy: PolicyName = "ask", *rules: str, sandboxed: bool = False, cwd: str = ""
) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, secrets=SECRETS, sandboxed=sandboxed)
    return RulePolicy(rules).decide("run_command", (RunEffect(script=script, cwd=cwd),), facts)


READS = [
    "grep -rn X .",
    "grep -rn X",
    "grep -R X config",
    "grep --recursive X *",
    "rg X",
    "rg -u X config",
    "rg --hidden -uu X",
    "rg -uuu X",
    "rg --no-ignore X config",
    "rg X config",
    "cd config && rg --hidden X",
    "rg -uu X -g '!.env' -g '!config/' -g '!open/**'",
    "ag -u X",
    "git grep --no-index X",
    "git grep --untracked X",
    "git diff --no-index /dev/null .",
    "find . -type f | xargs grep X",
    "find . -exec grep X {} +",
    "git ls-files -o | xargs wc -l",
    "rg --files | xargs wc -l",
    "cat config/*",
    "head -n 3 */*.json",
    "for f in config/*; do cat $f; done",
    "diff -r config other",
    "cd config && grep -r X",
    "grep -rn X . --exclude=.env",
    "ls && grep -rn X . | head",
    "grep -rn --exclude-dir=.env X .",
    "cd config && grep -rn --exclude-dir=config X .",
    "grep -rlq X config",
]


@rows("script", READS)
def test_a_command_that_reads_secrets_below_a_folder_is_asked_about(script: str) -> None:
    found = decide(script)
    assert (found.verdict, found.rule_id, found.default_no) == ("ask", "guard.below", True)
    assert [choice.reach for choice in found.choices if choice.offered] == ["once"]
    assert decide(script, "bypass").verdict == "ask"
    assert decide(script, "ask", "allow run grep *", "allow run rg *").verdict == "ask"


@rows(
    "script",
    [
        "grep -rn X src tests",
        "grep -n X *",
        "grep X config/*.toml",
        "grep -rn X . --include='*.py'",
        "rg X src",
        "rg X -g '*.py'",
        "rg -uu X -g '!.env' -g '!config/' -g '!open'",
        "git grep X",
        "git diff",
        "find . -name '*.py' -exec cat {} +",
        "cat *",
        "cat *.md",
        "ls -laR",
        "du -sh .",
        "find . -name .env",
        "cat certs/*",
        "cd src && grep -r X",
        "grep X README.md",
    ],
)
def test_a_command_that_reads_none_of_them_is_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow", decide(script).reason


def test_in_a_sandbox_it_runs_and_the_hidden_files_are_named() -> None:
    found = decide("grep -rn X config open", sandboxed=True)
    assert (found.verdict, found.unnamed_secrets) == (
        "allow",
        ("config/credentials.json", "open/secrets.yml", "open/.aws/"),
    )


def test_a_folder_of_the_call_counts_and_a_line_allowed_word_for_word_runs() -> None:
    assert decide("grep -r X", cwd="config").verdict == "ask"
    assert decide("grep -r X", cwd="src").verdict == "allow"
    exact = decide("grep -r X .", "ask", "allow exact grep -r X .")
    assert (exact.verdict, exact.allowed_by_exact_rule) == ("allow", True)


def test_a_delegate_that_only_looks_is_refused_it() -> None:
    assert decide("grep -rn X .", "read-only-delegate").verdict == "deny"


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("grep -rn X open", "open/secrets.yml and 1 more"),
        ("grep -rn X config", "config/credentials.json"),
        ("grep -rn X .", ".env and 3 more"),
    ],
)
def test_the_first_that_it_reads_is_named_and_the_others_counted(script: str, named: str) -> None:
    assert decide(script).reason == f"it would also read {named}, which may hold secrets"


@rows("script", ["ls -A | xargs cat", "ls -a | xargs -n1 head -1"])
def test_files_that_an_input_names_may_be_those_with_secrets(script: str) -> None:
    assert decide(script, "bypass").rule_id == "guard.below"
    assert decide(script, "bypass", sandboxed=True).verdict == "allow"


FROM_COMMITS = [
    "git log -p",
    "git log -p -- certs",
    "git log -5 --patch -- 'c*'",
    "git log --stat -U3 HEAD~3..",
    "git log -S X -p -- ':!src'",
    "git show",
    "git show HEAD~1",
    "git show HEAD -- .",
    "git diff HEAD~1 HEAD",
    "git diff main...HEAD -- certs src",
    "git diff --cached",
    "git grep -n X HEAD",
    "git grep -e X HEAD~3 -- certs",
    "git grep --cached X",
    "git stash show -p",
    "git stash list -p",
    "git diff-tree -p HEAD",
    "git cat-file -p 1a2b3c4d",
    "git range-diff a..b c..d",
    "git reflog -p",
]


@rows("script", FROM_COMMITS)
def test_a_git_command_that_prints_commits_with_a_secret_file_is_asked_about(script: str) -> None:
    for sandboxed in (False, True):
        found = decide(script, sandboxed=sandboxed)
        assert (found.verdict, found.rule_id, found.default_no) == ("ask", "guard.below", True)
        assert found.reason == "it may show certs/own.pem, which may hold secrets, from git's commits"
        assert decide(script, "bypass", sandboxed=sandboxed).verdict == "ask"


@rows("script", ["git archive HEAD certs", "git archive HEAD", "git format-patch --stdout HEAD~2"])
def test_a_git_command_that_packs_commits_with_a_secret_file_is_asked_about(script: str) -> None:
    for policy in ("ask", "bypass"):
        assert decide(script, policy, sandboxed=True).rule_id == "guard.below"


@rows(
    "script",
    [
        "git log",
        "git log --stat",
        "git log -p -- src",
        "git log -p -3 -- . ':!certs'",
        "git log -p -- '*.py'",
        "git show --stat HEAD",
        "git show --name-only",
        "git show HEAD:src/a.py",
        "git diff",
        "git diff -- certs",
        "git diff --stat HEAD~1",
        "git diff HEAD~1 -- src",
        "git grep X",
        "git grep X -- certs",
        "git grep X HEAD -- src",
        "git stash show",
        "git status",
        "git blame src/a.py",
    ],
)
def test_a_git_command_that_cannot_print_a_secret_file_is_not_asked_about(script: str) -> None:
    for sandboxed in (False, True):
        assert decide(script, sandboxed=sandboxed).verdict == "allow", decide(script).reason


@rows("script", FROM_COMMITS)
def test_without_a_secret_file_in_git_its_commits_are_printed(script: str) -> None:
    secrets = tuple(secret for secret in SECRETS if not secret.in_git)
    facts = PolicyFacts(WORKSPACE, "ask", secrets=secrets, sandboxed=True)
    assert RulePolicy(()).decide("run_command", (RunEffect(script=script),), facts).verdict == "allow"


def test_a_secret_file_that_a_git_command_names_stays_denied() -> None:
    for script in ("git show HEAD:certs/own.pem", "git log -p -- .env", "git diff HEAD~1 -- .env"):
        assert decide(script).verdict == "deny"
