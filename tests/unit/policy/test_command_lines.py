"""What a command line does, judged part by part, and what may never run unasked."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.programs.runs import mentioned_paths, read_runs
from tui_agent.policy.programs.sed import only_edits_text
from tui_agent.policy.programs.table import parse_table, table
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Reads, Runs, Writes

WORKSPACE = "/home/ada/timesheet"


def decide(script: str, policy: str = "ask", cwd: str = "", **resolved: str) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, dict(resolved))  # type: ignore[arg-type]
    return RulePolicy().decide("run_command", (Runs(script=script, cwd=cwd),), facts)


READS = [
    "ls -la",
    "cat src/a.py | head -20",
    "git status",
    "git -C sub diff --stat HEAD~1 -- a.py",
    "git --no-pager log --oneline -5 main..feature",
    "git show HEAD:src/a.py",
    "git branch -a",
    "git config --get user.name",
    "git stash list",
    "grep -rn 'def duration' src tests",
    "grep -e a -e b -f patterns.txt src/a.py",
    "rg -n --type py duration",
    "find . -name '*.py' -not -path './.venv/*' -type f",
    "find src \\( -name '*.py' -o -name '*.md' \\) -print",
    "sed -n '1,20p;30p' src/a.py",
    "sed 's/a/b/g' src/a.py",
    "awk '{print $1}' src/a.py",
    "sort -u names | uniq -c | sort -rn | head",
    "wc -l src/*.py",
    'for f in src/*.py; do wc -l "$f"; done',
    'dir=src; ls "$dir"',
    "cd src && ls ..",
    "cd src && cat a.py; cat b.py",
    "if [ -f setup.py ]; then cat setup.py; else echo none; fi",
    "[[ -d src ]] && ls src || echo missing",
    "case x in a) ls;; *) pwd;; esac",
    "cat <<'EOF'\n$(rm -rf /)\nEOF",
    "diff <(sort a) <(sort b)",
    "echo $(git rev-parse HEAD)",
    "! grep -q x a.py",
    "ls > /dev/null 2>&1",
    "CI=1 LC_ALL=C sort a",
    "timeout 5 cat a.py",
    "bash -c 'ls | wc -l'",
    "/bin/cat a.py",
    "date +%F",
    "python3 --version",
    "command -v python3",
    "true # a comment",
    "ls $PWD/src",
    "test -f a && echo yes",
    "set -euo pipefail; ls",
    "find . -name '*.py' | xargs grep -n TODO",
    "find . -name '*.py' -print0 | xargs -0 cat",
    "find . -name '*.py' | xargs -I{} head -5 {}",
    "find . -name '*.py' -exec cat {} +",
    "find src -name '*.py' -exec grep -l foo {} + -exec wc -l {} +",
    "git ls-files '*.py' | sort | head -5 | xargs wc -l",
    "find . 2>/dev/null | xargs wc -l",
    "wc -l $(git ls-files)",
    "files=$(git ls-files); grep foo $files",
    "for f in $(git ls-files '*.py'); do wc -l $f; done",
    'while IFS= read -r line; do echo "$line"; done < a.py',
    "awk 'NR>=10 && NR<=20 || /x/' a.py",
    "cat /etc/os-release",
    "grep -rn define /usr/include",
    "tar -tzf a.tgz | head",
    "unzip -l a.zip",
    "git tag -l 'v*'",
    "git branch --list 'f*'",
    "pytest --version",
    "ruff check . --diff",
    "black --check src",
    "docker ps -a",
    "alias",
    "ulimit -a",
    "top -b -n 1",
    "ip addr show eth0",
    "less -N a.py",
]

ASKS = [
    "pytest -q",
    "python -c 'print(1)'",
    "python evil.py --version",
    "node x.js -v",
    "foo",
    "./run.sh",
    "make",
    "rm a.py",
    "git commit -m x",
    "git push",
    "git -c core.pager=evil log",
    "git diff --output=x",
    "git grep -O x",
    "git branch new",
    "git tag v1",
    "git remote add x y",
    "git log --ext-diff",
    "find . -exec cat {} +",
    "find . -name '*.pyc' -exec rm {} +",
    "find . -name a -exec sh -c 'cat {}' ';'",
    "find . -name a -exec {} ';'",
    "find . -name '*.py' -exec sed -i s/a/b/ {} +",
    "find . -name '*.py' -exec grep -l a {} + -exec rm {} +",
    "find -L . -name a | xargs wc",
    "find / -name a | xargs wc",
    "find . -name a | xargs -I{} cp {} b",
    "find . -name a | sed 's/^/\\//' | xargs wc",
    "find . -name a | grep -o '/etc.*' | xargs wc",
    "git ls-files | xargs grep a < /etc/passwd",
    "git ls-files | xargs grep a <<< /etc/passwd",
    "git ls-files | xargs wc < names",
    "git ls-files | xargs wc <<EOF\nx\nEOF",
    "git ls-files < a | xargs wc -l",
    "find . |& xargs wc",
    "(find .) | xargs wc",
    "{ find .; echo /etc/passwd; } | xargs wc",
    "echo /etc/passwd | xargs wc",
    "find . -name a | xargs cat",
    "find . | xargs sort",
    "cat $(git ls-files)",
    "grep a $(cat names)",
    "read PATH < a; ls",
    "f=a.py; read f < names; cat $f",
    "less +!x a",
    "less -o x a",
    "tar -tf host:a",
    "tar tf a --to-command=x",
    "ruff check --fix .",
    "black --check --config x .",
    "git tag -l -d x",
    "docker ps -x",
    "docker run x",
    "top",
    "ip addr add 10.0.0.1 dev eth0",
    "alias ls=rm",
    "./tool --version",
    "awk '{print >= 1 > \"x\"}' a",
    "find . -name '*.pyc' -delete",
    "find . -fprint out",
    "sed -i s/a/b/ a.py",
    "sed 's/a/b/e' a.py",
    "sed 'w out' a.py",
    "sed -n '1e date' a.py",
    "awk 'BEGIN{system(\"x\")}'",
    "awk '{print > \"out\"}' a",
    "sort -o a a",
    "sort --compress-program=evil a",
    "sort *",
    "uniq a b",
    "rg --pre evil x",
    "rg x *",
    "tree -o out",
    "xxd -r a b",
    "tee out",
    "echo x > out",
    "cat /etc/passwd",
    "cat ../other/a",
    "cat ~/notes",
    "ls $HOME",
    "cat $FILE",
    'cat "$(pick)"',
    "$EDITOR a",
    "e\\\ncho a",
    "ls\\\n-la",
    "FOO=1 ls",
    "PATH=. ls",
    "PAGER=1; ls",
    "export PAGER=1",
    "alias ls=rm; ls",
    "ls() { rm -rf src; }; ls",
    "eval ls",
    "source x",
    ". x",
    "exec ls",
    "env",
    "env CI=1",
    "env FOO=1 ls",
    "env -S 'ls -la'",
    "xargs rm",
    "ls | xargs cat",
    "ls | xargs rm",
    "sh",
    "cat x | sh",
    'bash -c "$X"',
    "bash x.sh",
    "cat <<EOF\n$(rm a)\nEOF",
    "diff <(rm a) b",
    "echo `rm a`",
    'echo "$(rm a)"',
    "echo $((a[$(rm x)]))",
    "x='a[$(rm y)]'; echo $((x))",
    "x='a[$(rm y)]'; echo ${b[x]}",
    "x='a[$(rm y)]'; echo ${!x}",
    "x='$(rm y)'; echo ${x@P}",
    "cat <<EOF\n$((x))\nEOF",
    "é=1 ls",
    "é=1",
    "[[ -v a[$(rm x)] ]]",
    "[[ a -eq 1 ]]",
    "test -v 'a[$(rm x)]'",
    "printf -v X hi",
    "ping example.org",
    "dig example.org",
    "curl example.org",
    "echo x > /dev/tcp/example.org/80",
    "pip install x",
    "sudo ls",
    "ps auxe",
    "set -o keyword; ls PATH=/tmp",
    "set -a; ls",
    "sed 's/[/]/ p;/e;/ x;/p' a",
    "jq env a.json",
    "kill 12",
    "git reset --hard",
    "git push --force",
    "chmod -R a+x src",
    "cd /etc && ls",
    "cd $X && ls",
    "cd ..; ls",
    "pushd -n src; ls",
    "pushd /etc; ls",
    "ls \u202e",
    "ls\u00a0-la",
    "echo a" + " " * 60 + "; ls",
    "for x in $(ls); do cat $x; done",
    'while read f; do cat "$f"; done < list',
    "select x in a b; do ls; done",
    "coproc ls",
    "ls |& tee x",
    "time -o out ls",
    "nice -n 5 make",
    "",
    "# only a comment",
    "if",
    "ls (",
    "'",
]

NEVER = [
    "rm -rf ~",
    "rm -rf tests/ patches/ plan/ ~/",
    "rm -rf $HOME/",
    'rm -rf "$HOME"',
    "rm -rf /",
    "rm -rf /*",
    "rm -rf *",
    "rm -rf ./*",
    "rm -rf .",
    "rm -r ..",
    "cd build; rm -rf ./*",
    "rm -rf .git",
    "find . -delete",
    "find / -delete",
    "chmod -R 777 /",
    "chown -R ada ~",
    "mv ~ /tmp/x",
    "mkfs.ext4 /dev/sda1",
    "dd if=/dev/zero of=/dev/sda",
    "echo x > /dev/sda",
    "echo x > /etc/hosts",
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "kill -9 -1",
    "kill -1",
    "shutdown now",
    "sudo rm -rf /",
    "sudo shutdown now",
    "bash -c 'rm -rf ~'",
    "timeout 9 rm -rf ~",
    "ls; (true && rm -rf ~)",
    "echo $(rm -rf ~)",
    "cat .env",
    'cat ./.e"n"v',
    "head certs/*.pem",
    "cat ~/.ssh/id_rsa",
    "grep x < .env",
    "git show HEAD:.env",
    "git diff --no-index a .env",
    "echo x > .git/hooks/pre-commit",
    "tee .tui_agent/policy.toml",
    "cp a ~/.bashrc",
    "for f in .env; do cat $f; done",
    "d=.ssh; cat $d/config",
]


@rows("script", READS)
def test_what_only_reads_the_workspace_runs_unasked_in_every_profile(script: str) -> None:
    for policy in ("plan", "ask", "accept-edits", "bypass"):
        found = decide(script, policy)
        assert found.verdict == "allow", found
        assert found.classes == ("read-only",)


@rows("script", ASKS)
def test_everything_else_is_asked_about(script: str) -> None:
    assert decide(script, "ask").verdict == "ask"
    assert decide(script, "accept-edits").verdict == "ask"
    assert decide(script, "plan").verdict == "deny"


@rows("script", NEVER)
def test_ruin_secrets_and_protected_files_are_refused_in_every_profile(script: str) -> None:
    for policy in ("plan", "ask", "accept-edits", "bypass"):
        assert decide(script, policy).verdict == "deny", policy


@pytest.mark.parametrize(
    "script", ["if", "'", "ls (", "false && f() { ls; }; f", "ls\u202e", "", "rm -rf $X/", "((1+x))"]
)
def test_what_is_not_understood_is_asked_about_even_in_bypass(script: str) -> None:
    assert decide(script, "bypass").verdict == "ask"


@pytest.mark.parametrize(
    ("script", "classes"),
    [
        ("ls", ("read-only",)),
        ("mkdir a", ("workspace",)),
        ("pytest", ("workspace",)),
        ("curl example.org", ("network",)),
        ("pip install x && pytest > a", ("workspace", "network")),
        ("rm -r build", ("destructive",)),
        ("git push --force", ("network", "destructive")),
        ("sudo apt-get install x", ("privilege",)),
        ("frobnicate", ("arbitrary",)),
        ("python -c 'x'", ("arbitrary",)),
    ],
)
def test_classes_are_named(script: str, classes: tuple[str, ...]) -> None:
    assert decide(script).classes == classes


def test_the_folder_it_is_started_in_counts() -> None:
    assert decide("cat ../a.py", cwd="src").verdict == "allow"
    assert decide("cat ../../a.py", cwd="src").verdict == "ask"
    assert decide("ls", cwd="/etc").verdict == "ask"
    assert decide("cat .env", cwd="src").verdict == "deny"


def test_links_are_followed_for_files_on_a_command_line() -> None:
    runs = Runs(script="cat link/passwd && ls sub", cwd="")
    assert set(mentioned_paths((runs, Reads(path="a"), Writes(path="b")))) >= {"link/passwd", "sub", "a", "b"}
    facts = PolicyFacts(WORKSPACE, "ask", {"link/passwd": "/etc/passwd"})
    assert RulePolicy().decide("run_command", (runs,), facts).verdict == "ask"


def test_words_without_a_shell_are_taken_as_they_are() -> None:
    facts = PolicyFacts(WORKSPACE, "ask")

    def argv(*words: str) -> str:
        return RulePolicy().decide("run_command", (Runs(argv=words),), facts).verdict

    assert argv("echo", "; rm -rf /", "$(x)", "*") == "allow"
    assert argv("cat", "a; b") == "allow"
    assert argv("cat", ".env") == "deny"
    assert argv("rm", "-rf", "/") == "deny"
    assert argv("cat", "a\0b") == "ask"


@pytest.mark.parametrize("count", [51, 500, 5000])
def test_a_denied_part_is_found_among_many(count: int) -> None:
    script = "; ".join(["true"] * count + ["git push"])
    facts = PolicyFacts(WORKSPACE, "bypass")
    policy = RulePolicy(["deny run git push *"])
    assert policy.decide("run_command", (Runs(script=script),), facts).verdict == "deny"


def test_a_script_too_long_to_read_is_refused_where_rules_stand_against_commands() -> None:
    script = "true;" * 40_000
    facts = PolicyFacts(WORKSPACE, "bypass")
    assert RulePolicy().decide("t", (Runs(script=script),), facts).verdict == "ask"
    assert RulePolicy(["deny run git push *"]).decide("t", (Runs(script=script),), facts).verdict == "deny"


def test_very_long_and_very_deep_scripts_are_asked_about() -> None:
    assert decide("ls;" * 5000).verdict == "ask"
    assert decide("(" * 500 + "ls" + ")" * 500).verdict == "ask"
    assert decide("echo " + "$(echo " * 200 + "x" + ")" * 200).verdict == "ask"


@pytest.mark.parametrize(
    "script",
    [
        "echo $((" + "(" * 3000 + "1" + ")" * 3000 + "))",
        "echo " + "${x:-" * 1500 + "}" * 1500,
        "[[ " + "( " * 2000 + "a" + " )" * 2000 + " ]]",
        "ls && " * 1500 + "ls",
        'echo "$(echo ' * 300 + ')"' * 300,
        "bash -c 'bash -c \"bash -c ls\"'",
    ],
)
def test_no_nesting_is_too_much(script: str) -> None:
    assert decide(script).verdict in ("allow", "ask")


@pytest.mark.parametrize("head", ["{", "$", "${", "a[", "<<", "[[ a =~ ", "$((", "~", "?(", "{a,"])
@pytest.mark.parametrize("char", ["é", "\uffff", "\U0001f600", "\U0010ffff"])
def test_no_character_ends_the_program(head: str, char: str) -> None:
    for _ in range(20):
        assert decide(f"ls {head}{char}").verdict in ("allow", "ask")


def test_words_outside_ascii_are_read_as_they_stand() -> None:
    report = read_runs(Runs(script="cat 'größe 😀.txt' naïve.md > ergebnis_ü"))
    assert report.parts[0].reads == ["größe 😀.txt", "naïve.md"]
    assert report.parts[0].writes == ["ergebnis_ü"]
    assert decide("cat größe.txt").verdict == "allow"


def test_each_part_tells_what_it_does() -> None:
    report = read_runs(Runs(script='pip install "freezegun>=1.5" && pytest -q tests/a.py > report.txt'))
    assert [part.program for part in report.parts] == ["pip", "pytest", "> report.txt"]
    assert report.parts[0].downloads
    assert report.parts[2].writes == ["report.txt"]


@pytest.mark.parametrize(
    "script", ["1,5p", "s/a/b/gi", "/x/,/y/d", "$p", "s|a|b|;2q", "y/ab/cd/", "1!d", "s/[a-z]*/b/"]
)
def test_sed_scripts_that_only_edit_text(script: str) -> None:
    assert only_edits_text(script)


@pytest.mark.parametrize(
    "script",
    [
        "w x",
        "r x",
        "1e ls",
        "s/a/b/w x",
        "s/a/b/e",
        "e",
        "s/a",
        "{",
        "a\\",
        "a x\\\ne ls",
        "W x",
        "s/[/]/x/e",
        "/[/]/w x",
    ],
)
def test_sed_scripts_that_may_do_more(script: str) -> None:
    assert script == "{" or not only_edits_text(script)


def test_the_table_of_programs_is_sound() -> None:
    programs = table().programs
    assert programs["egrep"].options == programs["grep"].options
    assert programs["git"].subs["show"].operands == "mixed"
    bare = {name for name in BUILTINS_THAT_ACT if name in programs and programs[name].does == "read-only"}
    assert {programs[name].operands for name in bare} <= {"none", "names"}


BUILTINS_THAT_ACT = [
    "alias", "bg", "bind", "caller", "compgen", "complete", "compopt", "declare", "dirs", "disown", "enable", "eval",
    "exec", "export", "fc", "fg", "getopts", "hash", "history", "jobs", "kill", "let", "local", "logout",
    "mapfile", "popd", "read", "readarray", "readonly", "shopt", "source", ".", "suspend", "times", "trap",
    "typeset", "ulimit", "umask", "unalias", "unset", "shift", "return",
]  # fmt: skip


@rows("name", BUILTINS_THAT_ACT)
def test_no_builtin_that_changes_the_shell_runs_unasked(name: str) -> None:
    assert decide(f"{name} PATH").verdict == "ask"
    assert decide(f"{name} PATH=x").verdict == "ask"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[programs.x]\ndoes = 'magic'", "no class"),
        ("[programs.x]\ndoos = 'read-only'", "unknown keys"),
        ("[programs.x]\nlike = 'y'", "no such entry"),
        ("[programs.x]\noptions = 'a'", "no option"),
        ("[programs.x]\nturns = { '-a' = 'bad' }", "no class"),
    ],
)
def test_a_wrong_table_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_table(f"{text}\n[environment]\nsafe = []\n")
