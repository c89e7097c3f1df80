"""A shell's pattern counts as a file with secrets where it is made to find one, not where it only could; what is there
decides for all others."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, confined, decide, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName

EVERYDAY = [
    "cat src/*.py", "wc -l *.md", "head -5 docs/*", "ls *.toml", "grep -n x test_*", "cat c*", "cat *config*", "cat .github/workflows/*",
    "cat x*", "cat p*", "ls i*", "ls s*", "cat s*", "cat m*", "cat *", "wc -l *", "head *", "ls -la *", "cat *.json", "cat *.yml",
    "cat *.toml", "cat src/*", "cat src/*/*.py", "cat */*.md", "wc -l src/**/*.py", "grep -rn TODO src/*", "grep TODO src/*.c src/*.h",
    "ls -d */", "ls -d .*", "ls .*", "cat .git*", "cat README*", "cat docs/*.md", "head -20 tests/test_*.py", "tail -n 3 *.log",
    "cat Makefile*", "cat package*.json", "cat tsconfig*.json", "cat requirements*.txt", "diff a* b*", "file ./*", "du -sh *",
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
    return RulePolicy().decide("run_command", (Runs(script=line),), facts)


@pytest.mark.parametrize("line", ["cat c*", "cat *", "head [a-m]*", "cat *s", "cat cre*"])
def test_a_pattern_that_finds_a_secret_which_is_there_is_asked_about_where_no_sandbox_empties_it(
    line: str,
) -> None:
    assert with_secrets(line, "bypass", "credentials").verdict == "ask"
    assert with_secrets(line, "bypass", "credentials", sandboxed=True).below == ("credentials",)
    assert with_secrets(line, "bypass", "src/credentials").verdict == "allow"


@pytest.mark.parametrize(
    "line", ["rm c*", "mv c* out", "rm *", "sed -i s/a/b/ c*", "cp x.py cr*s", "rm -r k*"]
)
@pytest.mark.parametrize("sandboxed", [False, True])
def test_a_pattern_changes_no_secret_that_is_there(line: str, sandboxed: bool) -> None:
    found = with_secrets(line, "bypass", "credentials", "keyrings/", sandboxed=sandboxed)
    assert (found.verdict, found.rule_id) == ("deny", "guard.secret")
    assert "hold secrets" in found.reason
    assert with_secrets(line, "bypass", "src/x.pem", sandboxed=sandboxed).rule_id != "guard.secret"
