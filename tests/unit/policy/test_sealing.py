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
    ("command", "git", "other"),
    [
        (
            "git add -A && python3 -m unittest -q | tail -2; git commit -qm x",
            "git add",
            "unittest",
        ),
        ("git commit -m x && pytest", "git commit", "pytest"),
        ("git add x; echo rc=$?; ./run.sh", "git add", "./run.sh"),
        ("timeout 5 make && git checkout -b y", "git checkout -b", "make"),
        ("for f in a b; do git add $f; make $f; done", "git add", "make"),
    ],
)
def test_a_line_that_changes_the_repository_and_runs_code_conflicts(
    command: str, git: str, other: str
) -> None:
    conflict = decide(command).repository_conflict
    assert (
        conflict
        == f"{git} cannot change the repository in a line that also runs {other}. Run git in a separate call."
    )
    assert decide(command, "bypass").repository_conflict == ""
    assert decide(command, "accept-edits", f"allow exact {command}").repository_conflict == ""


@pytest.mark.parametrize(
    "command",
    ["git stash", "git add -A && git commit -m x", "git status; pytest", "git stash list && make", "pytest",
     "git diff > a.patch && pytest", "git apply a.patch && pytest", "mkdir a && git add a", "git log | head -3; make"],
)  # fmt: skip
def test_other_lines_do_not(command: str) -> None:
    assert decide(command).repository_conflict == ""


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
        "git add -A && git commit -m x", "git checkout -b y", "cd src && git add .", "git merge x",
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
