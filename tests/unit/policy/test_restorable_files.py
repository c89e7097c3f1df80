"""accept-edits lets a command delete files that /undo can restore, if it names each of them."""

import pytest

from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

RESTORABLE = frozenset(f"{WORKSPACE}/{path}" for path in ("out.txt", "build/a", "-x", "Makefile", ".env"))


def verdict(line: str, *rules: str, policy: PolicyName = "accept-edits", sandboxed: bool = True) -> str:
    facts = PolicyFacts(
        WORKSPACE, policy, sandboxed=sandboxed, interactive=False, restorable_files=RESTORABLE
    )
    return RulePolicy(rules).decide("run_command", (RunEffect(script=line),), facts).verdict


@pytest.mark.parametrize("sandboxed", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "rm out.txt",
        "rm -f out.txt build/a",
        "unlink out.txt",
        "cd build && rm a",
        "rm -- -x",
        "rm out.txt && ls",
    ],
)
def test_named_files_that_can_be_restored_are_deleted_unasked(line: str, sandboxed: bool) -> None:
    assert verdict(line, sandboxed=sandboxed) == "allow"
    assert verdict(line, sandboxed=sandboxed, policy="ask") == "deny"
    assert verdict(line, sandboxed=sandboxed, policy="plan") == "deny"


def test_code_of_the_same_line_may_run_if_the_sandbox_confines_it() -> None:
    assert verdict("python3 x.py; rm out.txt") == "allow"
    assert verdict("python3 x.py; rm out.txt", sandboxed=False) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "rm src/other.py",
        "rm out.txt src/other.py",
        "rm -r build",
        "rm -rf out.txt",
        "rm *.txt",
        "rm build/?",
        "rm $X",
        "find . -name out.txt -delete",
        "shred out.txt",
        "git rm out.txt",
        "sudo rm out.txt",
        "rm .env",
        "rm out.txt; rm src/other.py",
        "rm /home/ada/out.txt",
    ],
)
def test_other_deletions_are_not(line: str) -> None:
    assert verdict(line) == "deny"


def test_a_rule_of_the_user_still_counts() -> None:
    assert verdict("rm out.txt", "deny remove out.txt") == "deny"
    assert verdict("rm out.txt", "ask remove *.txt") == "deny"


def test_only_single_named_files_are_looked_up() -> None:
    policy = RulePolicy()

    def deleted(line: str) -> tuple[str, ...]:
        return policy.deleted_files((RunEffect(script=line),))

    assert deleted("cd build && rm a ../out.txt") == ("build/a", "build/../out.txt")
    assert deleted("rm -r build; rm *.o; ls; rm $X") == ()
    assert deleted("mv a out.txt && rm out.txt") == ()


UNRESTORABLE = frozenset(f"{WORKSPACE}/{path}" for path in ("coverage/lcov.json", "large.bin"))


@pytest.mark.parametrize(
    "line",
    [
        "echo APP3 > coverage/lcov.json",
        "cd coverage && cp ../src/a lcov.json",
        "mv large.bin b",
        "sed -i s/a/b/ coverage/*.json",
        "python3 x.py > large.bin",
    ],
)
def test_a_file_that_cannot_be_restored_is_written_only_with_an_approval(line: str) -> None:
    def decision(policy: PolicyName, files: frozenset[str] = UNRESTORABLE, *rules: str) -> Decision:
        facts = PolicyFacts(WORKSPACE, policy, sandboxed=True, unrestorable_files=files)
        return RulePolicy(rules).decide("run_command", (RunEffect(script=line),), facts)

    assert decision("accept-edits", frozenset()).verdict == "allow"
    asked = decision("accept-edits")
    assert asked.verdict == "ask" and asked.default_no
    assert asked.reason.startswith("no checkpoint can hold ")
    assert decision("ask").risk == asked.risk == "It may change a file that /undo cannot restore."
    assert decision("plan").verdict == "deny" and decision("bypass").verdict == "allow"


def test_the_files_that_a_line_writes_or_moves_by_name_are_looked_up() -> None:
    policy = RulePolicy()

    def changed(line: str) -> tuple[str, ...]:
        return policy.changed_files((RunEffect(script=line),))

    assert changed("cd build && cp ../a.json dir") == ("build/dir", "build/dir/a.json")
    assert changed("mv a b") == ("a", "b", "b/a")
    assert changed("cat a; rm b; echo x > $X") == ()
    assert policy.changed_patterns((RunEffect(script="sed -i s/a/b/ *.json"),)) == ("*.json",)
    assert policy.changed_patterns((RunEffect(script="find . -name x -exec sed -i s/a/b/ {} +"),)) == ()
