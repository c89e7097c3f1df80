"""Doubts about names of files are taken away where no name in the workspace is such a one."""

from tests.stubs.rows import rows
from tui_agent.policy.decision.assumptions import settle_doubts
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, Doubt, LineReport, Value
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect


def is_settled(
    name: str, pattern: str, cwd: str = "", *, splits: bool = False, **names: tuple[str, ...]
) -> bool:
    """Settle one doubt about a pattern in a workspace with these names."""
    value = Value(pattern, Certainty.BOUNDED, pattern, many=True, names_files=True, splits=splits)
    doubt = Doubt(name, "…", value=value)  # type: ignore[arg-type]
    line = LineReport("x", (CommandReport("x", (), doubts=(doubt,)),))
    facts = PolicyFacts("/home/ada/timesheet", "ask", **names)  # type: ignore[arg-type]
    return not settle_doubts(RunEffect(script="x", cwd=cwd), line, facts).commands[0].doubts


@rows(
    "pattern, cwd, name, settled",
    [
        ("*", "", "-x", False),
        ("*", "", "@names", False),
        ("*.py", "", "-x", True),
        ("*.py", "", "-x.py", False),
        ("*", "", "src/-x", True),
        ("*", "src", "src/-x", False),
        ("*", "src", "-x", True),
        ("src/*", "", "src/-x", True),
        ("*/names", "", "--files0-from=/", False),
        ("*/names", "", "--files0-from=", True),
        ("*/names", "", "src/-x", True),
        ("**", "", "-x", False),
        ("**", "", "src/-x", True),
        ("../*", "src", "-x", True),
    ],
)  # fmt: skip
def test_only_a_name_that_a_word_begins_with_may_be_an_option(
    pattern: str, cwd: str, name: str, settled: bool
) -> None:
    assert is_settled("option-like", pattern, cwd, option_names=(name,)) is settled
    assert is_settled("option-like", pattern, cwd)


@rows(
    "pattern, splits, name, settled",
    [
        ("*", False, "a b", True),
        ("*", True, "a b", False),
        ("*", True, "it's", False),
        ("*", False, "HEAD:.env", False),
        ("*", False, "a?", False),
        ("*.py", False, "HEAD:.env", True),
        ("*", False, "src/a:b", True),
        ("*", True, "src/a b", True),
        ("**", True, "src/a b", False),
        ("**/*.py", True, "my docs", True),
        ("**/*.py", True, "my docs/", False),
        ("src/*.py", True, "my docs/", True),
        ("src/**", False, "src/a:b", False),
    ],
)
def test_names_that_mean_something_else_keep_doubts_about_values(
    pattern: str, splits: bool, name: str, settled: bool
) -> None:
    assert is_settled("value", pattern, splits=splits, odd_names=(name,)) is settled
    assert is_settled("value", pattern, splits=splits)


def test_a_word_that_is_split_may_be_an_option_behind_a_blank() -> None:
    assert not is_settled("option-like", "**", splits=True, odd_names=("a -x",))
    assert is_settled("option-like", "**", odd_names=("a -x",))


@rows(
    "name, pattern, cwd, splits, settled",
    [
        ("option-like", "*", "", True, True),
        ("option-like", "**", "", True, False),
        ("option-like", "*/*.js", "", True, True),
        ("option-like", "app/*/*.js", "", True, False),
        ("option-like", "app/*/*.js", "", False, True),
        ("option-like", "*", "app/node_modules/x", False, False),
        ("value", "app/*/*.js", "", False, False),
        ("value", "*", "", False, True),
    ],
)
def test_folders_in_which_nobody_looked_keep_doubts(
    name: str, pattern: str, cwd: str, splits: bool, settled: bool
) -> None:
    assert is_settled(name, pattern, cwd, splits=splits, unscanned=("app/node_modules",)) is settled


def test_a_word_that_stands_for_other_texts_than_names_keeps_its_doubt() -> None:
    value = Value("$x", Certainty.BOUNDED, "*", may_be_option=True)
    line = LineReport("x", (CommandReport("x", (), doubts=(Doubt("option-like", "…", value=value),)),))
    assert settle_doubts(RunEffect(script="x"), line, PolicyFacts("/home/ada/timesheet", "ask")) == line
    outside = Value("/etc/*", Certainty.BOUNDED, "/etc/*", names_files=True)
    line = LineReport("x", (CommandReport("x", (), doubts=(Doubt("value", "…", value=outside),)),))
    assert settle_doubts(RunEffect(script="x"), line, PolicyFacts("/home/ada/timesheet", "ask")) == line
