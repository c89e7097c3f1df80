"""Any text at all as a command line: no exception, and nothing that bash could run is hidden from the judgement."""

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.stubs.left_out import leave_out
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.shell.line import analyse
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

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


def allowed(script: str) -> bool:
    return RulePolicy().decide("run_command", (Runs(script=script),), FACTS).verdict == "allow"


@st.composite
def changed(draw: st.DrawFn) -> str:
    """A good line with something put into it, or taken out."""
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


def hold(script: str) -> None:
    """What is never to happen, whatever the script is."""
    found = analyse(script)
    good = allowed(script)
    assert not (good and found.problems)
    assert not allowed(f"rm x\n{script}")
    if "<<" not in script and "#" not in script and not script.endswith("\\"):
        assert not allowed(f"{script}\nrm x")
    if good:
        assert not allowed(f"{{ {script}\n}} > out") or "<<" in script


@settings(max_examples=1000, suppress_health_check=QUIET)
@given(SCRIPTS)
def test_no_text_is_judged_otherwise_than_it_would_run(script: str) -> None:
    hold(script)


@settings(max_examples=150, suppress_health_check=QUIET)
@given(st.one_of(changed(), st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join)))
def test_what_is_allowed_is_a_script_for_bash(script: str) -> None:
    assume(allowed(script) and "[[" not in script)
    checked(script)


def checked(script: str) -> None:
    """Bash itself reads it without complaint. Inside `[[` the grammar is more lenient: what bash refuses, it does not run."""
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
        hold(script)
        if count % 50 == 0 and "[[" not in script and allowed(script):
            checked(script)

    run()
    print(f"{count} texts")
