"""docs/policy.md and docs/program-tables.md say what the code does: tables are checked cell by cell, TOML is loaded."""

import re
from pathlib import Path
from typing import get_args

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.catalog import catalog_schema
from tui_agent.policy.catalog.catalog import Catalog, Layer
from tui_agent.policy.catalog.catalog_schema import Option, Program
from tui_agent.policy.decision.call_classes import CLASSES
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import load_rules
from tui_agent.policy.decision.table_check import check_table_path
from tui_agent.policy.rules.grammar import RULE_KINDS, parse_rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.settings import POLICIES, PolicyName

FOLDER = Path(__file__).parents[3] / "docs"
DOCS = (FOLDER / "policy.md").read_text(encoding="utf-8")
TABLES = (FOLDER / "program-tables.md").read_text(encoding="utf-8")
KEYS = (FOLDER / "program-keys.md").read_text(encoding="utf-8")
VERDICTS = {"yes": "allow", "asks": "ask", "asks, no is the default": "ask", "no": "deny"}
VERDICTS |= {"asks, unless `/undo` can restore it (see *Deleting*)": "ask"}
ROWS: dict[str, list[Effect]] = {
    "reading in the workspace": [ReadEffect(path="a")],
    "commands that are proven to only read the workspace": [
        RunEffect(script="ls"),
        RunEffect(script="git log | head"),
    ],
    "writing in the workspace by a tool for files": [WriteEffect(path="a")],
    "deleting a file in the workspace": [WriteEffect(path="a", removes=True), RunEffect(script="rm a")],
    "a command that writes or runs code, or is not known": [
        RunEffect(script="touch a"),
        RunEffect(script="make"),
        RunEffect(script="unknown"),
    ],
    "the network": [NetworkEffect(host="example.org"), RunEffect(script="curl example.org")],
    "reading or writing outside the workspace": [ReadEffect(path="/srv/a"), WriteEffect(path="/home/b/a")],
    "a line outside the subset of bash": [RunEffect(script="ls \\\n src"), RunEffect(script="echo $((1+1))")],
    "a line that hides which program runs": [RunEffect(script="$CMD a"), RunEffect(script="cat a | sh")],
    "what the guards refuse": [
        ReadEffect(path=".env"),
        WriteEffect(path=".git/config"),
        RunEffect(script="rm -rf ~"),
    ],
}


def judged(
    effect: Effect, *rules: str, policy: PolicyName = "ask", catalog: Catalog | None = None
) -> Decision:
    facts = PolicyFacts("/home/ada/ws", policy)
    return RulePolicy(rules, catalog=catalog).decide("t", (effect,), facts)


def tables(columns: int) -> dict[str, list[str]]:
    """The rows of all tables with so many columns."""
    lines = [line for line in DOCS.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {row[0]: row[1:] for row in cells if len(row) == columns and row[0]}


@rows("row", list(ROWS))
def test_the_table_of_profiles_is_true(row: str) -> None:
    for policy, cell in zip(POLICIES, tables(5)[row], strict=True):
        for effect in ROWS[row]:
            found = judged(effect, policy=policy)
            assert found.verdict == VERDICTS[cell], (policy, effect)
            assert not cell.endswith("default") or found.default_no


def test_every_row_of_the_table_of_profiles_is_tried() -> None:
    assert set(tables(5)) == set(ROWS)


def test_the_first_example_shows_what_the_command_prints() -> None:
    line = re.search(r"--explain -- '(.*)'", DOCS)
    assert line is not None
    shown = DOCS.partition("```\n$")[2].partition("\n```")[0].splitlines()[5:]
    facts = PolicyFacts("/home/ada/ws", "ask")
    found = RulePolicy().explain("run_command", (RunEffect(script=line[1]),), facts)
    assert [f"  {reason}" for reason in found] == shown


INSIDE = [
    "a | b && c || d; ! e", "(ls)", "{ ls; }", "cat <<'END'\nx\nEND", "cat <<< a", "for f in a b; do ls $f; done",
    "while ls; do ls; done", "until ls; do ls; done", "if ls; then ls; fi", "x=src; ls $x", "ls {a,b} ~ *.py", "x=a/b; ls ${x##*/} ${x%b} ${y:-c}",
    "wc -l $(git ls-files)",
]  # fmt: skip
OUTSIDE = [
    "ls \\\n src", "\\ls", "echo $((1+1))", "((x=1))", "a=(b)", "case x in x) ls;; esac", "select x in a; do ls; done",
    "f() { ls; }; f", "echo ${x/y/z}", "ls \u202ea", f"ls{' ' * 90}a", "echo " + "a" * 10_000,
]  # fmt: skip


@rows("line, inside", [*((line, True) for line in INSIDE), *((line, False) for line in OUTSIDE)])
def test_the_subset_of_bash_is_as_listed(line: str, inside: bool) -> None:
    found = RulePolicy().explain("run_command", (RunEffect(script=line),), PolicyFacts("/home/ada/ws", "ask"))
    outside = any(reason.startswith("uses bash syntax") for reason in found)
    assert outside is not inside


def test_every_class_has_an_example_of_it() -> None:
    for name in CLASSES:
        _, example = tables(3)[f"`{name}`"]
        assert name in judged(RunEffect(script=example.strip("`"))).classes, name


def test_the_rules_that_are_shown_are_rules() -> None:
    block = re.search(r"One line each:\n\n```\n(.*?)```", DOCS, re.DOTALL)
    assert block is not None
    lines = [line.split("   ")[0] for line in block[1].splitlines()]
    assert {parse_rule(line).kind for line in lines} == set(RULE_KINDS)


def blocks(page: str) -> list[str]:
    return re.findall(r"```toml\n(.*?)```", page, re.DOTALL)


def test_the_rule_file_that_is_shown_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(blocks(DOCS)[0], encoding="utf-8")
    assert [rule.text for rule in load_rules(path)] == ["allow run pytest *", "deny read private/**"]


def test_the_table_of_a_new_program_is_valid_and_works(tmp_path: Path) -> None:
    path = tmp_path / "programs.toml"
    path.write_text(blocks(TABLES)[0], encoding="utf-8")
    assert check_table_path(path) == []
    catalog = Catalog([Layer("user", "programs.toml", blocks(TABLES)[0])])
    assert judged(RunEffect(script="showlog --utc a.log | head"), catalog=catalog).verdict == "allow"
    assert judged(RunEffect(script="showlog .env"), catalog=catalog).verdict == "deny"


def test_a_projects_table_only_adds_effects() -> None:
    catalog = Catalog([Layer("project", ".tui_agent/programs.toml", blocks(TABLES)[1])])
    assert "network" in judged(RunEffect(script="make test"), catalog=catalog).classes
    assert judged(RunEffect(script="git log"), catalog=catalog).verdict == "ask"
    assert judged(RunEffect(script="git status"), catalog=catalog).verdict == "allow"


def test_every_key_effect_and_meaning_of_a_table_is_listed() -> None:
    listed = set(re.findall(r"`([^`]+)`", KEYS + TABLES.partition("## Effects")[2]))
    keys = {*Program.model_fields, *Option.model_fields}
    effects = {effect.value for effect in catalog_schema.Effect}
    assert keys | effects | set(get_args(catalog_schema.Meaning)) <= listed


def test_deny_rules_mean_what_their_table_lists() -> None:
    found = {rule.strip("`"): cells[0] for rule, cells in tables(2).items() if rule.startswith("`deny ")}
    assert len(found) == 5
    for rule, others in found.items():
        for other in re.findall(r"`([^`]+)`", others):
            effect: Effect = RunEffect(script=other)
            if "connect 127" in rule:
                effect = NetworkEffect(host=other)
            elif "read" in rule and " " not in other:
                effect = ReadEffect(path=other)
            assert judged(effect, rule, policy="bypass").verdict == "deny", (rule, other)


def test_less_sure_meanings_of_rules_are_asked_about() -> None:
    part = DOCS.partition("but less surely")[2].partition("A rule cannot stop")[0]
    lines = re.findall(r"`([^`]+)`", part)
    assert len(lines) == 9
    for line in lines:
        rules = ("deny read private/**", "deny edit keep/**", "deny run git push *")
        assert judged(RunEffect(script=line), *rules, policy="bypass").verdict == "ask", line


@pytest.mark.parametrize(("script", "rule"), re.findall(r"`([^`]+)` becomes\s+`([^`]+)`", DOCS))
def test_the_rules_that_are_said_to_be_offered_are(script: str, rule: str) -> None:
    assert judged(RunEffect(script=script)).choices[2].rule == f"allow {rule}"
