"""Rules about files hold for the name that is given and for the real file, for patterns, and for all below a folder."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.settings import PolicyName

PRIVATE = "deny read private/**"
PROFILES: tuple[tuple[PolicyName, bool], ...] = (
    ("bypass", False),
    ("bypass", True),
    ("accept-edits", True),
    ("ask", False),
)


def judge(
    effect: Effect | str,
    *rules: str,
    policy: PolicyName = "bypass",
    sandboxed: bool = False,
    cwd: str = "",
    links: dict[str, str] | None = None,
) -> Decision:
    """Decide about an effect or a command line. `links` are paths with the files that they really are."""
    facts = PolicyFacts(WORKSPACE, policy, links or {}, sandboxed=sandboxed)
    call = RunEffect(script=effect, cwd=cwd) if isinstance(effect, str) else effect
    return RulePolicy(rules).decide("some_tool", (call,), facts)


def verdict(
    effect: Effect | str,
    *rules: str,
    policy: PolicyName = "bypass",
    cwd: str = "",
    links: dict[str, str] | None = None,
) -> str:
    return judge(effect, *rules, policy=policy, cwd=cwd, links=links).verdict


def verdicts(script: str, *rules: str) -> set[str]:
    """The verdicts of all profiles that may allow more than reading."""
    return {
        judge(script, *rules, policy=policy, sandboxed=sandboxed).verdict for policy, sandboxed in PROFILES
    }


@rows("path", ["private/x", "PRIVATE/x", "Private/X", f"{WORKSPACE}/pRivate/x", "./a/../private/x"])
def test_a_rule_against_a_file_holds_whatever_the_letter_case(path: str) -> None:
    assert verdict(ReadEffect(path=path), PRIVATE) == "deny"
    assert verdict(RunEffect(argv=("cat", path)), PRIVATE) == "deny"
    assert verdict(WriteEffect(path=path), "deny edit private/**") == "deny"


def test_an_accent_may_be_written_in_two_ways() -> None:
    assert verdict(ReadEffect(path="re\u0301sume\u0301.txt"), "deny read r\u00e9sum\u00e9.txt") == "deny"


def test_a_rule_that_allows_means_the_letters_as_they_are() -> None:
    assert verdict(WriteEffect(path="Src/a"), "allow edit src/**", policy="ask") == "ask"
    assert verdict(WriteEffect(path="src/a"), "allow edit src/**", policy="ask") == "allow"


def test_a_rule_holds_for_the_given_name_and_for_the_real_file() -> None:
    assert verdict(ReadEffect(path="notes"), PRIVATE, links={"notes": f"{WORKSPACE}/private/notes"}) == "deny"
    assert verdict(ReadEffect(path="private/notes"), PRIVATE, links={"private/notes": "/srv/notes"}) == "deny"
    assert verdict("cat notes", PRIVATE, links={"notes": f"{WORKSPACE}/private/notes"}) == "deny"


def test_a_rule_on_a_link_holds_for_where_it_leads() -> None:
    assert verdict(ReadEffect(path="real/x"), PRIVATE, links={"private": f"{WORKSPACE}/real"}) == "deny"
    assert verdict("cat rea*/a", PRIVATE, links={"private": f"{WORKSPACE}/real"}) == "deny"
    assert verdict(ReadEffect(path="/srv/x"), PRIVATE, links={"private": "/srv"}) == "deny"
    assert verdict(ReadEffect(path="real/x"), PRIVATE) == "allow"
    policy = RulePolicy([PRIVATE, "allow read /opt/x/**", "deny edit **/*.lock"])
    assert policy.decision_paths((ReadEffect(path="a"),), ()) == ("a", "private")


def test_a_pattern_behind_a_link_counts_as_where_it_leads() -> None:
    assert verdict("cat link/p*", PRIVATE, links={"link/p*": f"{WORKSPACE}/private/p*"}) == "deny"
    assert verdict("cat link/p*", PRIVATE, links={"link/p": f"{WORKSPACE}/src/p"}) == "allow"


@rows(
    "script",
    [
        "ln -s private q; cat q/a", "cd src; ln -s ../private q; cat q/a", "ln -s private /tmp/q && cat /tmp/q/*",
    ],
)  # fmt: skip
def test_a_link_that_the_line_makes_leads_to_its_target(script: str) -> None:
    assert verdicts(script, PRIVATE) == {"deny"}


NAMED = [
    "cat priv*/a", "cat [p]rivate/a", "cat [[:alpha:]]rivate/a", "cat [!q]rivate/a", "cat [^q]rivate/a", "cat p??????/a", "cat PRIV*/a",
    "cat [P-Q]rivate/a", "cat ./priv*/../priv*/a", "cat p*/*", "cat */a", "cat {priv*,src}/a", f"cat {WORKSPACE}/priv*/a",
    "cat /home/*/timesheet/private/a", 'cat "priv"*/a', "cat < priv*/a",
    "x=priv*; cat $x/a", "for f in priv*/*; do cat $f; done", "grep -r x priv*", "bash -c 'cat priv*/a'", "cat <(cat priv*/a)",
    "wc -l priv*/a", "cp priv*/a q", "mv priv* q", "mv private q", "git add priv*", "git show HEAD:priv*/a",
    "git diff --no-index priv*/a /dev/null", "tar cf - private", "tar -cf x.tar src private", "frobnicate priv*/a",
    "frobnicate private/x", "frobnicate --in=private/x", "python x.py priv*/a", "dd if=private/a of=x",
]  # fmt: skip


@rows("script", NAMED)
def test_a_word_that_may_stand_for_a_file_of_a_rule_counts_as_that_file(script: str) -> None:
    assert verdicts(script, PRIVATE) == {"deny"}
    assert verdicts(script, "ask read private/**") == {"ask"}


BELOW_OR_UNCERTAIN = [
    "grep -r x .", "grep -r x", "grep -r x *", "grep -rn x --include='*.py'", "cd . && grep -R x", "rg PRIVATE_", "rg -g '*.py' x",
    "ag x", "git grep x", "find . -name a -exec cat {} +", "find . -type f -exec cat {} +", "find . -name '*.py' | xargs grep x",
    "git ls-files | xargs wc -l", "fd -x cat", "tar cf - .", "tar czf x.tgz *", "zip -r a.zip .", "rsync -a . ada@example.org:x",
    "cp -r . ../copy", "diff -r . ../copy", "git diff --no-index . /tmp/x", "git add .", "git add -A", "git archive HEAD",
    "grep -d recurse x .", "ln -s . q", "cat **/a", "cat $FILE", "cat < $FILE", "cd $DIR && cat a",
    "cd priv* && cat a", "pushd priv* && cat a", "sed 'r private/a' README.md",
    "python -c 'print(open(\"private/a\").read())'",
]  # fmt: skip


@rows("script", BELOW_OR_UNCERTAIN)
def test_a_command_that_may_read_a_file_of_a_rule_is_asked_about(script: str) -> None:
    assert verdicts(script, PRIVATE) == {"ask"}


@rows(
    "script",
    [
        "cat *", "ls *", "cat src/*", "cat s*/a", "cat q*/*", "cat [a-o]*/x", "cat 'priv*/a'", "grep -r x src", "rg x src tests",
        "find src -name '*.py' -exec cat {} +", "grep -rn x . --exclude-dir=private", "rg x -g '!private'",
        "git diff HEAD -- src", "git status", "ls -R",
    ],
)  # fmt: skip
def test_a_command_that_cannot_mean_its_files_is_free(script: str) -> None:
    assert verdict(script, PRIVATE) == "allow"


@rows(
    "script, expected",
    [
        ("echo x > kee*/k", "deny"),
        ("sed -i s/a/b/ kee*/k", "deny"),
        ("touch kee*/k", "deny"),
        ("cd kee* && touch k", "ask"),
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
        ("black keep/k", "deny"),
        ("black k*/k", "deny"),
        ("black .", "ask"),
        ("ruff format .", "ask"),
        ("ruff check --fix keep", "deny"),
        ("prettier --write keep/*.js", "ask"),
        ("perl -pi -e s/a/b/ keep/k", "ask"),
        ("cmake -E touch keep/k", "ask"),
        ("git checkout -- keep", "deny"),
        ("git checkout .", "ask"),
        ("git checkout main", "ask"),
        ("git restore k*/k", "deny"),
        ("ruff check keep", "allow"),
        ("perl keep/k.pl", "allow"),
        ("pytest keep", "allow"),
    ],
)
def test_rules_about_edits_hold_for_patterns_and_for_programs_that_change_files(
    script: str, expected: str
) -> None:
    assert verdict(script, "deny edit keep/**", "deny edit **/*.lock") == expected


@rows(
    "script, rule, expected",
    [
        ("rm -r src", "deny edit src/keep/**", "deny"),
        ("rm -rf ./src/", "deny remove src/keep/**", "deny"),
        ("mv src old", "deny edit src/keep/**", "deny"),
        ("rm -r src/keep", "deny edit src/keep/**", "deny"),
        ("chmod -R 700 src", "deny edit src/keep/**", "ask"),
        ("rm -r build", "deny edit src/keep/**", "allow"),
        ("black src", "deny edit keep/**", "allow"),
        ("rm -r src", "ask edit src/keep/**", "ask"),
        ("rm src/a.py", "deny edit **/*.lock", "allow"),
        ("rm -r build", "deny edit **/*.lock", "ask"),
        ("rm poetry.lock", "deny edit **/*.lock", "deny"),
        ("rm k*/k", "deny remove keep/**", "deny"),
        ("mv k*/k q", "deny remove keep/**", "deny"),
        ("touch k*/k", "deny remove keep/**", "allow"),
        ("pytest tests", "deny edit tests/**", "allow"),
        ("make > docs/a", "ask edit docs/**", "ask"),
        ("cp a src", "deny edit src/a", "deny"),
    ],
)
def test_rules_about_edits_hold_for_what_is_below_a_folder(script: str, rule: str, expected: str) -> None:
    assert verdict(script, rule) == expected


def test_a_pattern_finds_names_with_a_dot_in_front_only_where_the_shell_is_told_so() -> None:
    rule = "deny read .private/**"
    assert verdict("cat */a", rule) == "allow"
    assert verdict("cat .p*/a", rule) == "deny"
    assert verdict("shopt -s dotglob; cat */a", rule) == "deny"
    assert verdict("GLOBIGNORE=x; cat */a", rule) == "deny"
    assert verdict("rg x", rule) == "allow"
    assert verdict("rg --hidden x", rule) == "ask"


def test_patterns_count_from_the_folder_of_the_call() -> None:
    assert verdict("cat pri*/a", "deny read sub/private/**", cwd="sub") == "deny"
    assert verdict("cat pri*/a", "deny read sub/private/**", cwd="other") == "allow"


def test_a_workspace_whose_name_reads_like_a_pattern_is_none() -> None:
    facts = PolicyFacts("/srv/[a]*", "bypass")
    policy = RulePolicy([PRIVATE, "deny read /srv/a/y"])
    assert policy.decide("run_command", (RunEffect(script="cat priv*/a"),), facts).verdict == "deny"
    assert policy.decide("run_command", (RunEffect(script="cat y*"),), facts).verdict == "allow"


def test_patterns_that_could_be_compared_without_end_are_given_up() -> None:
    names = " ".join(f"{'*a' * 15}{number}*/q*" for number in range(200))
    rules = [f"deny read {'a*' * 8}{number}x*/private/**" for number in range(20)]
    assert verdict(f"cat {names}", *rules) == "allow"
