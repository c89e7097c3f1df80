"""Wherever bash runs a substitution, or opens a file, it is seen: none of these positions is allowed, and a rule that denies
what stands there denies the line."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.stubs.left_out import leave_out
from tests.unit.policy.judging import WORKSPACE, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

EXPANSIONS = [
    "x#§", "x##§", "x%§", "x%%§", "x#a§b", "x#*§", "x%.§", "x^§", "x^^§", "x,§", "x,,§", "x~§", "x~~§", "x/§", "x//§", "x/§/b",
    "x//§/b", "x/a/§", "x//a/§", "x/#§/b", "x/%§/b", "x/a/b§", "x:-§", "x-§", "x:+§", "x+§", "x:=§", "x=§", "x:?§", "x?§", "y:-a§", "y:-a § b",
    "x:§", "x:§:1", "x:0:§", "x: -§", "!x#§", "!x:-§", "x#${y:-§}", "x#${x%§}", "x%%${y:-${z:-§}}", "a[§]", "a[0]#§", "#a[§]",
    "!a[§]", "a[0]:-§", "1#§", "1:-§", "@#§", "*%§", "?#§", "@:§", "*:1:§", "a[*]#§", "a[@]%§", "x#'a'§", "x#\\}§", "x#[§]", "x#?(§)", "x@Q§",
]  # fmt: skip
"""What stands between `${` and `}`; § is the position."""
PLACES = [
    "echo §", "echo a§b", "echo a=§", "echo -§", "echo § §", "§", "§ ls", "ls | §", "! §", "(§)", "{ §; }", "x=§", "x+=§", "x=a§b", "x=(§)",
    "x=(a § b)", "x=([0]=§)", "x+=(§)", "a[§]=1", "a[0]=§", "x=§ ls", "export x=§", "export §", "local x=§", "declare -a x=(§)", "readonly x=§",
    "unset §", "ls > §", "ls >> §", "ls < §", "ls 2> §", "ls &> §", "ls >| §", "ls <<< §", "ls <<< a§", 'ls <<< "§"', "ls >& §", "ls <& §", "ls <> §",
    "ls <<E\n§\nE", "ls <<E\na § b\nE", "ls <<-E\n\t§\nE", "ls <<E\n${x:-§}\nE", "ls <<E\n${x#§}\nE", "ls <<E\n$((1+§))\nE", "ls <<E\n$[§]\nE",
    "ls <<E | cat §\na\nE", "ls <<E > §\na\nE", "for i in §; do ls; done", "for i in a §; do ls; done", "for i; do echo §; done",
    "for ((i=§; i<3; i++)); do ls; done", "for ((i=0; i<§; i++)); do ls; done", "for ((i=0; i<3; i+=§)); do ls; done",
    "select i in §; do ls; done", "while §; do ls; done", "while ls; do echo §; done", "until §; do ls; done", "if §; then ls; fi",
    "if ls; then echo §; fi", "if ls; then ls; elif §; then ls; fi", "if ls; then ls; else echo §; fi", "case § in a) ls;; esac",
    "case a in §) ls;; esac", "case a in b|§) ls;; esac", "case a in a§*) ls;; esac", "case a in ?(§)) ls;; esac", "case a in a) echo §;; esac",
    "case a in a) ls;; b) echo §; esac", "case x in x) ls;& §) ls;; esac", "[[ § ]]", "[[ -n § ]]", "[[ -f a§ ]]", "[[ a == § ]]", "[[ a == *§* ]]",
    "[[ a != § ]]", "[[ a =~ § ]]", "[[ a =~ ^§$ ]]", "[[ a =~ ^(a|§)$ ]]", "[[ a =~ a§ ]]", "[[ a < § ]]", "[[ 1 -eq § ]]", "[[ a && § ]]",
    "[[ ( § ) ]]", "[[ ! § ]]", "[[ -v § ]]", "[ § ]", "[ -n § ]", "[ a = § ]", "[ 1 -eq § ]", "test §", "test -f §", "((§))", "((x=§))",
    "((x+=§))", "((a[§]))", "((1 ? § : 2))", "(( (§) ))", "echo $((§))", "echo $((1+§))", "echo $((a[§]))", "echo $[§]", "echo $[1+§]", "let §",
    "let x=§", "echo {a,§}", "echo {§,b}", "echo a{b,§}c", "coproc ls §", "coproc X { ls §; }", "time echo §", "time -p echo §",
    "f() { ls; } > §; f", "f() { ls; } < §; f", "f() { ls; } <<< §; f", "f() { ls; } <<E\n§\nE\nf", "f() { echo §; }; f", "f() { ls; } 2>&1 > §; f",
    "f() ( ls ) > §; f", "f() if ls; then ls; fi > §; f", "f() [[ -n a ]] > §; f", "f() ((1)) > §; f", "f() while false; do ls; done < §; f",
    "f() for i in a; do ls; done > §; f", "f() case a in a) ls;; esac > §; f", "function f { ls; } > §; f", "function f() { ls; } < §; f",
    "f() { ls; } > §\nf", "f() { ls; } > § && f", "f() { g; }; g() { ls; } > §; f", "f() { echo $1; }; f §", "{ ls; } > §", "(ls) > §",
    "if ls; then ls; fi > §", "while false; do ls; done < §", "for i in a; do ls; done > §", "case a in a) ls;; esac > §", "[[ -n a ]] > §",
    "((1)) > §", "x=1 > §", "> §", "< §", "<<< §", "ls | cat > §", "ls & echo §", "ls\necho §", "echo $(echo §)", "echo `echo §`", "cat <(echo §)",
    "ls > >(cat §)", 'echo "$(echo §)"', "echo $(< §)", "echo $(> §)", "echo $(ls > §)", "bash -c 'echo §'", "eval 'echo §'", "trap 'echo §' EXIT",
    "echo ~§", "echo a:~§", "echo $'a'§", "echo 'a'§'b'", "echo \\a§", "echo *§", "echo ?(a|§)", "echo +(§)", "echo !(§)", "echo $\"a\"§", "# a\necho §",
    "ls \\\n§", "echo ${x:-'§'} §", "exec 3< §", "exec 3<> §", "{ ls; } 3> §", "ls 10> §", "ls {fd}> §", "xargs §", "printf -v § a",
]  # fmt: skip
RUNNING = ["$(touch PWN)", "`touch PWN`", "${q:-$(touch PWN)}"]
OPENED = ["<(touch PWN)", ">(touch PWN)", "${q:-<(touch PWN)}"]


FRAMES = ("x=1; echo %s", 'x=1; echo "%s"', "x=1; y=%s", "x=1; cat <<E\n%s\nE", "f() { echo %s; }; f a")


def _lines(payload: str, frames: Sequence[str]) -> list[str]:
    """The payload in every position, those of expansions in each of the frames."""
    inner = [f"${{{one.replace('§', payload)}}}" for one in EXPANSIONS]
    return [one.replace("§", payload) for one in PLACES] + [frame % one for frame in frames for one in inner]


LINES = _lines(RUNNING[0], FRAMES) + [
    line for payload in RUNNING[1:3] for line in _lines(payload, FRAMES[:1])
]
OPENING = [line for payload in OPENED for line in _lines(payload, FRAMES)]


@pytest.mark.slow
def test_no_substitution_is_allowed_wherever_it_stands() -> None:
    assert [line for line in LINES if verdict(line) == "allow"] == []


@pytest.mark.slow
def test_a_rule_against_what_stands_there_denies_the_line() -> None:
    facts = PolicyFacts(WORKSPACE, "bypass")
    policy = RulePolicy(["deny run touch *"])
    let = [
        line
        for line in LINES
        if policy.decide("run_command", (RunEffect(script=line),), facts).verdict == "allow"
    ]
    assert let == []


@pytest.mark.slow
def test_what_is_allowed_of_process_substitutions_does_not_run(tmp_path: Path) -> None:
    """Between double quotes, in sums and in texts they are letters."""
    bash = shutil.which("bash")
    if bash is None:
        leave_out("bash is not installed")
    for line in [line for line in OPENING if verdict(line) == "allow"]:
        subprocess.run(
            [bash, "-c", line],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert not (tmp_path / "PWN").exists(), line
