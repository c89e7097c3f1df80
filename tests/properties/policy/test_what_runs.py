"""An allowed line runs only programs that were judged: bash runs it in a folder of its own, with programs that note their names."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.left_out import only_where
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

BASH = shutil.which("bash")
PIECES = [
    "ls", "cat a", ";", "\n", "&&", "||", "|", "&", "(", ")", "{ ", " }", "{a,b}", "[[ a ]]", "[ a ]", "if ls;then ls;fi",
    "for i in a b;do ", "done", "while read f;do ", "case a in a) ", ";; ", "esac", "`", "'", '"', "$'", "$(", "$((1", "))", "((1))",
    "<(", "<<E\n", "\nE\n", "<<'E'\n", "<<E}\n", "\nE}\n", "<<-E\n", "<<<", "x=1", "x=", "arr=(a b)", "arr=(", "${x}", "${x:-", "${#x}",
    "}", "$x", "\\", "\\\n", "#", "# ", " ", "\t", "!", "*", "~", "=", "f() { ls; }", "f", "echo ", "2>&1", ">/dev/null", "time ", "@",
    '"$x"', "'a'", '$"a"', "if", "then", "fi", "do", "else", "in", "[[", "]]", "|&", "a)", "$[1]", "$1", "é",
]  # fmt: skip
NAMES = ("ls", "cat", "git", "head", "wc", "sort", "rm")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file to work in, and one of programs that note that they ran."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "bin").mkdir()
    for name in NAMES:
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n: > {folder}/ran-{name}\n")
        program.chmod(0o755)
    return folder


def lines() -> st.SearchStrategy[str]:
    """Lines with `rm x` somewhere in them, mostly where it does not run."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=8)
    joined = st.tuples(pieces, pieces, st.sampled_from(["", " "])).map(
        lambda found: found[2].join([*found[0], "rm x", *found[1]])
    )
    quoted = st.tuples(pieces, st.sampled_from(["'", '"', "#", "<<'E'\n"]), pieces).map(
        lambda found: f"{''.join(found[0])} {found[1]}rm x{found[1]}{''.join(found[2])}"
    )
    return st.one_of(joined, quoted)


@only_where(BASH is not None, "bash is not installed")
@settings(
    max_examples=example_count(300),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(lines())
@example("arr=(a b)#; rm x")
@example("cat <<'E'}\nx\nE}\nrm x\nE")
@example("cat <<E\n`rm x`\nE")
@example("echo 'rm x'; ls # rm x")
def test_nothing_runs_that_was_not_judged(ground: Path, script: str) -> None:
    facts = PolicyFacts("/home/ada/ws", "ask")
    if RulePolicy().decide("run_command", (RunEffect(script=script),), facts).verdict != "allow":
        return
    work = ground / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "a").write_text("x\n")
    ran = ground / "ran-rm"
    ran.unlink(missing_ok=True)
    subprocess.run(
        [str(BASH), "-c", script.encode()],
        cwd=work,
        env={"PATH": str(ground / "bin")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert not ran.exists()
    assert [path.name for path in work.iterdir()] == ["a"]
