"""Next to attacks that once ran unasked (tests/corpora/policy/attacks.txt): what denies them, and what only looks like them."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName


def decide_with(rule: str, script: str, policy: PolicyName = "ask") -> Decision:
    """The decision about a command line where the user has one rule."""
    return RulePolicy([rule]).decide(
        "run_command", (RunEffect(script=script),), PolicyFacts(WORKSPACE, policy)
    )


@rows(
    "rule, script",
    [
        ("deny run rm *", "ls\n\\rm x"),
        ("deny run rm *", "ls ==\nrm x"),
        ("deny run rm *", "echo a\n\\\nrm x"),
        ("deny run git push *", "echo =~\ngit push"),
        ("deny run git push *", "ls\n\\git push origin main"),
        ("deny run sudo *", "cat a.txt\n\\sudo reboot"),
        ("deny run rm *", "echo $'\\\\'; rm -rf src; echo '\\'"),
        ("deny run rm *", "echo `echo \\`rm -rf src\\``"),
        ("deny run git push *", 'x=status; eval "x=push"; git $x'),
    ],
)
def test_rules_against_commands_hold_behind_a_line_break(rule: str, script: str) -> None:
    policies: list[PolicyName] = ["ask", "plan", "accept-edits", "bypass"]
    assert {decide_with(rule, script, policy).verdict for policy in policies} == {"deny"}


@rows(
    "script, guard",
    [
        ("echo a\n\\\nrm -rf ~", "guard.ruin"),
        ("echo a\n\\\nrm -rf /", "guard.ruin"),
        ("ls ==\nrm -rf ~", "guard.ruin"),
        ("ls\n\\rm -rf /", "guard.ruin"),
        ("echo a\n\\\ncat ~/.ssh/id_rsa", "guard.secret"),
        ("echo a\n\\\ncat .env", "guard.secret"),
        ("ls\n\\cat .env", "guard.secret"),
    ],
)
def test_guards_hold_behind_a_line_break(script: str, guard: str) -> None:
    policies: list[PolicyName] = ["ask", "plan", "accept-edits", "bypass"]
    found = [decide(script, policy) for policy in policies]
    assert [(one.verdict, one.rule_id) for one in found] == [("deny", guard)] * 4


@rows(
    "script",
    [
        "cat <<'E'\na\n\\section{a}\nE",
        "grep -n '\n\\foo' a.txt",
        "ls src\nls tests",
        "for f in a b; do\n  wc -l $f\ndone",
    ],
)
def test_ordinary_line_breaks_are_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


@rows(
    "rule, script",
    [
        ("deny run rm *", "git ls-files | xargs --max-lines rm wc"),
        ("deny run rm *", "git ls-files | xargs --replace rm {}"),
        ("deny run sh *", "git ls-files | xargs --max-lines sh wc"),
        ("deny read .env", "od -w .env"),
    ],
)
def test_rules_hold_behind_an_option_whose_word_is_optional(rule: str, script: str) -> None:
    assert decide_with(rule, script).verdict == "deny"


@rows(
    "script",
    [
        "git diff -U5 --stat",
        "git log -n 5 --format=%B --abbrev=8",
        "git blame --abbrev=8 README.md",
        "git log --author ada --since yesterday",
        "git ls-files | xargs --max-lines=5 wc -l",
        "od -w8 a.bin",
        "head -n -5 a.txt",
        "grep -e -x a.txt",
        "rg -A 3 TODO",
        "ag -A3 TODO",
        "journalctl -n 20 --no-pager",
        "sort -k 2 -t , a.csv",
    ],
)
def test_options_with_their_words_are_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


@rows(
    "script",
    [
        "awk '{s+=$1*1.5} END {print s/2, .5, 1e3}' a.txt",
        "awk '{print $1,\n$2}' a.txt",
        "awk 'NR>1 &&\n$2>5 {print $1}' a.txt",
        "awk -F: '{print $1}\n$3 > 5 {n++}' a.txt",
    ],
)
def test_an_ordinary_awk_script_is_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


@rows(
    "script",
    ["nm ./*", "strings src/*", "cat *", "wc -l *.py", "head -3 *", "ls *", "du -sh *", "strings -- *.bin"],
)
def test_a_name_that_cannot_be_an_option_is_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


@rows("script", ["ps aux", "ps -ef", "ps -eo pid,cmd", "ps -p 1 -o comm", "ps ax", "ps aux | grep python"])
def test_processes_are_listed_unasked(script: str) -> None:
    assert decide(script).verdict == "allow"


@rows(
    "rule, script, rule_id",
    [
        ("deny run git push *", "git rebase -x 'echo a' -x 'git push' main", "rule: deny run git push *"),
        ("ask read x", "git rebase -x 'echo a' -x 'rm -rf /' main", "guard.ruin"),
    ],
)
def test_each_of_several_scripts_is_read_by_itself(rule: str, script: str, rule_id: str) -> None:
    found = decide_with(rule, script, "bypass")
    assert (found.verdict, found.rule_id) == ("deny", rule_id)
