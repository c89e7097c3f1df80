"""Ignore files: what git says of the same paths, and bounded work."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.folds.text.gitignore import MAX_LINES, MAX_STAR_RUNS, IgnoreFile, IgnoreRules
from tui_agent.folds.text.glob import compile_path_pattern

PIECES = ["a", "b", "c", "ab", "a.c", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[]a]", "\\*", "\\a", "*.c", "a*b", "b ", "\\ "]  # fmt: skip
NAMES = ["a", "b", "c", "ab", "a.c", "*", "ba", "abc", "]", "b ", "aab", "B", " "]
names = st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join)
lines = st.builds(
    lambda negated, top, path, folder: negated + top + "/".join(path) + folder,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(names, min_size=1, max_size=3),
    st.sampled_from(["", "", "", "/"]),
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        yield Path(folder)


def git_says(repository: Path, text: str, asked: list[str]) -> list[bool]:
    (repository / ".gitignore").write_text(text)
    command = ["git", "-C", str(repository), "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n"]
    done = subprocess.run(command, input="\0".join(asked).encode() + b"\0", capture_output=True, check=False)
    found = done.stdout.decode().split("\0")
    return [bool(pattern) and not pattern.startswith("!") for pattern in found[2::4]]


@settings(max_examples=example_count(60))
@given(
    text=st.lists(lines, min_size=1, max_size=4).map("\n".join),
    asked=st.lists(paths, min_size=1, max_size=12),
)
def test_git_says_the_same(repository: Path, text: str, asked: list[str]) -> None:
    rules = IgnoreRules().with_file("", text)
    found = [
        ("/" in path and rules.is_inside_ignored(path.rpartition("/")[0])) or rules.is_ignored(path, False)
        for path in asked
    ]
    assert found == git_says(repository, text, asked)


@pytest.mark.parametrize(
    "line", ["*a" * 200 + "b", "**/a/" * 200 + "b", "[" * 900, "\\" * 999, "a**" * 300, "?*" * 450]
)
def test_a_hostile_line_costs_little(line: str) -> None:
    """Counted, not timed: a name is tried once for each place in the pattern, however the pattern is made."""
    found = IgnoreFile(line)
    assert not found.verdict("a" * 255, False)
    assert not found.verdict("a/" * 990 + "c", False)


def test_a_line_with_too_many_stars_is_passed_over() -> None:
    most = "*a" * MAX_STAR_RUNS
    assert IgnoreFile(most).verdict("a" * 255, False)
    assert not IgnoreFile("\n".join([f"*{most}*{number}" for number in range(900)]))
    assert not IgnoreFile("**/a/" * (MAX_STAR_RUNS + 1))
    assert IgnoreFile("*" * 900).verdict("a", False)


def test_a_line_for_any_folder_counts_as_many_times_as_it_has_names() -> None:
    lines = [f"**/{number}/a" for number in range(MAX_LINES // 3 + 1)]
    found = IgnoreFile("\n".join(lines))
    assert found.verdict(f"x/{MAX_LINES // 3 - 1}/a", False)
    assert found.verdict(f"x/{MAX_LINES // 3}/a", False) is None


def test_the_work_that_a_path_takes_is_known_before() -> None:
    rules = IgnoreRules().with_file("", "*.c\n/build\n**/tmp/x\n").with_file("src/", "a\n")
    assert (rules.max_comparisons("a"), rules.max_comparisons("src/b/c")) == (
        1 + 1 + 3 + 1,
        1 + (1 + 3) * 3 + 1,
    )


def test_only_so_many_lines_count() -> None:
    found = IgnoreFile("a\n" * MAX_LINES + "late\n")
    assert found.verdict("a", False) and found.verdict("late", False) is None


def test_a_hostile_filter_of_a_search_costs_little() -> None:
    assert not compile_path_pattern("*a*a*a*a*a*a*a*a*b")("a" * 255)
