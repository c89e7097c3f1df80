"""Files are named as seen from where the line starts, in every folder that the shell may be in."""

from tests.stubs.rows import rows
from tests.unit.policy.interpreter.lines import calls, doubts, files


@rows(
    "line, expected",
    [
        ("show a", ["read a"]),
        ("show ./a b/../c", ["read a", "read b/../c"]),
        ("show /x/../y ../z", ["read /x/../y", "read ../z"]),
        ("show ~/a ~ada/b", ["read ~/a", "read ~ada/b"]),
        ('show "$HOME/a" $PWD/b ${PWD}', ["read ~/a", "read b", "read ."]),
        ("show", ["read ."]),
        ("show -r src", ["read src/**"]),
        ("show -", []),
        ("cd src && show a", ["read src/a"]),
        ("cd src; show a", ["read src/a", "read a"]),
        ("cd src || show a", ["read a"]),
        ("cd src || exit 1; show a", ["read src/a"]),
        ("cd src && cd ../lib && show a", ["read lib/a", "read src/../lib/a"]),
        ("cd src && cd - && show a", ["read ?"]),
        ("cd && show a", ["read ~/a"]),
        ("cd /x && show a ../b", ["read /x/a", "read /x/../b"]),
        ("show l*/../a", ["read ?", "read ≈l*/../a"]),
        ("(cd src && show a); show b", ["read src/a", "read b"]),
        ("cd src | show a; show b", ["read a", "read b"]),
        ("{ cd src && show a; } && show b", ["read src/a", "read src/b"]),
        ("pushd src && show a && popd && show b", ["read src/a", "read ?"]),
        ("show -C src a", ["list src", "read src/a"]),
        ("cd src && show $PWD/a", ["read src/a"]),
        ("x=$PWD && cd src && show $x/a", ["read a"]),
        ("show -C src $PWD/a", ["list src", "read a"]),
        ("show $(cd src && pwd)/a", ["read ?", "read ≈**/a"]),
        ('show "${PWD}x"', ["read /x"]),
        ("if show a; then cd src; fi; show b", ["read a", "read src/b", "read b"]),
        ("show a* src/*.py", ["read ≈a*", "read ≈src/*.py"]),
        ("cd src && show *.py", ["read ≈src/*.py"]),
        ("show '*'", ["read *"]),
        ("cd 'a*' && show *.py", ["read ≈a\\*/*.py"]),
        ("show {a,b}/c", ["read a/c", "read b/c"]),
    ],
)
def test_files_are_named_from_where_the_line_starts(line: str, expected: list[str]) -> None:
    assert files(line) == expected


def test_a_folder_that_is_not_certain_makes_every_file_uncertain() -> None:
    assert files("cd $X && show a /b") == ["read ?", "read /b"]
    assert "it is not certain in which folder it runs" in doubts("cd $X && show a")
    assert "it is not certain in which folder it runs" in doubts("popd && show a")


def test_a_folder_that_a_loop_goes_up_or_down_from_is_not_certain() -> None:
    assert calls("while show a; do cd ..; done")[-1] == "?: cd .."
    assert files("for d in a b; do cd $d; done; show c")[-1] == "read ?"
