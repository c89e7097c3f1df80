"""Rules against files count for what a shell's pattern may stand for, and for what is read below a folder."""

import time

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName

WORKSPACE = "/home/ada/timesheet"
PROFILES: tuple[tuple[PolicyName, bool], ...] = (
    ("bypass", False),
    ("bypass", True),
    ("accept-edits", True),
    ("ask", False),
)


def judged(
    script: str,
    *rules: str,
    policy: PolicyName = "bypass",
    sandboxed: bool = False,
    cwd: str = "",
    **links: str,
) -> Decision:
    facts = PolicyFacts(
        WORKSPACE, policy, {"/".join(key.split("__")): to for key, to in links.items()}, sandboxed=sandboxed
    )
    return RulePolicy(rules).decide("run_command", (Runs(script=script, cwd=cwd),), facts)


def verdicts(script: str, *rules: str) -> set[str]:
    return {
        judged(script, *rules, policy=policy, sandboxed=confined).verdict for policy, confined in PROFILES
    }


DENIED = [
    "cat priv*/a",
    "cat [p]rivate/a",
    "cat [[:alpha:]]rivate/a",
    "cat [!q]rivate/a",
    "cat [^q]rivate/a",
    "cat p??????/a",
    "cat PRIV*/a",
    "cat [P-Q]rivate/a",
    "cat ./priv*/../priv*/a",
    "cat p*/*",
    "cat */a",
    "cat {priv*,src}/a",
    f"cat {WORKSPACE}/priv*/a",
    "cat /home/*/timesheet/private/a",
    'cat "priv"*/a',
    "cat < priv*/a",
    "cd priv* && cat a",
    "cd priv*; ls",
    "pushd priv* && cat a",
    "x=priv*; cat $x/a",
    "for f in priv*/*; do cat $f; done",
    "grep -r x priv*",
    "bash -c 'cat priv*/a'",
    "cat <(cat priv*/a)",
    "wc -l priv*/a",
    "cp priv*/a q",
    "mv priv* q",
    "mv private q",
    "git add priv*",
    "git show HEAD:priv*/a",
    "git diff --no-index priv*/a /dev/null",
    "tar cf - private",
    "tar -cf x.tar src private",
    "frobnicate priv*/a",
    "python x.py priv*/a",
    "dd if=private/a of=x",
]


@rows("script", DENIED)
def test_a_pattern_that_may_stand_for_what_a_rule_denies_is_denied_in_every_profile(script: str) -> None:
    assert verdicts(script, "deny read private/**") == {"deny"}
    assert verdicts(script, "ask read private/**") == {"ask"}


ASKED = [
    "grep -r x .",
    "grep -r x",
    "grep -r x *",
    "grep -rn x --include='*.py'",
    "cd . && grep -R x",
    "rg PRIVATE_",
    "rg -g '*.py' x",
    "ag x",
    "git grep x",
    "find . -name a -exec cat {} +",
    "find . -type f -exec cat {} +",
    "find . -name '*.py' | xargs grep x",
    "git ls-files | xargs wc -l",
    "fd -x cat",
    "tar cf - .",
    "tar czf x.tgz *",
    "zip -r a.zip .",
    "rsync -a . ada@example.org:x",
    "cp -r . ../copy",
    "diff -r . ../copy",
    "git diff --no-index . /tmp/x",
    "git add .",
    "git add -A",
    "git archive HEAD",
    "grep -d recurse x .",
    "ln -s . q",
    "cat **/a",
    "cat $FILE",
    "cat < $FILE",
    "cd $DIR && cat a",
    "python -c 'print(open(\"private/a\").read())'",
]


@rows("script", ASKED)
def test_what_reads_below_a_folder_or_what_is_not_certain_is_asked_about_in_every_profile(
    script: str,
) -> None:
    assert verdicts(script, "deny read private/**") == {"ask"}


FREE = [
    "cat *",
    "ls *",
    "cat src/*",
    "cat s*/a",
    "cat q*/*",
    "cat [a-o]*/x",
    "cat 'priv*/a'",
    "grep -r x src",
    "rg x src tests",
    "cd s* && cat a",
    "find src -name '*.py' -exec cat {} +",
    "grep -rn x . --exclude-dir=private",
    "rg x -g '!private'",
    "git diff HEAD -- src",
    "git status",
    "ls -R",
]


@pytest.mark.parametrize("script", FREE)
def test_what_cannot_be_meant_is_free(script: str) -> None:
    assert judged(script, "deny read private/**").verdict == "allow"


@rows(
    "script, expected",
    [
        ("echo x > kee*/k", "deny"),
        ("sed -i s/a/b/ kee*/k", "deny"),
        ("touch kee*/k", "deny"),
        ("cd kee* && touch k", "deny"),
        ("tee k*/k", "deny"),
        ("rm k*/k", "deny"),
        ("rm -r k*", "deny"),
        ("rm -r *", "deny"),
        ("mv k*/k q", "deny"),
        ("chmod +x k*/k", "deny"),
        ("touch $FILE", "ask"),
        ("echo x > $FILE", "ask"),
        ("touch *.loc?", "ask"),
        ("sed -i s/a/b/ src/*", "ask"),
        ("rm *", "ask"),
        ("rm *.lock", "deny"),
        ("touch src/*.py", "allow"),
        ("rm src/*.py", "allow"),
        ("cat keep/*", "allow"),
        ("rm q*/k.py", "allow"),
    ],
)
def test_rules_against_edits_count_for_patterns(script: str, expected: str) -> None:
    assert judged(script, "deny edit keep/**", "deny edit **/*.lock").verdict == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("black keep/k", "deny"),
        ("black k*/k", "deny"),
        ("black .", "ask"),
        ("ruff format .", "ask"),
        ("ruff check --fix keep", "deny"),
        ("prettier --write keep/*.js", "deny"),
        ("perl -pi -e s/a/b/ keep/k", "deny"),
        ("git checkout -- keep", "deny"),
        ("git checkout .", "ask"),
        ("git restore k*/k", "deny"),
        ("black src", "allow"),
        ("black --check .", "allow"),
        ("ruff check keep", "allow"),
        ("perl keep/k.pl", "allow"),
        ("git checkout main", "ask"),
        ("pytest keep", "allow"),
    ],
)
def test_rules_against_edits_count_for_what_a_command_changes_that_only_names_it(
    script: str, expected: str
) -> None:
    assert judged(script, "deny edit keep/**").verdict == expected


def test_a_rule_against_removing_counts_for_patterns() -> None:
    assert judged("rm k*/k", "deny remove keep/**").verdict == "deny"
    assert judged("touch k*/k", "deny remove keep/**").verdict == "allow"


def test_where_a_rule_or_the_pattern_begins_with_a_link_counts() -> None:
    rule = "deny read private/**"
    assert judged("cat rea*/a", rule, private=f"{WORKSPACE}/real").verdict == "deny"
    assert judged("cat link/p*", rule, link__p=f"{WORKSPACE}/src/p").verdict == "allow"
    facts = PolicyFacts(WORKSPACE, "bypass", {"link/p*": f"{WORKSPACE}/private/p*"})
    assert RulePolicy([rule]).decide("run_command", (Runs(script="cat link/p*"),), facts).verdict == "deny"


def test_a_pattern_finds_a_name_with_a_dot_in_front_only_where_the_shell_is_told_so() -> None:
    rule = "deny read .private/**"
    assert judged("cat */a", rule).verdict == "allow"
    assert judged("cat .p*/a", rule).verdict == "deny"
    assert judged("shopt -s dotglob; cat */a", rule).verdict == "deny"
    assert judged("GLOBIGNORE=x; cat */a", rule).verdict == "deny"
    assert judged("rg x", rule).verdict == "allow"
    assert judged("rg --hidden x", rule).verdict == "ask"


def test_a_folder_of_the_call_counts() -> None:
    assert judged("cat pri*/a", "deny read sub/private/**", cwd="sub").verdict == "deny"
    assert judged("cat pri*/a", "deny read sub/private/**", cwd="other").verdict == "allow"


def test_a_workspace_whose_name_reads_like_a_pattern_is_none() -> None:
    facts = PolicyFacts("/srv/[a]*", "bypass")
    policy = RulePolicy(["deny read private/**", "deny read /srv/a/y"])
    assert policy.decide("run_command", (Runs(script="cat priv*/a"),), facts).verdict == "deny"
    assert policy.decide("run_command", (Runs(script="cat y*"),), facts).verdict == "allow"


def test_patterns_without_end_take_no_time_that_anybody_waits_for() -> None:
    names = " ".join(f"{'*a' * 15}{number}*/q*" for number in range(200))
    rules = [f"deny read {'a*' * 8}{number}x*/private/**" for number in range(20)]
    begin = time.process_time()
    assert judged(f"cat {names}", *rules).verdict == "allow"
    assert time.process_time() - begin < 3
