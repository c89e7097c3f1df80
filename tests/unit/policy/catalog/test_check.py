"""A table that somebody wrote is checked with line numbers, and any text is answered."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.check import Problem, check_table
from tui_agent.policy.catalog.model import Decision
from tui_agent.policy.interpreter.line import read_line
from tui_agent.protocol.effects import Runs

GOOD = """
# Shows the log of our servers.
[programs.showlog]
about = "Shows a log."
effects = ["reads"]
flags = ["-f"]
operands = ["read"]

[programs.showlog.options]
"-n" = "number"

[[programs.showlog.examples]]
line = "showlog -n 5 a.log"
decision = "allow"

[[programs.showlog.examples]]
line = "showlog --delete a.log"
decision = "ask"
because = "--delete"

[programs.showlog.subcommands.all]
about = "Shows all."
"""


def judge(line: str, catalog: Catalog) -> tuple[Decision, str]:
    commands = read_line(Runs(script=line), catalog).commands
    doubts = [doubt.reason for command in commands for doubt in command.doubts]
    return ("ask" if doubts else "allow"), "; ".join(doubts)


def check(text: str) -> list[Problem]:
    return check_table(text, "my.toml", judge)


def test_a_good_table_has_no_problem() -> None:
    assert check(GOOD.replace("subcommands.all", 'subcommands."all"').split("[programs.showlog.sub")[0]) == []


@rows(
    "old, new, place, reason",
    [
        ('flags = ["-f"]', 'flag = ["-f"]', "my.toml:6", "programs.showlog.flag: this key is not known"),
        ('["reads"]', '["reeds"]', "my.toml:5", "programs.showlog.effects.0: input should be"),
        ('"number"', '"digits"', "my.toml:10", "programs.showlog.options.-n.means: input should be"),
        ('["-f"]', '"-f"', "my.toml:6", "programs.showlog.flags: input should be a valid tuple"),
        ('["-f"]', '["f"]', "my.toml:6", "programs.showlog.flags.f: f is not an option"),
        ('"read"]', '"reading"]', "my.toml:7", 'programs.showlog.operands.0: "reading" is not a meaning'),
        ('about = "Shows all."', "effects = []", "my.toml:21", "subcommands.all.about: this key is missing"),
        ("[programs.showlog]", "[program.showlog]", "my.toml:3", "this key is not known"),
        ('decision = "ask"', 'decision = "no"', "my.toml:18", "examples.1.decision: input should be"),
        (
            'line = "showlog --delete',
            'line = "showlog -n x',
            "my.toml:16",
            "should be ask because '--delete'",
        ),
        ('"-n" = "number"', "", "my.toml:12", "should be allow, not ask: -n of showlog is not known"),
        ('about = "Shows a log."', 'about = "Shows a log.', "my.toml:4", "it is not valid TOML"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, place: str, reason: str) -> None:
    text = GOOD if "subcommands" in reason else GOOD.split("[programs.showlog.sub")[0]
    assert old in text
    problems = check(text.replace(old, new))
    assert [problem.place for problem in problems] == [place]
    assert reason in problems[0].reason


def test_all_wrong_keys_are_told_at_once() -> None:
    text = '[programs.a]\nabout = "a"\nx = 1\n[programs.b]\nabout = "b"\ny = 1\nz = 1\n'
    assert [problem.place for problem in check(text)] == ["my.toml:3", "my.toml:6", "my.toml:7"]


@pytest.mark.parametrize(
    "text",
    ["x" * 10_000_000, "[" * 100_000, "a." * 50_000 + "a = 1", "\0", "\ufeff", "[programs]\n" + "a = 1\n" * 9,
     "[programs.x]\nabout = 'x'\nexamples = 3", "programs.x.examples = [1]", "'''" * 1000],
    ids=["10 MB", "brackets", "dots", "NUL", "BOM", "twice", "no list", "no table", "quotes"],
)  # fmt: skip
def test_any_text_is_answered_with_a_problem(text: str) -> None:
    assert check(text)
