"""Lines outside the subset prove nothing, and any text is answered."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.interpreter.lines import calls, doubts, files, read


@rows(
    "line, expected",
    [
        ("ls\n\\put a b", "put a b"),
        ("x=$((1)); put a b", "put a b"),
        ("for ((;;)); do put a b; done", "put a b"),
        ("cat <<EOF\n`put a b`\nEOF", "put a b"),
        ("shell -c 'x=$((1)); put a b'", "put a b"),
        ("arr=(1 2); shell -c 'put a b'", "put a b"),
    ],
)
def test_a_refused_line_shows_every_command_that_may_run(line: str, expected: str) -> None:
    report = read(line)
    assert expected in calls(line)
    assert any(doubt.name == "syntax" for command in report.commands for doubt in command.doubts)


def test_a_refused_line_says_why() -> None:
    assert read("x=$((1))").refusal == "it uses arithmetic"
    assert read("show \ufdd0/a").refusal != ""


def test_redirections_of_a_refused_line_are_files() -> None:
    assert {"write keep/a", "write keep/b", "read c"} <= set(files("x=$((1)); show >keep/a 2> keep/b <c"))


def test_a_refused_line_that_moves_may_be_in_any_folder() -> None:
    assert {"read a", "read ?"} <= set(files("x=$((1)); cd src; show a"))


@pytest.mark.parametrize(
    "line",
    ["", " ", "\n", "#", "\0", "\ud800", "a" * 1_000_000, "$(" * 1_000 + "x" + ")" * 1_000, "(" * 5_000,
     "show a; " * 5_000, "a | " * 300 + "b", "x=a; " * 400 + "show $x", "for x in a b; do " * 30 + "show $x" + "; done" * 30,
     "\u00a0show\u2003a", "show a\r\n", "shell -c '" * 10, "\ufdd0", "if true; then " * 40 + "x" + "; fi" * 40],
)  # fmt: skip
def test_any_text_is_answered(line: str) -> None:
    report = read(line)
    assert report.line == line
    proven = not report.refusal and not report.unreadable
    assert not proven or len(line) < 3_000


def test_too_many_commands_are_not_judged() -> None:
    line = "".join(f"for {name} in {{1..30}}; do " for name in "xyz") + "show $x$y$z; " + "done; " * 3
    assert "it has too many commands to check them all" in doubts(line)


def test_the_same_line_is_read_once() -> None:
    assert read("show a b c") is read("show a b c")
