"""What a project's own rules may say: more caution, and fewer questions about work in its folder only."""

from pathlib import Path

import pytest

from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import all_rules
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect, RunEffect, WriteEffect

PROJECT = Path("/home/ada/ws/.tui_agent/policy.toml")


def judged(effect: Effect, text: str, tmp: Path = Path("/nowhere")) -> str:
    rules = all_rules(tmp / "policy.toml", PROJECT, text)
    return RulePolicy(rules).decide("t", (effect,), PolicyFacts("/home/ada/ws", "ask")).verdict


@pytest.mark.parametrize(
    ("rule", "script", "expected"),
    [
        ("pytest *", "pytest -q tests", "allow"),
        ("npm run test *", "npm run test -- a", "allow"),
        ("curl *", "curl https://example.org", "ask"),
        ("sudo *", "sudo make", "ask"),
        ("rm *", "rm -r build", "ask"),
        ("./tool *", "./tool x", "ask"),
        ("python *", "python -c 'print(1)'", "ask"),
        ("pip install *", "pip install x", "ask"),
        ("pytest *", "pytest $X", "ask"),
        ("git push *", "git push", "ask"),
        ("pytest *", "cd ../other && pytest", "ask"),
        ("cat *", "cat ../other/notes.txt", "ask"),
    ],
)
def test_a_project_allows_commands_that_work_on_it_and_no_others(
    rule: str, script: str, expected: str
) -> None:
    assert judged(RunEffect(script=script), f"[[rule]]\nallow = 'run {rule}'") == expected


def test_a_project_allows_edits_of_its_own_files() -> None:
    assert judged(WriteEffect(path="src/a"), "[[rule]]\nallow = 'edit src/**'") == "allow"
    assert judged(WriteEffect(path=".tui_agent/policy.toml"), "[[rule]]\nallow = 'edit **'") == "deny"


@pytest.mark.parametrize(
    "rule",
    [
        "connect example.org",
        "tool mcp_*",
        "exact make",
        "remove build/**",
        "edit /home/ada/**",
        "read /home/ada/**",
    ],
)
def test_a_projects_rule_that_reaches_further_is_refused_with_its_place(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"policy\.toml, rule 1 is not allowed in a project"):
        judged(WriteEffect(path="a"), f"[[rule]]\nallow = '{rule}'")
    assert judged(WriteEffect(path="a"), f"[[rule]]\ndeny = '{rule}'") in ("ask", "deny")


def test_a_projects_rules_that_deny_or_ask_win_over_the_users(tmp_path: Path) -> None:
    user = tmp_path / "policy.toml"
    user.write_text("[[rule]]\nallow = 'run pytest *'\n[[rule]]\nallow = 'edit src/**'\n", encoding="utf-8")
    text = "[[rule]]\ndeny = 'run pytest *'\n[[rule]]\nask = 'edit src/**'"
    assert judged(RunEffect(script="pytest"), text, tmp=tmp_path) == "deny"
    assert judged(WriteEffect(path="src/a"), text, tmp=tmp_path) == "ask"
