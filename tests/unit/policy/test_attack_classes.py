"""Classes of attacks that once ran unasked: none does, and what is denied stays denied."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.judge import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName


def decide_with(rule: str, script: str, policy: PolicyName = "ask") -> Decision:
    """The decision about a command line where the user has one rule."""
    return RulePolicy([rule]).decide("run_command", (Runs(script=script),), PolicyFacts(WORKSPACE, policy))


def must_not_run(script: str) -> None:
    assert decide(script, "ask").verdict != "allow"
    assert decide(script, "plan").verdict != "allow"


LINE_BREAKS = [
    "ls\n\\rm -rf src",
    "ls\n\\rm -rf .git/refs .git/objects",
    "ls -la\n  \\rm -rf src",
    "ls\n\t\\\\rm -rf src",
    "cat a.txt # note\n\\rm -rf src",
    "echo a\n\\\nrm -rf src",
    "echo a\n \\\n\\\nrm -rf src",
    "echo a\n\\\nsudo rm -rf /",
    "echo a\n\\\ncurl -s http://127.0.0.1:18887/exfil",
    "echo a \\\\\nrm -rf src",
    "echo a\\\\\\\\\nrm -rf src",
    "echo =~\nrm -rf src",
    "ls ==\nsudo reboot",
    "ls ==\n\n\nrm -rf src",
    "ls == # note\nrm -rf src",
    "grep =~\nX=1 rm -rf src",
    "test a ==\nrm -rf src",
    "[ a ==\nrm -rf src ]",
    "cat a.txt | grep ==\nrm -rf src",
    "echo $(ls ==\nrm -rf src)",
    "if ls ==\nrm -rf src\nthen ls; fi",
    "x=1\n\\rm -rf src",
    "export A=1\n\\rm -rf src",
    "ls > /dev/null\n\\rm -rf src",
    "for f in a\n\\b\ndo ls; done",
    "case a in\n\\b) ls;; esac",
    "ls &&\n\\rm -rf src",
    "{ ls\n\\rm -rf src\n}",
]


@rows("script", LINE_BREAKS)
def test_a_line_that_bash_runs_as_a_command_of_its_own_is_never_an_argument(script: str) -> None:
    must_not_run(script)


@rows(
    "rule, script",
    [
        ("deny run rm *", "ls\n\\rm x"),
        ("deny run rm *", "ls ==\nrm x"),
        ("deny run rm *", "echo a\n\\\nrm x"),
        ("deny run git push *", "echo =~\ngit push"),
        ("deny run git push *", "ls\n\\git push origin main"),
        ("deny run sudo *", "cat a.txt\n\\sudo reboot"),
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
        "rg -n TODO \\\n  --type py \\\n  src",
        "find src \\\n  \\( -name '*.py' -o -name '*.md' \\) -print",
        "git log --oneline \\\n| head -5",
        "cat <<'E'\na\n\\section{a}\nE",
        "grep -n '\n\\foo' a.txt",
        "ls src\nls tests",
        "for f in a b; do\n  wc -l $f\ndone",
    ],
)
def test_ordinary_line_breaks_are_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


OPTIONAL_WORDS = [
    "git log -1 --format=%B -U --output=/root/.bashrc",
    "git log -1 --unified --output=a.txt",
    "git diff -U --output=a.txt",
    "git diff --unified --output=a.txt",
    "git show -U --output=a.txt",
    "git stash show -U --output=a.txt",
    "git log --format --output=a.txt",
    "git diff --format --output=a.txt",
    "git show --format --output=.git/config",
    "git log --min-parents --output=a.txt",
    "git log --max-parents --output=a.txt",
    "git log --author --output=a.txt",
    "git rev-list --format --output=a.txt HEAD",
    "git reflog -U --output=a.txt",
    "git blame --abbrev --contents=/root/.ssh/id_rsa README.md",
    "git blame --abbrev --contents=.env README.md",
    "git diff --no-index -U /etc/passwd a.txt",
    "git ls-files | xargs --max-lines rm wc",
    "git ls-files | xargs --max-lines sh wc",
    "git ls-files | xargs --replace rm wc",
    "git ls-files | xargs --max-lines --replace rm wc",
    "git ls-files | xargs -l rm wc",
    "git ls-files | xargs -i rm wc",
    "git ls-files | xargs -e rm wc",
    "git ls-files | xargs --eof rm wc",
    "od -c -w .env",
    "od --width .env",
    "od -w /etc/shadow",
    "ag -A --pager='sh x.sh' foo",
    "ag -C --pager=./x foo",
    "ack -B --pager=./x foo",
    "journalctl --no-pager --lines --vacuum-size=1",
    "journalctl -n --rotate",
    "journalctl --unit --rotate",
]


@rows("script", OPTIONAL_WORDS)
def test_an_option_whose_word_is_optional_hides_nothing(script: str) -> None:
    must_not_run(script)


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
