"""Scripts that programs take as an operand: awk, jq and sed, read in their own languages."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import classes, verdict
from tui_agent.policy.programs.awk import only_prints
from tui_agent.policy.programs.jq import only_filters
from tui_agent.policy.programs.sed import only_edits_text


@pytest.mark.parametrize(
    "script",
    [
        "{print $1}",
        "$3 > 100 {print $1}",
        "length > 80",
        "{ if ($3 > max) max = $3 } END { print max }",
        "{a[NR]=$0} END{for(i=NR;i>0;i--) print a[i]}",
        "/system/ {print}",
        '{print "a > b | c"}',
        "{print (a > b)}",
        "{print $1 / 2, (a)/2, a[1]/2}",
        "if (x) /y/",
        "{ x = y >= 2 || z } # system()",
        'BEGIN {FS=","} {printf "%s\\n", $2}',
        "/^## \\[/{if (p) exit; p=1} p",
        'length($0) > 120 {print FILENAME":"FNR}',
        "{print a; if (b > 3) c++}",
    ],
)
def test_an_awk_program_that_only_prints(script: str) -> None:
    assert only_prints(script)


@rows(
    "script",
    [
        'BEGIN{system("x")}',
        "{print > $2}",
        '{print(a)>"b"}',
        '{print a, b > "c"}',
        '{printf "x" >> "y"}',
        '{print | "sh"}',
        '{"date" | getline d}',
        "{getline < f}",
        "{print ENVIRON[1]}",
        '@load "x"',
        'BEGIN{f="system"; @f("id")}',
        "BEGIN{ARGV[1]=1}",
        'sys\\\ntem("x")',
        'a / system("x") / b',
        '{if (x) /"/; system("id") #"/}',
        'length /"/; system("id") #"/',
        '/[/"]/ && system("id") #"/',
        '"unclosed',
        "(",
        ")",
        'BEGIN{extension("x.so")}',
    ],
)
def test_an_awk_program_that_may_do_more(script: str) -> None:
    assert not only_prints(script)


@pytest.mark.parametrize(
    "script",
    [
        ".",
        ".env",
        ".services[].environment",
        '"\\(.name)@\\(.version)"',
        '.[] | select(.a == "env") | {env: .b, "x": 1}',
        '"\\("\\(.a)" + "b")"',
        ".a # of all\n| .b",
        "if .a then .b else .c end",
    ],
)
def test_a_filter_that_only_filters(script: str) -> None:
    assert only_filters(script)


@pytest.mark.parametrize(
    "script",
    [
        "env",
        "env.SECRET",
        "$ENV.SECRET",
        ".a + env.B",
        "..env",
        "{a: env}",
        '"\\(env.X)"',
        '"\\("\\(env.X)")"',
        'import "a" as a; .',
        'include "a"; .',
        "input_filename",
        'load("/etc/passwd")',
        "strenv(X)",
        '# \\\n " \n env "',
        '"open',
        '"\\(',
    ],
)
def test_a_filter_that_may_do_more(script: str) -> None:
    assert not only_filters(script)


@pytest.mark.parametrize(
    "script",
    [
        ":a;N;$!ba;s/\\n/ /g",
        "/x/i\\new",
        "a text",
        "2c\\\nnew",
        "\\|/usr|p",
        "$!{N;D}",
        "5q",
        "l",
        "/a/I,/b/Ip",
        "b end\n:end",
    ],
)
def test_a_sed_script_of_labels_and_texts(script: str) -> None:
    assert only_edits_text(script)


@pytest.mark.parametrize(
    "script",
    [
        "a\\",
        "a x\\\ne ls",
        "a x\ne ls",
        ":a;e",
        "b x;w f",
        "\\|x|e",
        "i\\\ntext\nw out",
        "}e",
        "2c\\\nx\nr f",
        "a",
        "\\ne",
    ],
)
def test_no_label_and_no_text_hides_a_command(script: str) -> None:
    assert not only_edits_text(script)


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("git diff --output x", "workspace"),
        ("git log --outp=x", "workspace"),
        ("sort --out=a b", "workspace"),
        ("git branch --del x", "destructive"),
        ("sed --in-p s/a/b/ f", "workspace"),
        ("find . -ok rm {} ';'", "destructive"),
        ("fd -e o -x rm", "destructive"),
        ("tar -cf a.tar b", "workspace"),
        ("chmod u+s a", "privilege"),
        ("date -s x", "privilege"),
        ("ip link set eth0 down", "privilege"),
        ("rsync -a --delete a b", "destructive"),
        ("docker system prune -f", "destructive"),
        ("docker run --privileged x", "privilege"),
        ("kubectl delete pod x", "destructive"),
        ("git worktree remove x", "destructive"),
    ],
)
def test_what_an_option_or_a_subcommand_does_gives_the_class(script: str, name: str) -> None:
    assert verdict(script) != "allow"
    assert name in classes(script)


@pytest.mark.parametrize(
    "script",
    [
        "tar tzf a.tgz",
        "tar -tvf a.tar",
        "tar --list -f a.tar",
        "tar tfz a.tgz",
        "grep -rn x src --include=*.ts",
    ],
)
def test_bundles_and_patterns_in_options_are_read(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "tar tf host:a",
        "tar -tf host:a",
        "tar tIf x a",
        "tar xzf a",
        "tar tzfx a",
        "tar",
        "tar -tf a --to-command=x",
    ],
)
def test_a_bundle_that_does_more_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@pytest.mark.parametrize(
    "script", ["VERSION=$(cat a.txt); echo $VERSION", "BRANCH=x && echo $BRANCH", "GIT_PAGER=cat git log"]
)
def test_a_variable_that_no_program_reads_changes_nothing(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    ["PAGER=less git log", "GIT_PAGER=sh git log", "EDITOR=x; git log", "VERSION=1 make", "LD_PRELOAD=x; ls"],
)
def test_a_variable_that_programs_read_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@rows(
    "script",
    [
        "man man",
        "man 2 open",
        "man -a ls",
        "man -s 2 open",
        "man -P x ls",
        "man ./ls",
        "dpkg -l",
        "dpkg --list 'a*'",
        "dpkg-query -l",
        "dpkg-query --list",
        "cargo help doc",
        "dmesg -H",
        "journalctl",
        "readelf -a @a",
        "nm @a",
        "strings @a",
        "sysctl -n /../x",
        "sysctl -n a=b",
        "yq ea 'load(\"x\")' f",
        "yq eval-all 'load(\"x\")' f",
        "ps axe",
        "ps eaux",
        "ls > -",
        "zsh -c 'ls *'",
        "sed -n p a > -",
    ],
)
def test_what_opens_a_pager_or_reads_words_from_elsewhere_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@pytest.mark.parametrize(
    "script",
    [
        "man -k x",
        "man -f ls",
        "man -w ls",
        "man --where ls",
        "dpkg -s bash",
        "dpkg-query -W",
        "journalctl -n 5 --no-pager",
        "ps aux",
        "yq eval .a f",
        "nm a",
        "ls > /dev/stderr",
    ],
)
def test_what_does_not_is_allowed(script: str) -> None:
    assert verdict(script) == "allow"


def test_a_redirection_both_ways_writes() -> None:
    assert "workspace" in classes("echo hi <> f")
    assert "network" in classes("exec 3<>/dev/tcp/example.org/80")
