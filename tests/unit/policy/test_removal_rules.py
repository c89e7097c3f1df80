"""A rule that allows removing files also allows the commands that do nothing else."""

import pytest

from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName


def verdict(line: str, *rules: str, policy: PolicyName = "ask", **resolved: str) -> str:
    links = {key.replace("__", "/"): value for key, value in resolved.items()}
    return (
        RulePolicy(rules)
        .decide("t", (RunEffect(script=line),), PolicyFacts(WORKSPACE, policy, links))
        .verdict
    )


RULE = "allow remove build/**"


@pytest.mark.parametrize(
    "line",
    ["rm -rf build/x", "rm build/a build/b", "rm -rf build/*", "rm -f build/*.o", "cd build && rm -rf x", "rmdir build/x", "unlink build/a",
     "rm -rf -- build/x && ls", "rm -rf build/{a,b}"],
)  # fmt: skip
def test_a_rule_that_allows_removing_allows_rm(line: str) -> None:
    assert verdict(line, RULE) == "allow"
    assert verdict(line, RULE, policy="accept-edits") == "allow"
    assert verdict(line) == "ask"
    assert verdict(line, RULE, policy="plan") == "deny"


@pytest.mark.parametrize(
    "line",
    ["rm -rf src", "rm build/a src/b", "rm -rf build/../src", "rm -rf build/*/x", "rm -rf $X/build/x", "rm -rf build/$X", "sudo rm build/a",
     "find build -delete", "rm build/a > src/x", "rm -rf build/x && rm src/a", "shred build/a", "FOO=1 rm build/x", "git rm build/a"],
)  # fmt: skip
def test_it_allows_nothing_else(line: str) -> None:
    assert verdict(line, RULE) == "ask"


def test_a_link_counts_as_its_target() -> None:
    assert verdict("rm -rf build/x", RULE, build__x="/home/ada/other") != "allow"
    assert verdict("rm -rf build/x", RULE, "deny edit build/x/keep/**") == "deny"
    assert verdict("rm -rf build/.git", RULE) == "deny"
