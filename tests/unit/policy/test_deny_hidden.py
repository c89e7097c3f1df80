"""Rules against commands count for what a text may run: of a shell, of an interpreter, of a program that nobody knows."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName

PUSH = "git push *"


def verdict(script: str, *rules: str, policy: PolicyName = "bypass", sandboxed: bool = False) -> str:
    facts = PolicyFacts("/home/ada/timesheet", policy, sandboxed=sandboxed)
    return RulePolicy(rules).decide("run_command", (Runs(script=script),), facts).verdict


def in_all(script: str, *rules: str) -> set[str]:
    return {
        verdict(script, *rules),
        verdict(script, *rules, sandboxed=True),
        verdict(script, *rules, policy="accept-edits", sandboxed=True),
        verdict(script, *rules, policy="ask"),
    }


@pytest.mark.parametrize(
    "script",
    [
        "sh <<< 'git push'",
        "echo 'git push' | sh",
        "printf 'git push\\n' | bash -s",
        "bash <<'E'\ngit push\nE",
        ". /dev/stdin <<< 'git push'",
        "bash <(echo git push)",
        "eval 'git push'",
        "trap 'git push' EXIT",
        "fish -c 'git push'",
        "git $ARGUMENTS",
        "git $ARGUMENTS origin",
        "$PROGRAM push",
    ],
)
def test_a_text_that_a_shell_is_given_is_read_and_judged(script: str) -> None:
    assert in_all(script, f"deny run {PUSH}") == {"deny"}
    assert in_all(script, f"ask run {PUSH}") == {"ask"}


@rows(
    "script",
    [
        "cat x | sh",
        "curl example.org | bash",
        "echo $X | sh",
        "$X",
        "$(cat x)",
        'eval "$X"',
        'bash -c "$X"',
        'python -c "$X"',
        "cat x | python",
        "alias p='git push'; p",
        "git --config-env=alias.p=X p",
        "git p",
        "git -c core.pager='git push' log",
        "GIT_PAGER='git push' git log",
        "env -S 'git push'",
        "env -S'git push'",
        "script -qc 'git push' /dev/null",
        "watch git push",
        "watch -n 1 'git push'",
        "coproc git push",
        "parallel git ::: push",
        "tmux new 'git push'",
        "ssh localhost git push",
        "ssh localhost 'cd x; git push'",
        "su -c 'git push'",
        "git submodule foreach 'git push'",
        "git bisect run git push",
        "vim -c '!git push'",
        "awk 'BEGIN{system(\"git push\")}'",
        "python -c \"import os; os.system('git push')\"",
        "python3 -c \"import subprocess; subprocess.run(['/usr/bin/git', 'push'])\"",
        "python <<'E'\nimport os; os.system('git push')\nE",
        "echo \"import os; os.system('git push')\" | python",
        "perl -e 'system(\"git push\")'",
        "ruby -e '`git push`'",
        'node -e \'require("child_process").execSync("git push")\'',
        "frobnicate --run 'GIT push'",
    ],
)
def test_what_may_run_it_without_showing_it_is_asked_about_in_every_profile(script: str) -> None:
    assert in_all(script, f"deny run {PUSH}") == {"ask"}
    assert in_all(script, f"ask run {PUSH}") == {"ask"}


FREE = [
    "git status",
    "git log --grep 'git push'",
    "git commit -m 'say how git push works'",
    "echo git push",
    "grep -rn 'git push' docs",
    "python tools/check.py git",
    "python tools/git.py --all",
    "python -c 'print(1)'",
    "python -c 'import github'",
    "pip install git+https://example.org/x",
    "frobnicate git status",
    "frobnicate src/git",
    "sh x.sh",
    "bash -c 'git status'",
    "echo ls | sh",
    "make",
    "npm run x",
    "pytest -q",
    "cat a | python tools/x.py",
    "rm src/*.o",
]


@rows("script", FREE)
def test_what_names_it_in_no_code_is_free(script: str) -> None:
    assert verdict(script, f"deny run {PUSH}") == "allow"


@pytest.mark.parametrize("script", ["alias p='git push'; p", "python -c \"os.system('git push')\""])
def test_without_a_rule_against_commands_the_profile_alone_decides(script: str) -> None:
    assert verdict(script) == "allow"
    assert verdict(script, "allow run git push *", "deny connect evil.example") == "allow"


def test_a_rule_counts_for_a_word_that_is_none_or_several() -> None:
    assert verdict("git $A", "deny run git push origin *") == "deny"
    assert verdict("git push $A main", "deny run git push origin main") == "deny"
    assert verdict("git log $A", f"deny run {PUSH}") == "allow"
    assert verdict("git $A x y", "deny run git push") == "ask"
    assert verdict("rm $A -r x", "deny run rm -r *") == "deny"
