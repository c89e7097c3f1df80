"""A table that somebody wrote is checked with line numbers, and any text is answered."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.catalog_schema import Decision
from tui_agent.policy.decision.table_check import Problem, check_table
from tui_agent.policy.interpreter.line import read_line
from tui_agent.protocol.effects import RunEffect

GOOD = """
# Shows the log of our servers.
[programs.showlog]
about = "Shows a log."
effects = ["reads"]
flags = ["-f"]
operands = ["read"]
reads_below = false

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
    commands = read_line(RunEffect(script=line), catalog).commands
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
        ('"number"', '"digits"', "my.toml:11", "programs.showlog.options.-n.means: input should be"),
        ('["-f"]', '"-f"', "my.toml:6", 'programs.showlog.flags: write a list: ["-f"]'),
        ('["-f"]', '["f"]', "my.toml:6", "programs.showlog.flags.f: f is not an option"),
        (
            '"read"]',
            '"reading"]',
            "my.toml:7",
            "programs.showlog.operands.0: write one of 'text', 'number'",
        ),
        ('about = "Shows all."', "effects = []", "my.toml:13", "subcommands.all.about: this key is missing"),
        ("[programs.showlog]", "[program.showlog]", "my.toml:3", "this key is not known"),
        ('decision = "ask"', 'decision = "no"', "my.toml:19", "examples.1.decision: input should be"),
        (
            'line = "showlog --delete',
            'line = "showlog -n x',
            "my.toml:17",
            "is ask, but for another reason than '--delete'",
        ),
        ('"-n" = "number"', "", "my.toml:13", "should be allow, not ask: -n of showlog is not known"),
        ('about = "Shows a log."', 'about = "Shows a log.', "my.toml:4", "it is not valid TOML"),
        ('"-n" = "number"', '"-n" = { means = "number", repeats = "false" }', "my.toml:11", "valid boolean"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, place: str, reason: str) -> None:
    start, subcommand = GOOD.split("[programs.showlog.sub")
    text = start
    if "subcommands" in reason:
        text = start.split("[[programs.showlog.examples")[0] + "[programs.showlog.sub" + subcommand
    assert old in text
    problems = check(text.replace(old, new))
    assert [problem.place for problem in problems] == [place]
    assert reason in problems[0].reason


def test_all_wrong_keys_are_told_at_once() -> None:
    text = '[programs.a]\nabout = "a"\nx = 1\n[programs.b]\nabout = "b"\ny = 1\nz = 1\n'
    assert [problem.place for problem in check(text)] == ["my.toml:3", "my.toml:6", "my.toml:7"]


def test_wrong_keys_do_not_hide_failing_examples_of_other_programs() -> None:
    start = GOOD.split("[programs.showlog.sub")[0].replace('"ask"', '"allow"')
    problems = check(
        f"{start}[programs.a]\nabout = 'a'\nx = 1\n[programs.b]\nabout = 'b'\nflags = ['c', 'd']\n"
    )
    assert [problem.place for problem in problems] == ["my.toml:24", "my.toml:27", "my.toml:17"]


def test_operands_that_read_need_reads_below_and_examples_are_tried_all_the_same() -> None:
    text = (
        GOOD.split("[programs.showlog.sub")[0]
        .replace("reads_below = false\n", "")
        .replace('"ask"', '"allow"')
    )
    below, example = check(text)
    assert below == Problem(
        "my.toml:3",
        "programs.showlog: reads_below is missing: write true if the program reads everything below its folder "
        "arguments, else false",
    )
    assert example.place == "my.toml:16"


def test_a_wrong_entry_hides_the_faults_of_those_that_are_like_it() -> None:
    text = "[programs.a]\nabout = 'a'\nx = 1\n[programs.b]\nabout = 'b'\nlike = 'a'\n[programs.c]\nabout = 'c'\nlike = []\n"
    assert [problem.place for problem in check(text)] == ["my.toml:3", "my.toml:9"]


PROJECT = "[programs.make]\neffects = ['connects']\nwhy = 'it deploys'\n[programs.git.subcommands.log]\neffects = []\n"


@rows(
    "source, text, found",
    [
        ("my.toml", PROJECT, []),
        ("work/.tui_agent/programs.toml", "[programs.make]\neffects = ['connects']", []),
        (
            "my.toml",
            f"{PROJECT}flags = []\nprints = 'x'",
            [
                ":6 programs.git.subcommands.log.flags: this key is not allowed: for a known program, a table can only add effects",
                ":7 programs.git.subcommands.log.prints: this key is not allowed",
            ],
        ),
        (
            "my.toml",
            PROJECT.replace("['c", "'").replace("s']", "'"),
            [":2 programs.make.effects: write a list"],
        ),
    ],
)
def test_a_projects_table_is_known_by_its_keys_or_its_folder(
    source: str, text: str, found: list[str]
) -> None:
    problems = check_table(text, source, judge)
    assert len(problems) == len(found)
    for problem, expected in zip(problems, found, strict=True):
        assert f"{problem.place.removeprefix(source)} {problem.reason}".startswith(expected)


@rows(
    "text, reason",
    [
        ("", "the table is empty"),
        ("# x", "the table is empty"),
        ("[programs]", "the table is empty"),
        ("[programs.a]\nabout = 'a'", "the table has no examples"),
    ],
)
def test_a_table_without_programs_or_examples_says_so(text: str, reason: str) -> None:
    assert check(text) == [Problem("my.toml", reason)]


def test_variables_that_a_table_calls_harmless_count_for_its_examples() -> None:
    assert check("[environment]\nharmless = ['MY_WIDTH']") == []
    start = GOOD.split("[programs.showlog.sub")[0].replace('"showlog -n 5', '"MY_WIDTH=3 showlog -n 5')
    assert [problem.place for problem in check(start)] == ["my.toml:13"]
    assert check(f"{start}\n[environment]\nharmless = ['MY_WIDTH']") == []


@pytest.mark.parametrize(
    "text",
    ["x" * 10_000_000, "[" * 100_000, "a." * 50_000 + "a = 1", "\0", "\ufeff", "[programs]\n" + "a = 1\n" * 9,
     "[programs.x]\nabout = 'x'\nexamples = 3", "programs.x.examples = [1]", "'''" * 1000],
    ids=["10 MB", "brackets", "dots", "NUL", "BOM", "twice", "no list", "no table", "quotes"],
)  # fmt: skip
def test_any_text_is_answered_with_a_problem(text: str) -> None:
    assert check(text)


def test_an_option_whose_word_is_read_needs_reads_below() -> None:
    table = """[programs.x]
about = "x"
effects = ["reads"]
options = { "-f" = "read" }
examples = [{ line = "x -f a", decision = "allow" }]
"""
    assert [problem.reason.partition(":")[0] for problem in check(table)] == ["programs.x"]
    assert check(f"{table}reads_below = false\n") == []
