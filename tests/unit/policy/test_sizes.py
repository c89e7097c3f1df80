"""However long, deep or odd a command line is, it is judged with little work, and a rule that denies is heard."""

import cProfile
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, verdict
from tui_agent.policy.bash.tree_check import parse_tree
from tui_agent.policy.decision.fork_bombs import starts_without_end
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

LONG = {
    "parts": "; ".join(["true"] * 5000),
    "and": " && ".join(["ls"] * 5000),
    "pipe": "|".join(["cat"] * 2400),
    "folders": "cd a; " * 9900,
    "functions": "f(){ ls; };" + "f;" * 3000,
    "deep functions": "".join(f"f{n}(){{ f{n - 1}; f{n - 1}; }};" for n in range(1, 300)) + "f299",
    "words": "cat $X " + "a " * 4900,
    "removed": "rm " + "a " * 4900,
    "redirections": "ls " + ">a " * 19000,
    "quotes": "echo " + '"a" ' * 14000,
    "braces": "echo " + "{a,b} " * 9000,
    "nested braces": "echo " + "{a," * 3000 + "b" + "}" * 3000,
    "array": "a=(" + "b " * 28000 + ")",
    "sum": "echo $((" + "1+" * 4800 + "1))",
    "expansions": "${" * 29000,
    "substitutions": "$(" * 29000,
    "subshells": "(" * 20000 + "ls" + ")" * 20000,
    "loops": "for a in b; do " * 600 + "ls;" + " done;" * 600,
    "executed": "find . " + "-exec cat {} \\; " * 600,
    "wrapped": "xargs " * 1400,
    "here-documents": "<<a " * 14000,
    "backquotes": "cat <<E\n" + "`ls`\n" * 9900 + "E",
    "nothing": "\0" * 50000,
    "million": "ls;" * 333_333,
    "million words": "a" * 1_000_000,
    "errors": "a|" * 19000,
    "tests": "[[ a " * 7900,
    "variables": "; ".join(f"x{n}=a{n}; cat $x{n}" for n in range(1700)),
    "removals": "; ".join(f"rm src/f{n}.py" for n in range(1900)),
    "searches": "find . -name '*.py' -exec grep -l x {} +; " * 900,
    "letters": "\U0001f600" * 14000,
    "assignments": "x=1 " * 3000,
    "negations": "! " * 3000,
    "timed": "time " * 1980,
    "evaluated": "eval " * 3000,
    "evaluated quotes": "eval '" * 3000,
    "process substitutions": "ls " + "<(" * 3000,
    "closed substitutions": "ls " + "<(" * 1500 + ")" * 1500,
    "closing brackets": ")" * 9900,
    "at signs": "foo@" * 2475,
    "open functions": "f(){ " * 3000,
}


@pytest.mark.slow
@rows("name", [name for name in LONG if name not in ("nothing", "million words")])
def test_a_rule_that_denies_is_heard_in_any_of_them(name: str) -> None:
    facts = PolicyFacts(WORKSPACE, "bypass")
    script = f"git push; {LONG[name]}"
    policy = RulePolicy(["deny run git push *"])
    assert policy.decide("run_command", (RunEffect(script=script),), facts).verdict == "deny"


READ = {
    "listed": "; ".join(["ls"] * 490),
    "removals": "; ".join(f"rm src/f{n}.py" for n in range(240)),
    "folders removed": "; ".join(f"rm -rf src/f{n}" for n in range(240)),
    "searches": "; ".join(["find . -name '*.py' -exec grep -l x {} +"] * 120),
    "subcommands": "; ".join(f"git log a{n}" for n in range(240)),
    "wrapped": "; ".join(f"timeout 5 nice rm a{n}" for n in range(240)),
    "shells": "; ".join(f"sh -c 'rm a{n}'" for n in range(240)),
    "code": "; ".join(f"python -c 'import os; os.remove(\"a{n}\")'" for n in range(190)),
    "fetched": "; ".join(f"npx foo{n}" for n in range(400)),
    "branches": "; ".join(f"if test -f a{n}; then rm a{n}; fi" for n in range(120)),
    "patterns": "; ".join(f"cat s{n}*/x?" for n in range(240)),
    "one command": "cat " + " ".join(f"src/f{n}" for n in range(240)),
}
"""Long lines inside the subset."""

MOST_CALLS = 800_000
STARS = {
    "read": "cat " + " ".join(f"*{n}*x*/*{n}y*" for n in range(240)),
    "removed": "rm " + " ".join(f"src/*{n}*x*/b*{n}y*.py" for n in range(240)),
    "many letters": "cat " + " ".join(f"{'*a' * 12}{n}/{'*b' * 12}" for n in range(150)),
}


def calls_of(act: Callable[[], object]) -> int:
    """How many functions are called, the same on every machine."""
    profile = cProfile.Profile()
    profile.runcall(act)
    return sum(entry.callcount for entry in profile.getstats())


def lines_of(act: Callable[[], object]) -> int:
    """How many lines of Python run, the same on every machine."""
    count = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> object:
        nonlocal count
        count += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@rows("text", ["f(){ " * 3000, "(){ " * 3000, "f(){ f; " * 3000, "while true; do " * 1300])
def test_a_search_for_processes_without_end_passes_each_bracket_once(text: str) -> None:
    assert lines_of(lambda: starts_without_end(text)) < 500_000


@rows("text", [")" * 9900, "\0" * 9900, "foo@" * 2475, "?cp" * 3300])
def test_a_text_that_the_grammar_reads_again_and_again_is_not_parsed(text: str) -> None:
    assert parse_tree(text) is None


MOST_OF_A_LINE = 3_000_000
RULES = ["deny run git push *", "deny edit vendor/**", "ask read private/**", "allow run make *"]


@pytest.mark.slow
@rows("line", [*LONG.values(), *READ.values()])
def test_no_line_is_much_work_to_judge(line: str) -> None:
    """Calls of Python functions; what one call of a parser or a pattern does is bounded by the text that it is given."""
    policy = RulePolicy(RULES)
    facts, runs = PolicyFacts(WORKSPACE, "ask"), (RunEffect(script=line),)
    verdict("ls | head")
    assert calls_of(lambda: policy.decide("run_command", runs, facts)) < MOST_OF_A_LINE


@pytest.mark.slow
@rows("name", LONG)
def test_a_line_that_is_too_long_to_be_read_is_never_allowed(name: str) -> None:
    assert verdict(LONG[name]) == "ask"


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", STARS)
def test_many_patterns_against_many_rules_are_little_work(name: str) -> None:
    rules = [f"deny read *{n}/a*{n}/*.key{n}" for n in range(10)]
    policy = RulePolicy([*rules, *(f"deny edit **/*x{n}*.lock" for n in range(10))])
    verdict("ls | head")
    facts, runs = PolicyFacts(WORKSPACE, "bypass"), (RunEffect(script=STARS[name]),)
    assert calls_of(lambda: policy.decide("run_command", runs, facts)) < MOST_CALLS


def test_a_call_of_many_characters_is_never_allowed() -> None:
    facts = PolicyFacts("/workspace", "plan")
    for effect in (RunEffect(argv=("ls", "a" * 1_000_000)), RunEffect(script="ls " + "a" * 1_000_000)):
        found = RulePolicy().decide("run_command", (effect,), facts)
        assert (found.verdict, found.reason.partition(":")[2]) == (
            "deny",
            " it is longer than 10,000 characters",
        )
