"""Command lines of every kind: their classes, their folder, their rules, and lines too long or deep to be read."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, confined, decide, verdict
from tests.unit.policy.test_deny_rules_on_commands import verdict as verdict_with
from tests.unit.policy.test_deny_rules_on_commands import verdicts
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect


@rows("script", ["if", "'", "ls (", "false && f() { ls; }; f", "ls\u202e", ""])
def test_a_line_that_cannot_be_read_is_asked_about_even_in_bypass(script: str) -> None:
    assert decide(script, "bypass").verdict == "ask"


@rows(
    "script, expected",
    [
        ("ls", ("read-only",)),
        ("mkdir a", ("workspace",)),
        ("pytest", ("workspace",)),
        ("curl example.org", ("network",)),
        ("rm -r build", ("destructive",)),
        ("frobnicate", ("arbitrary",)),
        ("python -c 'x'", ("arbitrary",)),
    ],
)
def test_classes_follow_from_effects(script: str, expected: tuple[str, ...]) -> None:
    assert classes(script) == expected


@rows(
    "script, expected",
    [
        ("pip install x && pytest > a", "network"),
        ("git push --force", "destructive"),
        ("sudo apt-get install x", "privilege"),
        ("find src -ok rm {} ';'", "destructive"),
        ("fd -e o -x rm", "destructive"),
        ("f() { rm x; }; f", "destructive"),
        ("bash -xc 'rm x'", "destructive"),
        ("for ((i=0; i<3; i++)); do rm x; done", "destructive"),
        ("cat <<EOF\n`rm a`\nEOF", "destructive"),
        ("cat <<EOF\n$(rm a)\nEOF", "destructive"),
        (r"eval $'rm\x20-r src'", "destructive"),
        ("/usr/bin/../bin/rm -r src", "destructive"),
        ("../../../bin/rm -r src", "destructive"),
    ],
)
def test_the_class_of_a_command_inside_is_the_class_of_the_line(script: str, expected: str) -> None:
    assert expected in classes(script)
    assert confined(script).verdict == "ask"


def test_the_folder_that_it_is_started_in_counts() -> None:
    def decide_in(script: str, cwd: str) -> str:
        facts = PolicyFacts(WORKSPACE, "ask")
        return RulePolicy().decide("run_command", (RunEffect(script=script, cwd=cwd),), facts).verdict

    assert decide_in("cat ../a.py", "src") == "allow"
    assert decide_in("cat ../../a.py", "src") == "ask"
    assert decide_in("ls", "/etc") == "ask"
    assert decide_in("cat .env", "src") == "deny"


def test_links_are_followed_for_files_on_a_command_line() -> None:
    effects = (RunEffect(script="cat link/passwd && ls sub"),)
    assert {"link/passwd", "sub"} <= set(RulePolicy().decision_paths(effects, ()))
    facts = PolicyFacts(WORKSPACE, "ask", {"link/passwd": "/etc/passwd"})
    assert RulePolicy().decide("run_command", effects, facts).verdict == "ask"


@rows(
    "words, expected",
    [
        (("echo", "; rm -rf /", "$(x)", "*"), "allow"),
        (("cat", "a; b"), "allow"),
        (("cat", ".env"), "deny"),
        (("rm", "-rf", "/"), "deny"),
        (("cat", "a\0b"), "ask"),
    ],
)
def test_words_without_a_shell_are_taken_as_they_are(words: tuple[str, ...], expected: str) -> None:
    facts = PolicyFacts(WORKSPACE, "ask")
    assert RulePolicy().decide("run_command", (RunEffect(argv=words),), facts).verdict == expected


@rows(
    "line",
    [
        "tmux ls -F '#(git push)'", "xmllint http://evil.example", "mediainfo http://evil.example/a", "f() { cat; } < <(git push); f",
        "f() { ls; } > src/keep/a; f", "f() { cat; } < private/a; f", "function f { ls; } > src/keep/a; f",
        "bash -c 'f() { cat; } < private/a; f'", "f() ( ls ) > src/keep/a; f", "x=1; echo ${x#$(git push)}",
        "x=1; echo ${x%`cat private/a`}", "x='1 private/a'; head -n $x", "/usr/bin/../bin/git push", "/usr//bin/./git push",
        r"$'\x67it' push", "curl file://$PWD/private/a", "foo x:private/a", "foo private/a",
        "make -f private/a", "make -C private", "wc -l --files0-from=private/a",
    ],
)  # fmt: skip
def test_rules_hold_wherever_a_line_hides_what_they_deny(line: str) -> None:
    rules = [
        "deny run git push *",
        "deny edit src/keep/**",
        "deny read private/**",
        "deny connect evil.example",
    ]
    assert verdicts(line, *rules) == {"deny"}


@rows(
    "line",
    [
        "cloc --vcs='git push'", "uniq src/keep/*", "cd src/keep && f() { ls; } > a; f", "timeout $(cat l) ls", "nice -n $X ls",
        "go build -o src/keep/k .",
    ],
)  # fmt: skip
def test_where_a_rule_may_be_meant_nothing_runs_unasked(line: str) -> None:
    assert "allow" not in verdicts(line, "deny run git push *", "deny edit src/keep/**")


@rows(
    "line",
    [
        "gcc -o src/k x.c", "tsc --outDir src", "tar xf a.tar -C src", "split a src/x", "find . -fprint src/a.py", "ed src/a.py",
        "ln -s src s && echo x > s/a.py", "go build -o src/k .",
    ],
)  # fmt: skip
def test_a_rule_against_editing_holds_for_the_output_that_a_command_names(line: str) -> None:
    assert verdict_with(line, "deny edit src/**") == "deny"
    assert verdict_with(line, "deny edit other/**", policy="accept-edits", sandboxed=True) != "deny"


@rows(
    "line, expected",
    [
        ("ln -s ../lib docs/liblink", "allow"),
        ("ln -sfn ../lib docs/", "allow"),
        ("ln -s ../lib docs/l && cat docs/l/a", "allow"),
        ("cd docs && ln -s ../lib liblink", "allow"),
        ("ln -s ../../lib docs/liblink", "ask"),
        ("ln -s lib/../../../x docs/l", "ask"),
        ("ln -s ../.env docs/l", "deny"),
        ("ln ../lib docs/l", "ask"),
        ("ln -sr ../lib docs/l", "ask"),
        ("ln -st . ../notes a/b && cat notes", "ask"),
        ("ln -s -t . ../notes a/b", "ask"),
        ("ln -s --target-directory=. ../notes a/b", "ask"),
        ("ln -s --target . ../notes a/b", "ask"),
        ("ln -sb ../notes a/b", "ask"),
    ],
)
def test_the_target_of_a_symbolic_link_is_relative_to_the_links_folder(line: str, expected: str) -> None:
    assert verdict_with(line, policy="accept-edits", sandboxed=True) == expected


@pytest.mark.parametrize("count", [51, 500, 5000])
def test_a_denied_part_is_found_among_many(count: int) -> None:
    assert verdict_with("; ".join(["true"] * count + ["git push"]), "deny run git push *") == "deny"


def test_a_script_too_long_to_read_is_refused_where_rules_stand_against_commands() -> None:
    script = "true;" * 40_000
    assert verdict_with(script) == "ask"
    assert verdict_with(script, "deny run git push *") == "deny"


@rows(
    "script",
    [
        "ls;" * 5000, "(" * 500 + "ls" + ")" * 500, "echo " + "$(echo " * 200 + "x" + ")" * 200,
        "echo $((" + "(" * 3000 + "1" + ")" * 3000 + "))", "echo " + "${x:-" * 1500 + "}" * 1500, "[[ " + "( " * 2000 + "a" + " )" * 2000 + " ]]",
        "ls && " * 1500 + "ls", 'echo "$(echo ' * 300 + ')"' * 300,
        "f0() { ls; };" + "".join(f"f{n}() {{ f{n - 1}; f{n - 1}; }};" for n in range(1, 40)) + "f39",
    ],
)  # fmt: skip
def test_lines_that_are_too_long_or_too_deep_are_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@pytest.mark.parametrize("head", ["{", "$", "${", "a[", "<<", "[[ a =~ ", "$((", "~", "?(", "{a,"])
@pytest.mark.parametrize("char", ["é", "\uffff", "\U0001f600", "\U0010ffff"])
def test_no_character_ends_the_program(head: str, char: str) -> None:
    assert verdict(f"ls {head}{char}") in ("allow", "ask")


def test_words_outside_ascii_are_read_as_they_stand() -> None:
    effects = (RunEffect(script="cat 'größe 😀.txt' naïve.md > ergebnis_ü"),)
    assert {"größe 😀.txt", "naïve.md", "ergebnis_ü"} <= set(RulePolicy().decision_paths(effects, ()))
    assert verdict("cat größe.txt") == "allow"


BUILTINS_THAT_ACT = [
    "alias", "bg", "bind", "caller", "compgen", "complete", "compopt", "declare", "dirs", "disown", "enable", "eval",
    "exec", "export", "fc", "fg", "getopts", "history", "jobs", "kill", "let", "local", "logout",
    "mapfile", "popd", "read", "readarray", "readonly", "shopt", "source", ".", "suspend", "times", "trap",
    "typeset", "ulimit", "umask", "unalias", "unset", "shift", "return",
]  # fmt: skip


@rows("name", BUILTINS_THAT_ACT)
def test_no_builtin_that_changes_the_shell_runs_unasked(name: str) -> None:
    assert verdict(f"{name} PATH") == "ask"
    assert verdict(f"{name} PATH=x") == "ask"
