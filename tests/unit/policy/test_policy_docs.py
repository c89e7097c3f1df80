"""docs/policy.md says what the code does: its table of profiles is checked cell by cell, its rules are parsed."""

import re
from pathlib import Path

import pytest

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.programs.layers import ProgramLayer, merged
from tui_agent.policy.decision.rule_file import load_rules
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.policy.shell.script import CLASSES
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Reads, Runs, Writes
from tui_agent.protocol.settings import POLICIES

DOCS = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
SAYS = {"yes": "allow", "asks": "ask", "asks, no is the default": "ask", "no": "deny"}
ROWS: dict[str, list[Effect]] = {
    "reading in the workspace": [Reads(path="a")],
    "commands that only read in the workspace": [Runs(script="ls")],
    "writing in the workspace": [Writes(path="a")],
    "removing a file in the workspace": [Writes(path="a", removes=True)],
    "any other command": [Runs(script="make"), Runs(script="unknown")],
    "the network": [Connects(host="example.org"), Runs(script="curl example.org")],
    "reading or writing outside the workspace": [Reads(path="/srv/a"), Writes(path="/home/b/a")],
    "a command line that cannot be read with certainty": [Runs(script="if"), Runs(script="for")],
    "what the guards refuse": [Reads(path=".env"), Writes(path=".git/config"), Runs(script="rm -rf ~")],
}


def table() -> dict[str, list[str]]:
    lines = [line for line in DOCS.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells if len(row) == 5 and row[0]}


@pytest.mark.parametrize("row", sorted(ROWS))
def test_the_table_of_profiles_is_true(row: str) -> None:
    said = table()[row]
    for policy, cell in zip(POLICIES, said, strict=True):
        for effect in ROWS[row]:
            found = RulePolicy().decide("t", (effect,), PolicyFacts("/home/ada/ws", policy))
            assert found.verdict == SAYS[cell], (policy, effect)
            assert not cell.endswith("default") or found.default_no


def test_every_row_of_the_table_is_tried() -> None:
    assert set(table()) == set(ROWS)


def test_the_rules_that_are_shown_are_rules() -> None:
    block = re.search(r"One line each:\n\n```\n(.*?)```", DOCS, re.DOTALL)
    assert block is not None
    lines = [line.split("   ")[0] for line in block[1].splitlines()]
    assert {parse_rule(line).what for line in lines} == {
        "edit",
        "remove",
        "read",
        "run",
        "exact",
        "connect",
        "tool",
    }


def files() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL)


def test_the_file_that_is_shown_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(files()[0], encoding="utf-8")
    assert [rule.text for rule in load_rules(path)] == ["allow run pytest *"]


def test_the_tables_of_programs_that_are_shown_do_what_is_said_of_them() -> None:
    user = ProgramLayer("user", "programs.toml", files()[1])
    project = ProgramLayer("project", ".tui_agent/programs.toml", files()[2])
    policy = RulePolicy(programs=merged([user, project]))
    facts = PolicyFacts("/home/ada/ws", "ask")

    def judged(script: str) -> Decision:
        return policy.decide("run_command", (Runs(script=script),), facts)

    assert judged("MY_PAGER_WIDTH=80 showlog -n 5 app.log").verdict == "allow"
    assert "network" in judged("make deploy").classes and "network" not in judged("make test").classes
    assert judged("git log").verdict == "ask" and judged("git status").verdict == "allow"
    assert not judged("make test").choices[2].offered


def test_what_the_rules_are_said_to_mean_they_mean() -> None:
    rows = [line.strip("| ").split(" | ") for line in DOCS.splitlines() if line.startswith("| `deny ")]
    assert len(rows) == 5
    said = {row[0].strip("` "): re.findall(r"`([^`]+)`", row[1]) for row in rows}
    for rule, others in said.items():
        what = rule.split()[1]
        for other in others:
            if other == "private" or other.startswith("deny "):
                continue
            path = what == "read" and " " not in other
            effect: Effect = Reads(path=other) if path else Runs(script=other)
            if rule == "deny connect 127.0.0.1":
                effect = Connects(host=other)
            found = RulePolicy([rule]).decide("t", (effect,), PolicyFacts("/home/ada/ws", "bypass"))
            assert found.verdict == "deny", (rule, other)
    lock = RulePolicy(["deny edit **/*.lock"])
    facts = PolicyFacts("/home/ada/ws", "bypass")
    assert lock.decide("t", (Runs(script="rm -r src"),), facts).verdict == "ask"


def test_the_shapes_that_are_said_to_be_offered_are() -> None:
    for script, rule in re.findall(r"`([^`]+)` becomes\s+`([^`]+)`", DOCS):
        found = RulePolicy().decide("t", (Runs(script=script),), PolicyFacts("/home/ada/ws", "ask"))
        assert found.choices[2].rule == f"allow {rule}", script


def test_every_class_is_explained() -> None:
    assert all(f"| `{name}` |" in DOCS for name in CLASSES)


def test_what_is_said_to_be_asked_about_where_rules_deny_is() -> None:
    told = DOCS.partition("What can be told only less surely")[2].partition("No rule is promised")[0]
    lines = [
        line for line in re.findall(r"`([^`]+)`", told.replace("\n  ", " ")) if " " in line or "$" in line
    ]
    policy = RulePolicy(["deny read private/**", "deny edit keep/**", "deny run git push *"])
    asked = [line for line in lines if line != "rg -g '!private'"]
    assert len(asked) > 20
    for line in asked:
        found = policy.decide("t", (Runs(script=line),), PolicyFacts("/home/ada/ws", "bypass"))
        assert found.verdict == "ask", line
