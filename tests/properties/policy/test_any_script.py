"""Any text at all as a command line: no exception, and no command that bash would run is hidden from the policy."""

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.left_out import leave_out
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal
from tui_agent.policy.catalog.catalog import built_in_catalog
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.interpreter.line import read_line
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

PIECES = [
    "ls", "cat a", "rm x", "git log", "git push", "-rf", "-la", "--output=x", ".env", "~", "/", "$X", "${X:-a}", "${a[1]}", "${#a}",
    "$(", ")", "`", "'", '"', "$'", '$"', "\\", "\n", ";", "&&", "||", "|", "|&", "&", ">", "<", ">>", "<>", "<<<", "<<E\n", "<<-E\n",
    "<<'E'\n", "\nE\n", "(", ")", "{", "}", "{a,b}", "{1..3}", "[[", "]]", "[", "]", "if", "then", "else", "fi", "for", "in", "do", "done",
    "while", "read f", "case", "esac", "a)", ";;", "*", "?", "!", "#", "=", "x=1", "x=$(", "f()", "f", "function", "echo", "eval", "export",
    "$((", "))", "((", "1+", "$[", "<(", ">(", "coproc", "select", "time", "xargs", "find .", "-exec", "\\;", "+", "sed", "s/a/b/e", "awk",
    "{print}", "~+", "@", "%", "^", ",", ":", " ", "\t", "\r", "\0", "é", "\u202e", "\u00a0", "\ud800", "\U0001f600",
]  # fmt: skip
SEEDS = [
    "for f in *.py; do wc -l \"$f\"; done", "cat <<'E' | wc -l\nx $(y)\nE", "find . -name '*.py' | while read -r f; do wc -l \"$f\"; done",
    "x=$(git rev-parse HEAD); echo $x", "awk '{print $1 > 2}' a", "sed -n '1,5p' a", "diff <(sort a) <(sort b)", "f() { head \"$1\"; }; f a",
    "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", "case a in a) ls;; *) pwd;; esac", "[[ -f a && b == c ]] && cat a",
    "cat src/{a,b}.py", "bash -c 'ls | wc -l'", "jq -r '.a | \"\\(.b)\"' a", "tar tzf a.tgz", "arr=(a b); echo ${arr[@]}", "ls \\\n -la",
]  # fmt: skip
FACTS = PolicyFacts("/home/ada/ws", "ask")
QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture)
MANY = int(os.environ.get("SCRIPTS", "100000"))
"""Texts of the soak test; the other tests try a few hundred of the same kinds."""


def allowed(script: str) -> bool:
    return RulePolicy().decide("run_command", (RunEffect(script=script),), FACTS).verdict == "allow"


@st.composite
def changed(draw: st.DrawFn) -> str:
    """Return a good line with something put in or taken out."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.integers(0, 3))
        text = text[:at] + draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.characters())) + text[end:]
    return text


SCRIPTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    changed(),
)


def check_script(script: str) -> None:
    """Check all that holds for every text."""
    line = read_line(RunEffect(script=script), built_in_catalog())
    good = allowed(script)
    assert line.refusal or not isinstance(parse_script(script), Refusal)
    assert not (good and line.refusal)
    assert not allowed(f"rm x\n{script}")
    if "<<" not in script and "#" not in script and not script.endswith("\\"):
        assert not allowed(f"{script}\nrm x")
    if good:
        assert not allowed(f"{{ {script}\n}} > out") or "<<" in script


@pytest.mark.slow
@settings(max_examples=example_count(400), suppress_health_check=QUIET)
@given(SCRIPTS)
def test_every_text_is_judged_and_rm_beside_it_is_never_allowed(script: str) -> None:
    check_script(script)


@pytest.mark.slow
@settings(max_examples=example_count(60), suppress_health_check=QUIET)
@given(st.one_of(changed(), st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join)))
def test_an_allowed_text_is_a_script_for_bash(script: str) -> None:
    assume(allowed(script))
    check_with_bash(script)


def check_with_bash(script: str) -> None:
    """Check that bash itself reads the text without complaint."""
    bash = shutil.which("bash")
    if bash is None:
        leave_out("bash is not installed")
    done = subprocess.run([bash, "-n"], input=script.encode(), capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, (script, done.stderr)
    assert not done.stderr, (script, done.stderr)


@pytest.mark.soak
def test_a_hundred_thousand_texts() -> None:
    count = 0

    @settings(max_examples=MANY, suppress_health_check=QUIET, database=None)
    @given(SCRIPTS)
    def run(script: str) -> None:
        nonlocal count
        count += 1
        check_script(script)
        if count % 50 == 0 and allowed(script):
            check_with_bash(script)

    run()
    assert count >= MANY
