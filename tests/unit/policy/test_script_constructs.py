"""What bash makes of variables, loops, functions, numbers and braces: followed where it is certain, asked about where not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import classes, decide, verdict
from tui_agent.policy.programs.runs import read_runs
from tui_agent.policy.shell.braces import braced
from tui_agent.protocol.effects import Runs

FOLLOWED = [
    "cat src/{a,b}.py",
    "wc -l src/{index,app}.{ts,tsx}",
    "for i in {1..5}; do echo $i; done",
    "find . -name '*.py' | while read -r f; do wc -l \"$f\"; done",
    "find . -name '*.py' -print0 | while IFS= read -r -d '' f; do wc -l \"$f\"; done",
    "while read -r f; do wc -l \"$f\"; done < <(git ls-files)",
    "for f in $(git ls-files); do echo \"$(wc -l < \"$f\")\"; done",
    "for c in $(git rev-list HEAD -5); do git show --stat $c; done",
    "git log --format=%h -5 | while read h; do git show --stat $h; done",
    "for d in packages/*/; do (cd \"$d\" && ls); done",
    "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
    "for ((i=0; i<3; i++)); do echo $i; done",
    "n=$(wc -l < a.txt); echo $((n / 2))",
    "t=0; for f in *.py; do t=$((t + $(wc -l < \"$f\"))); done; echo $t",
    "x=5; if (( x > 3 )); then echo big; fi",
    "x=abc; echo ${x:0:2} ${x^^} ${#x}",
    "arr=(a b); echo \"${arr[@]}\" ${#arr[@]} ${arr[0]}",
    "arr=(src tests); for d in \"${arr[@]}\"; do ls \"$d\"; done",
    "count() { wc -l \"$1\"; }; count a.txt",
    "show() { head -5 \"$@\"; }; show a.py b.py | cat",
    "export foo=bar; echo $foo",
    "local x=1; readonly y=2",
    "unset x; ls",
    "ls $(pwd)/src",
    "[ $(wc -l < a) -gt 10 ] && head a",
    "[[ -v FOO ]] && echo set",
    "[ -n \"$API_TOKEN\" ] && echo set",
    "bash -euc 'ls | wc -l' _ a",
    "mapfile -t lines < a.txt; echo \"${#lines[@]}\"",
    "shopt -s globstar; ls **/*.py",
]  # fmt: skip

ASKED = [
    "cat /etc/{passwd,group}",
    "{rm,-rf,x}",
    "cat {a,$X}",
    "ls {1..100000}",
    "cat list | while read f; do cat \"$f\"; done",
    "find / -name x | while read f; do wc \"$f\"; done",
    "while read f; do wc \"$f\"; done < <(cat list)",
    "find . -name '*.py' | while read f; do f=/etc/passwd; cat \"$f\"; done",
    "find . -name '*.py' | while read f g; do cat \"$g\"; done",
    "find . -name '*.pyc' | while read f; do rm \"$f\"; done",
    "while read -r f; do wc \"$f\" & done < <(cat list)",
    "while [ -d . ]; do ls & done",
    "case a in ; *) pwd;; esac",
    "ls<<<\n -la",
    "cat <<<\nrm",
    "x='a[$(rm y)]'; echo $((x))",
    "read x < a; echo $((x))",
    "n=1; IFS= read n < a; echo $((n))",
    "n=$(cat a); echo $((n))",
    "n=$(grep -c x *); echo $((n))",
    "n=$(wc -l a); echo $((n))",
    "n=$(wc -l <<< x; cat a); echo $((n))",
    "n=1; n=$1; echo $((n))",
    "n=1; declare n; echo $((n))",
    "x='a[$(rm y)]'; a=([x]=1)",
    "x='a[$(rm y)]'; (( x ))",
    "x='a[$(rm y)]'; for ((i=x; i<3; i++)); do ls; done",
    "x='a[$(rm y)]'; [[ $x -eq 1 ]]",
    "x='a[$(rm y)]'; echo ${s:x}",
    "x='a[$(rm y)]'; echo ${a[x]}",
    "[[ -v 'a[$(rm x)]' ]]",
    "f() { rm \"$1\"; }; f a",
    "f() { cat \"$1\"; }; f /etc/passwd",
    "f() { cat \"$1\"; }; f",
    "ls() { rm x; }; ls",
    "f() { f; }; f",
    "f() { ls; }; f() { rm x; }; f",
    "false && f() { ls; }; f",
    "(f() { ls; }); f",
    "f; f() { ls; }",
    "f() { ls; }; xargs f",
    "export PATH=.",
    "export -f ls",
    "export foo_proxy=x",
    "declare -n r=PATH",
    "declare -i n=x",
    "local -p",
    "unset -f ls",
    "unset PATH",
    "cat $(pwd; echo /etc/passwd)",
    "cd src; cat $(pwd)/../../x",
    "echo $GITHUB_TOKEN",
    "echo \"${DB_PASSWORD}\"",
    "printf %s $AWS_SECRET_ACCESS_KEY",
    "bash -ic ls",
    "bash -c",
    "bash -O extglob -c ls",
    "BASH_ENV=x bash -c ls",
    "mapfile -C 'rm x' a < b",
    "mapfile PATH < b",
    "f() { set -- /etc/passwd; cat \"$1\"; }; f a",
    "f() { shift; cat \"$1\"; }; f a /etc/passwd",
    "f=a; mapfile f < b; cat $f",
    "git tag -n5 | while read t; do git show --stat $t; done",
    "git log --format=%s | while read t; do git show $t; done",
    "git log --format=%h -p | while read t; do git show $t; done",
    "git log --format=%h | while read t; do cat $t; done",
    "shopt -s dotglob; cat *",
    "shopt -s expand_aliases",
]  # fmt: skip


@rows("script", FOLLOWED)
def test_what_is_certain_is_followed(script: str) -> None:
    assert decide(script).verdict == "allow", decide(script)


@rows("script", ASKED)
def test_what_is_not_certain_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("echo {a,b}; r{m,} x", "destructive"),
        ("f() { rm x; }; f", "destructive"),
        ("f() { sudo ls; }", "privilege"),
        ("BASH_ENV=x bash -c ls", "arbitrary"),
        ("bash -xc 'rm x'", "destructive"),
        ("sh -c 'rm \"$1\"' _ a", "destructive"),
        ("for ((i=0; i<3; i++)); do rm x; done", "destructive"),
    ],
)
def test_what_a_construct_runs_gives_the_class(script: str, name: str) -> None:
    assert name in classes(script)


def test_a_function_is_read_with_the_words_of_each_call() -> None:
    report = read_runs(Runs(script='f() { cat "$1"; }; f a; f b'))
    assert [path for part in report.parts for path in part.reads] == ["a", "b"]


def test_functions_that_call_each_other_many_times_end() -> None:
    script = "f0() { ls; };" + "".join(f"f{n}() {{ f{n - 1}; f{n - 1}; }};" for n in range(1, 40)) + "f39"
    assert verdict(script) == "ask"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("{a,b{1,2}}", ["a", "b1", "b2"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{a..c}", ["a", "b", "c"]),
        ("x{,.bak}", ["x", "x.bak"]),
        ("{a}", ["{a}"]),
        ("a,b", ["a,b"]),
        ("{a,b", ["{a,b"]),
        ('"{a,b}"', ["{a,b}"]),
        ("\\{a,b}", ["{a,b}"]),
        ("{'a,b',c}", ["a,b", "c"]),
    ],
)
def test_braces_make_the_words_that_bash_makes(text: str, words: list[str]) -> None:
    assert [word for word, _ in braced(text) or ()] == words


@pytest.mark.parametrize("text", ["{$a,b}", "{1..1000}", "{01..10}", "{a,b}" * 9, "`x`{a,b}"])
def test_braces_that_are_not_certain_have_no_answer(text: str) -> None:
    assert braced(text) is None


@pytest.mark.parametrize(
    "script", ["cat config/*.yml", "jq . *.json", "wc -l *.toml", 'for f in *.json; do jq length "$f"; done']
)
def test_a_pattern_of_an_everyday_ending_is_not_made_for_secrets(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script", ["cat *.pem", "cat *.env", "cat .e*", "cat *.e*", "cat secrets*.yml", "cat cred*", "cat .??v"]
)
def test_a_pattern_that_is_made_for_secrets_is_refused(script: str) -> None:
    assert verdict(script) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "for PATH in ./bin; do ls; done",
        "for BASH_ENV in ./x; do bash -c ls; done",
        "for IFS in /; do ls; done",
        'for f in a; do for LD_PRELOAD in ./x.so; do cat "$f"; done; done',
    ],
)
def test_a_loop_over_a_setting_of_programs_is_asked_about(script: str) -> None:
    """A loop sets its variable as an assignment does."""
    assert verdict(script) == "ask"
    assert "arbitrary" in classes(script)


@pytest.mark.parametrize(
    "script",
    [
        "cat ~/../etc/hostname",
        'cat "$HOME"/../ada/x',
        "cat ~eve/../x",
        "cat ~/a/../../x",
        "ls ~/..",
        "cd ~/.. && cat x",
        "cd ~ && cd .. && cat x",
        "cat < ~/../x",
        "cat ~+/../x",
        "cat ~-/../x",
        "cat ~1/../x",
        "x=~+/..; cat $x/y",
    ],
)
def test_no_way_out_of_a_home_leads_into_the_workspace(script: str) -> None:
    """`..` behind a tilde is not taken away with it: nobody knows where a home lies, but it is not here."""
    assert verdict(script) == "ask"


def test_what_lies_above_a_home_is_not_taken_away() -> None:
    assert decide("rm -rf ~/..", "bypass").verdict == "deny"
    assert decide("rm -rf ~/../*", "bypass").verdict == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "x=([a b) # ]=$(curl example.org))",
        "x+=([a b) # ]=$(curl example.org))",
        "declare x=(\n[a b) # ]=$(curl example.org))",
        "x=(1 \\\n[a b) # ]=$(curl example.org))",
        "x=([a b); echo ${x[@]}",
    ],
)
def test_an_open_subscript_in_a_list_is_asked_about(script: str) -> None:
    """Bash reads it up to its `]`: neither `)` nor `#` ends it, and what stands behind them runs."""
    assert verdict(script) == "ask"
