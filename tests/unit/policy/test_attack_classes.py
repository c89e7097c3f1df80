"""Classes of attacks that once ran unasked: none does, and what is denied stays denied."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.decision.policy import RulePolicy
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
    "echo $'\\\\'; rm -rf src; echo '\\'",
    "echo `echo \\`rm -rf src\\``",
    'echo "`echo \\"\\`rm -rf src\\`\\"`"',
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
        ("deny run rm *", "echo $'\\\\'; rm -rf src; echo '\\'"),
        ("deny run rm *", "echo `echo \\`rm -rf src\\``"),
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


AWK = [
    "awk 'BEGIN{0system(\"id\")}'",
    "awk 'BEGIN{0.system(\"id\")}'",
    "awk 'BEGIN{1e0system(\"id\")}'",
    "awk 'BEGIN{0x1system(\"id\")}'",
    "awk 'BEGIN{.5system(\"id\")}'",
    "gawk 'BEGIN{0getline x<\".env\"; print x}'",
    "mawk 'BEGIN{0ENVIRON[\"X\"]}'",
    "awk 'BEGIN{print 0ENVIRON[\"X\"]}'",
    'awk \'BEGIN{print "evil",\n"x" > "/root/.bashrc"}\'',
    'awk \'BEGIN{print "evil", # note\n\n"x" > "a.txt"}\'',
    'awk \'BEGIN{print 1 &&\n"x" > "a.txt"}\'',
    'awk \'BEGIN{print 0 ||\n"x" > "a.txt"}\'',
    'awk \'BEGIN{print 1 ?\n"x" : "y" > "a.txt"}\'',
    'awk \'BEGIN{print 1 ? "x" :\n"y" > "a.txt"}\'',
    'awk \'BEGIN{printf "%s",\n"x" > "a.txt"}\'',
]


@rows("script", AWK)
def test_an_awk_script_runs_and_writes_nothing_unasked(script: str) -> None:
    must_not_run(script)


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


NAMES_FROM_OTHERS = [
    "fd . -x tee",
    "fd . -x uniq README.md",
    "fd . -x xxd README.md",
    "fd . --exec tee",
    "fd . -X tee",
    "fd . --exec-batch tee a.txt",
    "fdfind . -x tee",
    "fd . -x sort -o",
    "fd . -x tee {.}",
    "fd . -x tee {/}",
    "fd . -x tee {//}",
    "fd . -x tee {/.}",
    "fd -u . -x cat",
    "fd -H -I . -x head -5",
]


@rows("script", NAMES_FROM_OTHERS)
def test_a_path_that_a_program_appends_is_not_overlooked(script: str) -> None:
    must_not_run(script)


LOOPS = [
    "for ((PATH=1;;)); do ls; break; done",
    "for ((i=0;PATH=1;)); do ls; break; done",
    "for ((i=0;i<1;PATH=1)); do ls; done",
    "for ((PATH=1, i=0; i<1; i++)); do ls; done",
    "for ((PATH++;;)); do ls; break; done",
    "for ((IFS=1;;)); do ls; break; done",
    "for (( BASH_ENV = 1 ;;)); do ls; break; done",
    ": {PATH}</dev/null; ls",
    "echo a {PATH}>/dev/null; ls",
    "exec {PATH}<a.txt; ls",
    "((PATH=1)); ls",
    "let PATH=1; ls",
    "x=$((PATH=1)); ls",
]


@rows("script", LOOPS)
def test_arithmetic_that_sets_a_variable_of_the_shell_is_asked_about(script: str) -> None:
    must_not_run(script)


NAMES_THAT_ARE_OPTIONS = [
    "tar tf *",
    "tar -tf a.tar *",
    'tar tf a.tar "$(head -1 README.md)"',
    'x=$(head -1 README.md); tar tf a.tar "$x"',
    "bat *",
    "batcat *",
    "soxi *",
    "cloc *",
    "exiftool *",
    "nm *",
    "objdump -d *",
    "readelf -h *",
    "size *",
    "strings *",
    "ar t *",
    "iconv *",
    "file *",
    "shuf *",
    "less *",
    "git blame *",
    "strings ?*",
    "strings [a-z@]*",
    "strings $(head -1 README.md)",
]


@rows("script", NAMES_THAT_ARE_OPTIONS)
def test_a_name_or_text_of_the_repository_never_becomes_an_option(script: str) -> None:
    must_not_run(script)


@rows(
    "script",
    ["nm ./*", "strings src/*", "cat *", "wc -l *.py", "head -3 *", "ls *", "du -sh *", "strings -- *.bin"],
)
def test_a_name_that_cannot_be_an_option_is_not_asked_about(script: str) -> None:
    assert decide(script).verdict == "allow"


DO_MORE_THAN_READ = [
    "tsc --noEmit",
    "tsc --noEmit -p tsconfig.json",
    "rustc --print sysroot=/root/.bashrc",
    "rustc --print target-list=a.txt",
    "export DIFF='sh x.sh'; zdiff a.gz b.gz",
    "DIFF='sh x.sh'; zdiff a.gz b.gz",
    "zdiff a.gz b.gz",
    "export npm_config_registry=http://x; npm -v",
    "npm_config_registry=http://x; npm -v",
    "export npm_config_script_shell=./x; ls",
    "pipenv graph",
    "sequelize-cli --version",
    "prisma --version",
    "npm ls",
    "npm list",
    "npm run",
    "npm root",
    "npm prefix",
    "npm why x",
    "npm explain x",
    "npm pkg get name",
    "npm config get registry",
    "npm config list",
    "npm config ls",
    "npm bin",
    "go list ./...",
    "go list -m all",
    "go mod graph",
    "go mod why x",
    "go mod verify",
    "go doc net/http",
    "git -c blame.ignoreRevsFile=.env blame README.md",
]


@rows("script", DO_MORE_THAN_READ)
def test_a_program_that_does_more_than_read_is_asked_about(script: str) -> None:
    must_not_run(script)


@rows(
    "script",
    [
        "ps e",
        "ps eh",
        "ps eww",
        "ps xew",
        "ps axwwef",
        "ps ax e",
        "ps auxe",
        "ps gex",
        "ps Te",
        "ps -p 1 e",
        "ps -p 1 ewww",
        "ps --pid 1 e",
        "ps -ef e",
        "ps -e e",
        "ps -eo pid,cmd e",
        "ps -eo pid,environ",
        "ps x $X",
    ],
)
def test_variables_of_other_processes_are_not_shown_unasked(script: str) -> None:
    must_not_run(script)


@rows("script", ["ps aux", "ps -ef", "ps -eo pid,cmd", "ps -p 1 -o comm", "ps ax", "ps aux | grep python"])
def test_processes_are_listed_unasked(script: str) -> None:
    assert decide(script).verdict == "allow"
