"""A word without quotes, and all elements of a list, may be several words or none: what stands behind them means something else
then."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, decide, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

ASKED = [
    "timeout $(cat l) ls", "x='5 touch PWN'; nice -n $x ls", "stdbuf -o $(cat l) ls", "ionice -c $X ls", "taskset $X ls", "timeout * ls",
    'a=(5 touch); timeout "${a[@]}" ls', 'timeout "$@" ls', "x='1 x'; env $x ls", 'a=(f -delete); find . -name "${a[@]}"',
    "a=(f -delete); find . -name ${a[@]}", 'f() { find . -name "$@"; }; f x -delete', "f() { find . -name $*; }; f x -delete",
    "awk -v $(echo a=1) 1 y", "awk -F $(echo , -f x) 1 y", "head -n $(echo 1 .env)", "x='1 .env'; head -n $x", "cut -d $X f", "nl -b $X f",
    "tail -n $(echo 1 /etc/shadow)", "grep -e $(echo . .env) a", "grep $(echo . .env) a", "grep $X a", "iconv -f $(echo 1 -o PWN) x",
    "shuf -n $(echo 1 -o PWN) x", "base64 -w $(echo 1 x) x", "xmllint --xpath $(echo x --output PWN) y", "yq -o $(echo json -i) . x",
    "git branch --sort $(echo x -D main)", "git tag --sort $(echo x -d v1)", "git log --author $X", "sort -k $(cat l) README.md",
    "jq --arg x $X .a f", "cloc --exclude-dir $(echo a --vcs=id) .", 'a=(x .env); grep "${a[@]}"', "cat l | xargs head -n",
    "cat l | xargs find . -name", "find . -type f -exec head -n {} +", 'f() { head -5 "$2"; }; f $(echo a .env) b', "find . -name *",
    "for f in *; do find . -name $f; done", "for i in \"$(seq 3)\"; do head -n $i b; done", "n=$(seq 2); head -n $n b", 'head -n "$@" b',
    'head -n "${a[@]:1}" b', 'head -n "${!a[@]}" b', 'head -n "${x:-$@}" b', "uniq two/*", "cd two && uniq *", "xxd *", 'a=(x y); uniq "${a[@]}"',
    "printf $(cat l)", 'printf "$x" "$y"', "[ $x ]", "x='-v a[$(id>PWN)]'; [ $x ]", "[ $(cat f) ]", "test $(cat f)", "[ ! $x ]", "[ -n $(cat f) ]",
    "while read -r l; do [ $l ] && ls; done < f", "for f in $(cat x); do [ $f ] && ls; done", '[ "$x" "$y" ]', 'test "$x" "$y"', "[ * ]",
    '[ "$@" ]', '[ "${a[@]}" ]', "[ -n $x -a b ]", "test $(echo -v x)", "wait $x", "x='-n -p a[$(id>PWN)]'; ls & wait $x", "test *", "[ $(echo -v x) ]", "test -n $(ls)",
]  # fmt: skip

FOLLOWED = [
    'for f in *.py; do head -5 "$f"; done', "for i in 1 2 3; do echo $i; done", "wc -l $(git ls-files)", "head -n $(wc -l < a) b",
    "n=3; head -n $n b", "n=$(wc -l < a); head -n $n b", "head -n $((1+2)) b", "for i in 1 2 3; do head -n $i b; done",
    "for i in $(seq 3); do head -n $i b; done", 'head -n "$X" b', 'grep "$X" b', 'f() { head -5 "$@"; }; f a b | cat',
    'f() { find . -name "$@"; }; f x', 'f() { grep -n "$1" "$2"; }; f foo bar', "echo $X", 'echo "${a[@]}"', "printf '%s\\n' \"$X\"",
    "printf '%s\\n' $X", "x=foo; grep -e $x f", "find . -name '*.py' -exec grep -n foo {} +", "find . -name *.py", "seq $X", "basename $X",
    "x=3; timeout $x ls", 'timeout "$T" ls', 'for f in *.txt; do uniq "$f"; done', "ls | xargs -I{} find . -name {}",
    "[ $# -gt 0 ] && ls", "[ $? -eq 0 ] && ls", "[ $(wc -l < a) -gt 10 ] && ls", "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
    "x=main; [ $x = main ] && ls", "[ -f *.py ] && ls", "test -f *.py && ls", "x=a; test -f $x && ls", "ls & p=$!; wait $p", 'ls & p=$!; ls & q=$!; wait "$p" "$q"', "wait", "wait $!", '[ "$x" = "$y" ] && ls', "[ ${#x} -gt 3 ] && ls", "[ $EUID -eq 0 ] && ls",
    "[ -d $HOME/.config ] && ls", "[ -d $(pwd)/src ] && ls", 'test -f "$x" && ls', "n=$(grep -c foo a.txt); [ $n -gt 3 ] && ls",
]  # fmt: skip


@rows("script", ASKED)
def test_where_that_may_do_harm_it_is_asked_about(script: str) -> None:
    assert verdict(script) != "allow"


@rows("script", FOLLOWED)
def test_where_it_is_one_word_or_does_no_harm_it_is_not(script: str) -> None:
    assert verdict(script) == "allow", decide(script)


def test_the_words_of_a_call_are_read_one_by_one() -> None:
    assert "destructive" in classes('f() { find . -name "$@"; }; f x -delete')


@pytest.mark.parametrize("script", ["timeout $(cat l) ls", "nice -n $X ls", 'xargs -n "${a[@]}" ls'])
def test_a_rule_against_commands_is_heard_where_a_word_may_be_one(script: str) -> None:
    facts = PolicyFacts(WORKSPACE, "bypass")
    decision = RulePolicy(["deny run git push *"]).decide("run_command", (Runs(script=script),), facts)
    assert decision.verdict != "allow"
