"""What runs unasked only because a sandbox bounds it may not write the repository; git's own commands may."""

import pytest

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName


def decide(command: str, policy: PolicyName = "accept-edits", *rules: str) -> Decision:
    facts = PolicyFacts("/work", policy, sandboxed=True)
    return RulePolicy(rules).decide("run_command", (RunEffect(script=command),), facts)


@pytest.mark.parametrize(
    "command",
    [
        "python3 x.py", "pytest -q", "pytest > out.txt", "make", "npm test", "cargo build", "./run.sh", "git commit -m x && pytest",
        "mkdir a; python3 x.py", "env A=1 python3 x.py", "timeout 5 make", "git -c alias.x='!sh e.sh' x", "ls --zzz",
        "git unheard-of",
    ],
)  # fmt: skip
def test_code_that_runs_unasked_only_reads_the_repository(command: str) -> None:
    found = decide(command)
    assert (found.verdict, found.repository_read_only) == ("allow", True)


@pytest.mark.parametrize(
    "command",
    [
        "git config core.pager 'sh x.sh'",
        "git config alias.x '!sh x.sh'",
        "git config --lis",
        "git config list",
    ],
)
def test_settings_of_git_are_asked_about_for_some_hold_tokens_and_some_name_programs(command: str) -> None:
    assert decide(command).verdict == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git add -A && git commit -m x", "git checkout -b y", "git stash", "cd src && git add .", "git merge x",
        "mkdir -p a && echo x > a/f && git add a", "cp a b && git commit -am x", "sed -i s/a/b/ f && git commit -am x",
        "timeout 5 git commit -m x", "git commit -m x | tail -1", "ls",
    ],
)  # fmt: skip
def test_commands_of_git_write_it_beside_what_names_its_files(command: str) -> None:
    found = decide(command)
    assert (found.verdict, found.repository_read_only) == ("allow", False)


def test_what_the_user_allowed_is_not_kept_from_it() -> None:
    assert decide("python3 x.py", "bypass").repository_read_only is False
    assert decide("python3 x.py", "accept-edits", "allow run python3 x.py").repository_read_only is False
    assert decide("git status; python3 x.py", "accept-edits", "allow run git *").repository_read_only is True
