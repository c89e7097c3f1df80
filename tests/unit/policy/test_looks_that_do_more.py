"""Programs that only look, told something by which they run, fetch or write more."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, decide, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

ASKED = {
    "tmux ls -F '#(touch x)'": "arbitrary",
    "tmux list-panes -a -F '#(touch x)'": "arbitrary",
    'tmux list-windows -F "$X"': "arbitrary",
    "cloc --vcs='touch x' .": "arbitrary",
    "cloc --vcs=./evil.sh": "arbitrary",
    "soxi '|touch x'": "arbitrary",
    "xmllint http://example.org/x": "network",
    "xmllint --html http://example.org/x": "network",
    "mediainfo http://example.org/x": "network",
    "soxi http://example.org/x": "network",
    "svn diff -r HEAD": "network",
    "svn diff ^/trunk": "network",
    "svn info ^/": "network",
    "hg status": "workspace",
    "hg log -l 3": "workspace",
    "uniq two/*": "workspace",
    "mocha --version": "workspace",
    "cargo fmt --check": "workspace",
    "cargo fmt --all -- --check": "workspace",
    "go -C /etc env": "read-only",
    "yq . *": "arbitrary",
    "ag foo *": "arbitrary",
    "ack foo *": "arbitrary",
    "date -d $(echo x -s y)": "arbitrary",
    "journalctl --no-pager -u $(echo x --vacuum-size=1)": "privilege",
    "cowsay $X": "arbitrary",
    "echo {1..999999999}": "arbitrary",
    "echo {1..1000}{1..1000}": "arbitrary",
    "for i in {1..99999999}; do ls; done": "arbitrary",
}


@rows("script", ASKED)
def test_it_is_asked_about_by_what_it_does(script: str) -> None:
    assert verdict(script) == "ask"
    assert ASKED[script] in classes(script)


@pytest.mark.parametrize(
    "script",
    [
        "tmux ls", "tmux list-panes -a -F '#{pane_id}'", "cloc src", "xmllint --noout a.xml", "soxi a.wav", "svn diff", "svn info src",
        "yq . a.yml", "ag foo src", "go -C src env GOPATH", 'date -d "$X" +%s', "date +%s", 'journalctl --no-pager -u "$X"', "echo {1..1000}",
        "cat {a,b,c}/{d,e,f}.{x,y,z}", 'echo "{1..999999999}"', "echo {1..10}{a,b}",
    ],
)  # fmt: skip
def test_without_that_it_is_not(script: str) -> None:
    assert verdict(script) == "allow", decide(script)


@pytest.mark.parametrize(
    "script",
    [
        "tmux ls -F '#(git push)'", "cloc --vcs='git push'", "xmllint http://evil.example", "mediainfo http://evil.example/a",
        "f() { cat; } < <(git push); f", "f() { ls; } > src/keep/a; f", "f() { cat; } < private/a; f", "uniq src/keep/*",
        "cd src/keep && f() { ls; } > a; f", "function f { ls; } > src/keep/a; f", "bash -c 'f() { cat; } < private/a; f'",
        "f() ( ls ) > src/keep/a; f", "x=1; echo ${x#$(git push)}", "x=1; echo ${x%`cat private/a`}", "x='1 private/a'; head -n $x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("policy", ["ask", "accept-edits", "bypass"])
def test_no_rule_against_it_is_passed_by(script: str, policy: str) -> None:
    rules = [
        "deny run git push *",
        "deny edit src/keep/**",
        "deny read private/**",
        "deny connect evil.example",
    ]
    facts = PolicyFacts(WORKSPACE, policy)  # type: ignore[arg-type] - one of its names
    assert RulePolicy(rules).decide("run_command", (Runs(script=script),), facts).verdict != "allow"
