"""Calls of programs with languages and traps of their own, generated and mutated: some harmless, some not.

Words and fragments are chosen for what readers of options and scripts get wrong: optional words, glued numbers, brackets
with a slash, newlines, placeholders.
"""

import random
import shlex
from collections.abc import Sequence

OUTSIDE = "/tmp/outside/key"
SED_SEEDS = (
    "p", "1,3p", "/a/,/b/p", "s/a/b/g", "s|/usr|/opt|", "/^#/d;/^$/d", ":a;N;$!ba;s/\\n/ /g", "$!{N;D}", "1i\\\nnew", "2c\\\nnew", "a text", "y/abc/xyz/",
    "/x/{s/a/b/;p}", "s/[^\\/]*$//", "1~2d", "$!N;P;D", "5q", "#note\np", "s/[[:alpha:]]/x/", "/a/I,+2p", "$!{N;ba}", "b e\ns/a/b/\n:e",
)  # fmt: skip
SED_FRAGMENTS = (
    "w new", "r " + OUTSIDE, "R " + OUTSIDE, "W new", "e EVIL", "e", "1e EVIL", "s/x*/EVIL/e", "/e", "/w new", "gw new", "F", ";", "\n", "{", "}", "!", "\\", "\\\n", "/", "|", "[", "]", "[/]", "[]", "[^", "a\\",
    "a x", "i\\", "c\\\n", "b", "b x", ":x", " ", "0,", "1,", "$", "+3", "~2", "I", "M", "#", "#n\n", "&", "y/", "s/", "z", "l 5", "q5", "=", "\t", "\\w", "\\|", "\\%a%", "x", "'", '"', "\\n",
)  # fmt: skip
AWK_SEEDS = (
    "{print $1}", "$1 > 2 {print $1}", "length > 8", "NR==1{print; exit}", "{a[NR]=$0} END{for (k in a) print a[k]}", "{print (a > b)}", "{print $1 / 2, (a)/2}", 'BEGIN{FS=","}{print $2}', "/a/,/b/",
    '{sub(/x/, "y"); gsub("a","b",$1)} 1', "{if ($1 > 1) print a; else print b}", '{printf "%s\\n", $1}', "{x = a ? /b/ : /c/; print x}", "{print $1,\n $2}", "{n = split($0, p, /,/); print p[n]}", "!s[$0]++",
    '{print substr($0, 1, 3) toupper($1) "x > y"}', "BEGIN{print 1.5e1 .5 2.}", "{x /= 2; print x / 2 / 3}", "/[[:space:]]+$/{print}", "{print a++\n}", "NF && $NF ~ /a/ || !/b/",
)  # fmt: skip
AWK_FRAGMENTS = (
    'system("EVIL")', '0system("EVIL")', '1e0system("EVIL")', '.5system("EVIL")', '"EVIL"|getline', '|"EVIL"', '>"new"', '>>"new"', 'print "x">"new"', f'getline<"{OUTSIDE}"', f'0getline x<"{OUTSIDE}"', 'ENVIRON["TOKEN"]',
    'print ENVIRON["TOKEN"]', 'print "x",\n"y">"new"', "print x &&\ny>\"new\"", "print x ?\ny:z>\"new\"", f'ARGV[1]="{OUTSIDE}"', "ARGC=2", '@f("EVIL")', 'f="system";', "close(x)", "fflush()", "print", "printf", "length", "length /", "/", "/=",
    '"', "/[/]/", "/[]/]/", "/a/", "\\/", "#", "#\"\n", "\n", ";", "{", "}", "(", ")", "[", "]", "$", "++", "--", ">", ">=", "|", "||", "&&", "!", "~", "?", ":", ",", "=", "==", "1", "0x1", "1.", "x", "NR", "if(x)", "else", "in", "next", "exit",
    " ", "\\", "\\\n", "function f(a){system(a)}", 'f("EVIL")', "-", "+", "%", "^", "'", "getline", '"EVIL" |& getline', "é", "print>\"new\"", 'printf("x")>"new"',
)  # fmt: skip
JQ_SEEDS = (
    ".", ".a", ".a.env", "keys[]", '"\\(.a)@\\(.b)"', "to_entries[] | .key", "{env: .a, b}", "[.[]?] | length", 'sub("a"; "b")', 'gsub("\\\\s+"; " ")', ".a // empty", "paths", "map(.)", "@sh", "reduce .[]? as $x (0; .)",
    ".a # note\n| .b", "try error catch .", "limit(3; .[]?)", "[range(5)]", "input", "if .a then .b else .c end", "tojson | fromjson", "..",
)  # fmt: skip
JQ_FRAGMENTS = (
    "env", "env.TOKEN", "$ENV", "$ENV.TOKEN", ".env", "input_filename", 'include "x";', 'import "x" as x;', "def f: env;", "f", "repeat(.)", "range(infinite)", "until(false;.)", 'gsub("";"x")', '"', "\\(", "(", ")", "[", "]", "{", "}", "|", ",", ":",
    ";", ".", "..", "#", "#\\\n", "\n", "$x", "as", "@base64", "@base64d", "'", "\\", "::", "?", "//", "=", " ", "halt_error", "getpath([\"env\"])", "{env}", "[env]", "recurse(.)", "x", "1", "modulemeta", "get_search_list",
)  # fmt: skip
CALLS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "find": (
        (". -name *.py", "src -type f -print0", "src ( -name *.c -o -name *.py ) -print", ". -name *.py -exec wc -l {} +", "src -name *.py -exec grep -n a {} ;", ". -path ./odd -prune -o -name *.md -print", "src -execdir pwd ;"),
        ("-delete", "-exec", "rm", "EVIL", "{}", ";", "+", "-execdir", "-ok", "cat", "wc", "-fprint", "new", "-fprintf", "-fls", "-printf", "%p\\n", "-ls", "-o", "-a", "!", "(", ")", ",", "-name", "*", "*env", "?env", "*.env", ".*", "-path", "-L",
         "-follow", "src", "odd", ".", "-newer", "README.md", "-type", "f", "-files0-from", "names.txt", "-D", "exec", "-quit", "-maxdepth", "1", "-mindepth", "-", "--", "-regex", ".*", "-iname", "-f", "-x", "-samefile", ".env", "linked", "./x.sh"),
    ),
    "fdfind": (
        ("-e py", ". src", "-t f -e md", ". src -x wc -l", "-e py . src -X grep -n a", "-H -e md", "main src"),
        ("-x", "-X", "--exec", "--exec=EVIL", "-xEVIL", "EVIL", "rm", "tee", "cat", "wc", "{}", "{/}", "{.}", "{//}", ";", "-H", "-I", "-u", "-uu", "-L", "-Hx", "--", ".", "src", "odd", "-e", "py", "-t", "f", "-d", "1", "-S", "-1k", "+1b", "-E", "--exclude",
         "-g", "*", "*env", "env", "--base-directory", "/tmp/outside", "--search-path", "--strip-cwd-prefix", "-0", "-a", "-l", "-q", "-1", "--type=f", "--color=always", "--and", "--ignore-file", "linked", ".env", "./x.sh", "README.md", "-j", "1"),
    ),
    "xargs": (
        ("-0 wc -l", "-0 grep -n a", "-0 -n 1 echo", "echo", "-0 -I{} wc -l {}", "-0 cat", "-r echo a", "-0 -P 2 head -1"),
        ("-0", "--max-lines", "--max-lines=1", "-l", "-l1", "-i", "-i@", "--replace", "--replace=@", "-e", "-ex", "--eof", "-E", "-L", "1", "-n", "-I", "{}", "-I@", "@", "-d", "\\n", "-a", "names.txt", "EVIL", "rm", "./x.sh", "wc", "cat", "echo", "head",
         "-c", "-t", "-r", "-x", "-s", "99", "--process-slot-var", "PATH", "--process-slot-var=x", "--arg-file=names.txt", "--", "-P", "README.md", "--max-args", "--null", "--max-chars", "-S", "-R", "-J", "--show-limits", OUTSIDE),
    ),
    "git": (
        ("log -1 --format=%h", "diff --stat", "show --stat HEAD", "status --short", "ls-files", "blame README.md", "grep -n a", "log --oneline -3 -- README.md", "diff HEAD -- src", "branch", "rev-parse HEAD"),
        ("--output=new", "--output", "new", "-U", "-U3", "--unified", "--unified=3", "--format", "--format=%B", "--min-parents", "--max-count", "-n", "1", "--abbrev", "--abbrev=7", f"--contents={OUTSIDE}", "--contents", OUTSIDE, "--stat", "-S", "-G", "a", "-O./x.sh",
         "-O", "--open-files-in-pager=./x.sh", "--ext-diff", "--textconv", "--no-index", "/dev/null", "HEAD", "README.md", "--", "-p", "-c", "core.pager=./x.sh", "diff.external=./x.sh", "--exec-path=./", "--color", "--color=always", "-M", "-C", "-l", "--word-diff",
         "--word-diff-regex", "--src-prefix", "-L", "1,2:README.md", "--since", "now", "--graph", "-z", "-D", "-d", "-m", "main", "--sort", "--no-pager", "-P", "-p", "--ignore-revs-file", ".env", "--relative", "--name-only", "-I", "-f", "-e", "--cached", "--list", "-v"),
    ),
    "od": (
        ("-c README.md", "-A x -t x1z README.md", "-w16 -c src/main.py", "-N 4 README.md"),
        ("-w", "-w8", "--width", "--width=8", ".env", OUTSIDE, "-j", "1", "-t", "x1", "-S", "-S3", "--strings", "--strings=3", "--traditional", "-N", "-A", "n", "-v", "--", "-", "README.md", "--endian=big", "--endian", "-c", "+1", "--skip-bytes"),
    ),
    "tar": (
        ("tf a.tar", "-tvf a.tar", "--list -f a.tar"),
        ("-x", "x", "-c", "-f", "new", "a.tar", "--to-command=./x.sh", "--to-command", "--checkpoint=1", "--checkpoint-action=exec=./x.sh", "-I", "./x.sh", "--use-compress-program=./x.sh", "--use-compress-program", "-C", "src", "-O", "-T", "names.txt", "--rmt-command=./x.sh",
         "-F", "-F./x.sh", "--info-script=./x.sh", "-M", "-L", "1", "--exclude", "*", "--exclude=a", "--wildcards", "README.md", "-v", "--", "-g", "--listed-incremental=new", "--index-file=new", "--one-top-level", "-X", ".env", "--totals", "--warning"),
    ),
    "sort": (
        ("README.md", "-u README.md", "-t, -k2,2n data/a.csv", "-rn names.txt"),
        ("-o", "new", "-onew", "--output=new", "--output", "--compress-program=./x.sh", "--compress-program", "./x.sh", "-S", "1k", "-S1b", "-T", "src", "--files0-from=names.txt", "--files0-from", "-k", "1", "-t", ",", "-t,", "-c", "-C", "-m", "--", "-", "README.md", ".env", OUTSIDE,
         "--sort", "--sort=version", "--parallel", "2", "--batch-size", "-z", "--random-source", "--random-source=.env", "+1", "-uo", "--check", "--check=quiet", "-R", "--debug", "-n"),
    ),
}  # fmt: skip


def make_line(chance: random.Random) -> str:
    """One line of bash: a call of one program, or names piped into xargs."""
    program = chance.choice(("sed", "awk", "mawk", "jq", *CALLS))
    if program == "sed":
        script = _mutate_text(chance, SED_SEEDS, SED_FRAGMENTS)
        return _line("sed", chance.choice(((), ("-n",), ("-E",), ("-z",), ("-e",))), script, "README.md")
    if program in ("awk", "mawk"):
        script = _mutate_text(chance, AWK_SEEDS, AWK_FRAGMENTS)
        return _line(program, chance.choice(((), ("-F,",), ("-v", "x=EVIL"))), script, "data/a.csv")
    if program == "jq":
        script = _mutate_text(chance, JQ_SEEDS, JQ_FRAGMENTS)
        return _line("jq", chance.choice(((), ("-n",), ("-r",), ("-c",))), script, "package.json")
    line = _line(program, _mutate_words(chance, *CALLS[program]))
    if program != "xargs":
        return line
    start = chance.choice((".", "src", "odd", "./src"))
    return (
        f"{_line('find', (start, '-name', chance.choice(('*.py', '*', '-*', '*env')), '-print0'))} | {line}"
    )


def _line(program: str, words: Sequence[str], *more: str) -> str:
    return shlex.join((program, *words, *more))


def _mutate_text(chance: random.Random, seeds: Sequence[str], fragments: Sequence[str]) -> str:
    text = chance.choice(seeds)
    if chance.random() < 0.15:
        text += chance.choice(("", "\n", ";", " ")) + chance.choice(seeds)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        place = chance.randrange(len(text) + 1)
        end = place + chance.choice((0, 0, 0, 1, 2))
        text = text[:place] + chance.choice(("", *(chance.choice(fragments),) * 5)) + text[end:]
    return text


def _mutate_words(chance: random.Random, seeds: Sequence[str], others: Sequence[str]) -> list[str]:
    words = chance.choice(seeds).split()
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        place = chance.randrange(len(words) + 1)
        action = chance.random()
        if action < 0.65:
            words.insert(place, chance.choice(others))
        elif action < 0.8 and place < len(words):
            words[place] = chance.choice(others)
        elif place < len(words):
            del words[place]
    return words
