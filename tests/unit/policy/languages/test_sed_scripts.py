"""sed scripts: what only edits text is read whole, all else raises a doubt."""

from tests.stubs.rows import rows
from tui_agent.policy.interpreter.languages.sed import find_doubt

HARMLESS = [
    "", "p", "1,80p", "200,260p", "10,20p;40,50p", "/^## Usage/,/^## /p", "s/\t/    /g", "/^#/d", "/^$/d", "$d", "5q", "5q3",
    r's/^version = "([^"]+)"$/\1/p', "/BEGIN/,/END/{/BEGIN/d;/END/d;p;}", r"s|^\./||", r":a;N;$!ba;s/\n/ /g",
    "l", "l 5", "/a/I,/b/Ip", "y/abc/xyz/", "1~2d", "/x/,+3p", "0,/x/d", "2!d", "1 ! d", "1,5 p",
    "/x/i\\\nnew", "2c\\\nnew", "a text", "a\\text", "a\\\none\\\ntwo", "1i // head", "$!N;P", "/x/{s/a/b/;p}", "s/a/b/3", "s/a/b/gI",
    "# a comment: w x\np", "s,/usr/,/opt/,", r"s/[^\/]*$//", "s/[[:space:]]*$//", "s/a/\\\n/", "n;d", "g;G;h;H;x", "=", "/x/=",
    ":a;$!{N;ba};s/x/y/", ":a; N; $!ba; s/x/y/", "1{p};2{p;}", "N;s/\\n/,/", "s#a#b#;s_a_b_", "/a/ , /b/ p", "s/e/w/", "/w x/d", "s/'/\"/g",
]  # fmt: skip
DOUBTED = [
    "w x", "1w x", "r x", "R x", "W x", "e", "e id", "1e id", "F", "z", "v", "s/a/b/e", "s/a/b/w x", "s/a/b/ge", "s/a/id/;e",
    "s/a/b/M", "s/a/b/m", "s/a/b/gw x", "p;w x", "p\nw x", "{w x}", "{p;e}", "/x/{r y\n}", "$!{s/a/b/w x\n}", "a x\nw y", "i\\\ntext\nw out",
    "a\\", "a", "a\n", "i\\  \ntext", "2c\\\nx\nr f", "a x\\\ne ls", "c\\a\\\nw x", ":a;e", "b x;w f", "}e", "\\ne", "\\|x|e", r"\|/usr|p", r"1,\|x|p", "\\wxwp",
    "s/[/]/x/;e", "s/[/]/w x/", "s/[]/]/x/", r"s/[\]/]/x/", r"s/[\]]/x/", "s/a/b", "s/a", "s", "y/a/b/w x", "y/a/b/e", "s/a\n/b/", "s/a/b\n/", "saabae",
    "s a b e", "sxaxbxe", "s\\a\\b\\", "1,w x", "1,", ",5p", "5", "1,2", "1,2,3p", ":", ": ;w x", ":a;ba", ":a;s/x/y/;ta", ":a;$!ba", ":a;$!N;ba", ":a;/x/{N};ba", "{:a;{p;ba}}", ":a;p;ba", ":a;/x/{n};ba", "p p",
    "pw x", "d w", "=w x", "q w x", "5q 3 w", "l w", "b x w f", ":a w x", "t x\rw f", "p\rw x", "p\x0bw x", "p\u00a0w x", "é", "M", "s/a/b/;M",
    ":a;a\\\nw x", "b;s/a/b\\\nw x/", "ba}w x", "#n\\\nw x", "1e", "1~w x", "/a/Mp", "/a/e", "s/a/b/}e", "y/a\\\nb/cde/w", "p;;w x", "{;{;w x;};}",
    "D", "s/^/\\n/;D", "G;D", "$!N;P;D", ":a", "ba", "t", "$!{N;ba}", "b end\n:end", "/x/{:a;n;ba}", ":a;p;d;ba", ":a;N;$!bb", ":a;s/h/h/;ta", ":a;N;$!ba;s/x/y\\\nw x/", "p;:a;N;$!ba", ":a;N;$!ba;ba",
]  # fmt: skip


@rows("script", HARMLESS)
def test_a_script_that_only_edits_text_raises_no_doubt(script: str) -> None:
    assert find_doubt(script) == ""


@rows("script", DOUBTED)
def test_a_script_with_anything_else_raises_a_doubt(script: str) -> None:
    assert find_doubt(script)


@rows(
    "script, reason",
    [("e id", "run a program"), ("s/a/b/e", "run a program"), ("w x", "write a file"), ("s/a/b/w x", "write a file"),
     ("r x", "read another file"), (":a;ba", "never end")],
)  # fmt: skip
def test_the_doubt_says_why(script: str, reason: str) -> None:
    assert reason in find_doubt(script)
