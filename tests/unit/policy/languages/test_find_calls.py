"""Calls of find: an expression of listed tests and actions is read whole, and what it runs, deletes, writes and lists is named."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.languages.calls import call, lines
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.command_report import Certainty, FileUse
from tui_agent.policy.interpreter.languages.find import read_arguments

HARMLESS = [
    "", ".", "src", ". -name '*.py'", ". -type f -name '*.ts' -not -path '*/node_modules/*'", "src -name '*.py' -newer setup.py", ". -maxdepth 2 -type d",
    ". -iname '*readme*' -not -path './.git/*'", "src -type f -size +100k", ". -path ./node_modules -prune -o -name '*.json' -print", "src ( -name '*.c' -o -name '*.h' ) -print",
    "src -name '*.py' -exec grep -l 'import re' {} +", "tests -name 'test_*.py' -exec grep -n fixture {} ;", ". -name '*.py' -mtime -1 -ls", "src -type f -printf '%s %p\\n'",
    ". -name node_modules -prune -o -type f -name '*.ts' -print0", "-L . -name x", "-P src", ". ! -name x", ". -not ( -name x , -name y )", ". -empty -o -links 1 -a -user root", ". -name $x",
    ". -newermt 2020-01-01", ". -newerat now", ". -samefile a", ". -regextype posix-extended -regex '.*'", ". -perm -u+x -exec ls -l {} ;", "src% -name x", ". -depth -quit",
    ". -exec echo a b {} c ;", ". -exec sh -c 'head -1 \"$1\"' _ {} ;", "src tests docs -type f", ". -exec cat {} + -o -exec wc {} ;", "/usr/include -name stdio.h",
    ". -printf '%p\\n'", ". -mindepth 1 -maxdepth 1", "a b -exec diff {} x ;", ". -exec grep -c %d {} ;", "./-x", ". -follow -name x", ". -iname A -o -ipath B -o -wholename C",
]  # fmt: skip
DOUBTED = [
    ". -foo", ". -files0-from x", "-files0-from -", ". -name", ". -newer", ". -exec", ". -exec rm {}", ". -exec rm {} +x", ". -exec grep x +", ". ( -name x", ". ( -name x ) )", ". )", "( -name x",
    "-D tree .", "-O3 .", "--", "-- .", "-", "-x. .", ". -name a b", ". -name x src", "$d", "$d -name x", "$d* -name x", "% -name x", ". $x", ". -name $x*", ". $x y", ". -type f $x*",
    ". -exec $x {} ;", ". -exec grep $x {} ;", ". -exec grep $x* {} ;", ". -exec grep a $x -exec rm {} ;", ". -exec grep % {} ;", ". -execdir cat .env ;", ". -execdir grep -n foo {} ;", "/ -execdir cat {} ;",
    "~ -execdir ls ;", ".. -execdir ls ;", "a/../.. -execdir ls ;", ". -execdir cat -fx {} ;", ". -printx", ". -fprint", ". -Exec ls ;", ". -print,", ". -newerxy z", ". -mount -foo", ". -path",
    ". -newercm f", ". -execdir pwd ;", ". -execdir ls -l {} +", ". !", "( ( -name x )", ". -regex", ". ! -foo", ". -not", ". -a -o -foo", ". ( ! ) -name x", "( " * 2000 + ") " * 2000, " ".join(f"d{n}" for n in range(30)) + " -exec ls {} ;",
]  # fmt: skip


@rows("line", HARMLESS)
def test_a_call_of_listed_words_raises_no_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt == ""


@rows("line", DOUBTED)
def test_a_call_with_anything_else_raises_a_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt


@rows(
    "line, commands",
    [
        (". -name test.py -exec cat {} ;", ["cat ./**/test.py"]),
        (". -name '*.py' -exec cat {} +", ["cat ./**/*.py...", "cat ./**/.*.py...", "cat ./**/.py..."]),
        (". -name '?env' -exec cat {} ;", ["cat ./**/?env", "cat ./**/.env"]),
        (". -exec cat {} ;", ["cat ./**"]),
        ("src -exec cat {} ;", ["cat src/**", "cat src"]),
        ("src -mindepth 1 -exec cat {} ;", ["cat src/**", "cat src"]),
        (".env -type f -exec cat {} ;", ["cat .env/**", "cat .env"]),
        ("a.py b -name a.py -exec cat {} ;", ["cat a.py/**/a.py", "cat a.py", "cat b/**/a.py"]),
        ("/ -name shadow -exec cat {} ;", ["cat /**/shadow"]),
        ("-name x -exec rm {} ;", ["rm ./**/x"]),
        (". ( -name a -o -name b ) -exec rm {} ;", ["rm ./**/a", "rm ./**/b"]),
        (". -name a -o -name b -exec rm {} ;", ["rm ./**/b"]),
        (". -name a -exec rm {} ; -o -name b", ["rm ./**/a"]),
        (". ! -name a -exec rm {} ;", ["rm ./**"]),
        (". -not ( -name a ) -exec rm {} ;", ["rm ./**"]),
        (". -name a , -exec rm {} ;", ["rm ./**"]),
        (". ( -name a -o -type f ) -exec rm {} ;", ["rm ./**"]),
        (". -iname a.PY -exec cat {} ;", ["cat ./**/[aA].[pP][yY]"]),
        (". -path './src/test_*.py' -exec cat {} ;", ["cat ./**"]),
        (". -path '*/Makefile' -exec cat {} ;", ["cat ./**"]),
        (". -name '[a-z]' -exec cat {} ;", ["cat ./**"]),
        (". -name $x -exec cat {} ;", ["cat ./**"]),
        (". -exec cp {} {}.bak ;", ["cp ./** ./**.bak"]),
        (". -exec rm {} ; -foo -exec cat {} ;", ["rm ./**", "cat ./**"]),
        (". -ok rm {} ;", ["rm ./**"]),
        (". -exec echo {} + {} ;", ["echo ./**..."]),
        ("'a*' -name x -exec cat {} ;", ["cat a\\*/**/x"]),
    ],
)  # fmt: skip
def test_a_command_is_given_every_path_that_can_be_found(line: str, commands: list[str]) -> None:
    assert lines(read_arguments(call(line))) == commands


@rows("line, may_be_option", [(". -exec cat {} ;", False), ("@x -exec cat {} ;", True), ("src -exec cat {} ;", False), ("./-x -exec cat {} ;", False), (". -exec cat -{} ;", True)])  # fmt: skip
def test_a_found_path_is_an_option_only_where_its_starting_point_may_be_one(
    line: str, may_be_option: bool
) -> None:
    reading = read_arguments(call(line))
    assert any(words[-1].may_be_option for words in reading.commands) is may_be_option


@rows(
    "line, prints",
    [
        (". -name '*.py'", "./**"), ("tests -name 'test_*.py'", "tests/**/test_*.py"), (".", "./**"), ("src -type f", "./**"), ("a/b -type f", "a/**"), ("a/b/ -type f", "a/b/**"),
        ("src tests -name x", "./**/x"), ("a/b a/c -name x", "a/**/x"), ("/etc /usr -name x", None), ("src /etc -name x", None), ("src ../x -name x", None), (". -ls", None),
        (". -exec cat {} ;", None), (". -printf '%p\\n'", None), (". -printf '%f\\n'", None), (". -delete", None), (". -name a -print -o -name b -print0", "./**"), (". -fprint x", None),
        ("src/% -name x", "src/**/x"), (". -name a -print", "./**/a"),
    ],
)  # fmt: skip
def test_what_it_prints_is_bounded_by_what_it_can_find(line: str, prints: str | None) -> None:
    found = read_arguments(call(line)).prints
    assert (found and found.text) == prints


def test_a_deletion_is_an_effect_and_names_what_goes() -> None:
    reading = read_arguments(call("src -name '*.pyc' -delete"))
    assert reading.effects == {Effect.DELETES}
    assert FileUse("src/**/*.pyc", "delete", Certainty.BOUNDED) in reading.files
    assert FileUse("src", "delete", below=True) in read_arguments(call("src -delete")).files
    whole = FileUse("/srv", "delete", below=True, only=("x",))
    assert whole in read_arguments(call("/srv -name x -delete")).files


@pytest.mark.parametrize("option", ["-fprint", "-fprint0", "-fls", "-fprintf"])
def test_a_written_file_is_an_effect_and_named(option: str) -> None:
    reading = read_arguments(call(f". {option} out.txt" + " '%p'" * (option == "-fprintf")))
    assert reading.effects == {Effect.WRITES} and FileUse("out.txt", "write") in reading.files
    assert not reading.doubt


def test_a_question_before_each_command_needs_a_terminal() -> None:
    assert read_arguments(call(". -okdir ls ;")).effects == {Effect.NEEDS_TERMINAL}


@rows("line", [". -exec sleep 9 ;", ". -exec /bin/sleep 9 {} +", ". -name a -exec ls ; -o -exec sleep 1 ;"])
def test_waiting_once_for_each_name_may_never_end(line: str) -> None:
    assert read_arguments(call(line)).effects == {Effect.NEVER_ENDS}
    assert not read_arguments(call(line.replace("sleep", "wc"))).effects


@rows("line", ["-L src", "src -follow", "-H -L src"])
def test_links_are_followed_where_an_option_says_so(line: str) -> None:
    assert FileUse("src", "list", below=True, follows_links=True) in read_arguments(call(line)).files


def test_names_narrow_what_is_listed_and_a_word_in_doubt_does_not() -> None:
    assert read_arguments(call("src -name a -o -name b")).files[0].only == ("a", "b")
    assert read_arguments(call("src -name a -o -type f")).files[0].only == ()


def test_a_pattern_of_starting_points_stays_a_pattern() -> None:
    reading = read_arguments(call("src/% -newer %x"))
    assert reading.files[0] == FileUse("src/*", "list", Certainty.BOUNDED, below=True)
    assert reading.files[-1] == FileUse("%x", "list")
