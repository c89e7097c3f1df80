"""A pattern counts as a file with secrets where it is made to find one, not where it only could; for all others the files in
the workspace decide."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, confined, decide, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

EVERYDAY = [
    "cat src/*.py", "wc -l *.md", "head -5 docs/*", "ls *.toml", "grep -n x test_*", "cat c*", "cat *config*", "cat .github/workflows/*",
    "cat x*", "cat p*", "ls i*", "ls s*", "cat s*", "cat m*", "cat *", "wc -l *", "head *", "ls -la *", "cat *.json", "cat *.yml",
    "cat *.toml", "cat src/*", "cat src/*/*.py", "cat */*.md", "wc -l src/**/*.py", "grep -rn TODO src/*", "grep TODO src/*.c src/*.h",
    "ls -d */", "ls -d .*", "ls .*", "cat .git*", "cat README*", "cat docs/*.md", "head -20 tests/test_*.py",
    "cat Makefile*", "cat package*.json", "cat tsconfig*.json", "cat requirements*.txt", "file ./*", "du -sh *",
    "cat [a-m]*", "cat ?akefile", "cat src/m*", "cat k*", "cat src/k*", "cat key*", "cat env*", "cat *.p*", "cat *.k*",
    "cat *.tf*", "cat *rc", "cat m*.toml", "cat sh*", "cat c*.json", "cat *s.json", "cat s*.json", "cat config/s*.yml", "cat id*",
    "cat *_*", "cat .d*", "cat *key*", "git diff -- s*", "for f in s*; do cat $f; done", "cat a*s", "cat src/se*", "cat */c*",
]  # fmt: skip
MADE_FOR_ONE = [
    "cat .e*", "cat .env*", "cat .env.*", "cat .en?", "cat .[e]nv", "cat .?nv", "cat .*", "cat .[a-z]*", "cat *.pem", "cat *.pe?",
    "cat x*.pem", "cat x*.pe?", "cat *.env*", "cat *env", "cat id_*", "cat id_r*", "cat *_rsa", "cat *rsa*", "cat cred*", "cat c*dentials*",
    "cat *secret*", "cat secrets.*", "cat shad*", "cat .n?trc", "cat .*rc", "cat service-account*", "cat src/.e*", "cat *.key",
    "cat .docker/c*", "cat .kube/*fig", "cat .aws/*", "cat .ssh/i*", "find . -name '*.pem' -exec cat {} +",
    "find . -name '.e*' -exec cat {} +", "grep -r --include='*env*' x .", "cat ~/c*dentials", "cat .E*",
]  # fmt: skip


@rows("line", EVERYDAY)
def test_an_everyday_pattern_is_read_unasked(line: str) -> None:
    assert verdict(line) == "allow"
    assert confined(line).verdict == "allow"


@rows("line", MADE_FOR_ONE)
def test_a_pattern_that_is_made_to_find_a_secret_is_one(line: str) -> None:
    assert decide(line, "bypass").verdict == "deny"


def with_secrets(line: str, policy: PolicyName, *names: str, sandboxed: bool = False) -> Decision:
    found = tuple(SecretFile(name, f"{WORKSPACE}/{name}") for name in names)
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=sandboxed, secrets=found)
    return RulePolicy().decide("run_command", (RunEffect(script=line),), facts)


@pytest.mark.parametrize("line", ["cat c*", "cat *", "head [a-m]*", "cat *s", "cat cre*"])
def test_a_pattern_that_finds_a_secret_is_asked_about_where_no_sandbox_hides_it(line: str) -> None:
    assert with_secrets(line, "bypass", "credentials").verdict == "ask"
    assert with_secrets(line, "bypass", "credentials", sandboxed=True).unnamed_secrets == ("credentials",)
    assert with_secrets(line, "bypass", "src/credentials").verdict == "allow"


@pytest.mark.parametrize(
    "line", ["rm c*", "mv c* out", "rm *", "sed -i s/a/b/ c*", "cp x.py cr*s", "rm -r k*"]
)
@pytest.mark.parametrize("sandboxed", [False, True])
def test_a_pattern_changes_no_secret_that_is_there(line: str, sandboxed: bool) -> None:
    found = with_secrets(line, "bypass", "credentials", "keyrings/", sandboxed=sandboxed)
    assert (found.verdict, found.rule_id) == ("deny", "guard.secret")
    assert "may hold secrets" in found.reason
    assert with_secrets(line, "bypass", "src/x.pem", sandboxed=sandboxed).rule_id != "guard.secret"


@rows(
    "script",
    [
        "grep -rn KEY --include=.env .", "grep -rn KEY --include .env .", "grep -rn KEY --include='.env*' .",
        "grep -rn KEY --include=*.pem .", "grep -rn KEY --include=*.{py,pem} .", "egrep -r KEY --include=id_rsa",
        "rg KEY --glob .env --hidden", "rg KEY --glob=.env --hidden", "rg KEY --iglob .ENV", "rg -g '*.pem' -uuu X", "rg -g'**/.env' X",
        "rg -g '/.env' X", "rg -g '*.{py,env}' X", "rg -g '.ssh/**' X", "rg -l X -g .env", "git grep --no-index KEY -- .env",
    ],
)  # fmt: skip
def test_files_with_secrets_are_not_searched_by_their_names(script: str) -> None:
    assert (decide(script).verdict, decide(script).rule_id) == ("deny", "guard.secret")


@rows(
    "script",
    [
        "grep -r '' .", "grep -rn KEY --include='*.py' --include=*.toml .", "grep -rn KEY --include='*config*' src",
        "grep -rn KEY --include='*.*' .", "grep -rn KEY --exclude=.env .", "git grep --no-index KEY", "rg KEY",
        "rg KEY --hidden -g '!.env' -g '!*.pem' -g '!.git'", "rg KEY -g '**/config.json' -g '/src/**' -g '*.{ts,tsx}'",
        "rg KEY -g .env.example", "rg --files --hidden -g '.env*'", "cat config*",
    ],
)  # fmt: skip
def test_a_search_without_such_names_is_not_asked_about(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "line", ['rg KEY -g "$1"', "rg KEY --iglob '*.JSON' --no-ignore", "rg KEY -g !*.json --no-ignore"]
)
def test_names_that_may_choose_a_secret_that_is_there_are_asked_about(line: str) -> None:
    assert with_secrets(line, "bypass", "config/credentials.json").verdict == "ask"
