"""Conditions of test, [ and [[: certain operators are read with their files, all else raises a doubt."""

from tests.stubs.rows import rows
from tests.unit.policy.languages.calls import call
from tui_agent.policy.interpreter.languages.test import read_arguments

HARMLESS = [
    "", "x", "-f package.json", "-d node_modules ]", "-n $x ]", "-z $x", "! -f x ]", "$x = $y ]", "a == b", "a != b ]", "$n -gt 300 ]", "%d -gt 3 ]",
    "! $x ]", "a -nt b", "a -ef $x ]", "-t 0", "-d src && -f src/main.py ]]", "$x == y* ]]", "$x = a || -f x ]]", "! -e x ]]",
    "-e ./% ]", "] ]", "! = x ]", "-f = x ]", "! ! -f x ]", "-s README.md", "$x -nt $y ]",
]  # fmt: skip
DOUBTED = [
    "$x =~ ^a ]]", "%d -gt 3 ]]", "3 -eq 4 || -f x ]]", "$x < $y ]]",
    "-v a", "-v 'a[$(id)]' ]", "-R x ]", "! -v x ]", "-v x ]]", "( -v x ) ]", "-f a -a -v x ]", "-v x -o -f a ]", "-f a && -v x ]]", "'a[$(id)]' -eq 1 ]]", "$x -gt 3 ]]", "1 -lt $x ]]", "x -eq 1 ]]", "01 -eq 1 ]]", "1+1 -eq 2 ]]",
    "$x y ]", "$x $y ]", "$x -a b = c ]", "$x = a -a $y = b ]", "-n $x -a b ]", "$x* ]", "-n $x* ]", "! $x* ]", "-o posix ]", "a b ]", "a b c ]", "a = b c ]", "( a ]", "a -foo b", "-f a b", "a -a b -a ]", "! a b c d ]",
    "% -f x", "-f x -a % = y ]", "( -f x -a b ) ]", "( a && b ) ]]", "a = -v -a b = c ]", "% -eq 3 ]]", "x -a y ]", "-a x", "a =~ b ]",
    "-f a -a -d b ]", "a = b -o c = d ]", "( -f a ) ]", "( x ) ]", "! ( -f a ) ]", "%d -gt 3 -a x = y ]",
]  # fmt: skip


@rows("line", HARMLESS)
def test_a_condition_of_certain_operators_raises_no_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt == ""


@rows("line", DOUBTED)
def test_a_condition_that_may_mean_something_else_raises_a_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt


@rows(
    "line, paths",
    [("-f a", ["a"]), ("a -nt b ]", ["a", "b"]), ("! -d /etc ]", ["/etc"]), ("-f a -a -d b ]", ["-f", "a", "-a", "-d", "b"]), ("-d src && -f m ]]", ["src", "m"]), ("a = b", []), ("-n a", []), ("-f $x ]", [""]), ("-e src/% ]", ["src/*"])],
)  # fmt: skip
def test_the_files_of_a_condition_are_only_looked_at(line: str, paths: list[str]) -> None:
    files = read_arguments(call(line)).files
    assert [file.path for file in files] == paths
    assert {file.action for file in files} <= {"list"}
