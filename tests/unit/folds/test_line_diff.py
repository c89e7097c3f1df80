"""Differences of two texts and their hunks."""

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.folds.text import line_diff as module
from tui_agent.folds.text.line_diff import (
    count_changes,
    diff_lines,
    find_changes,
    first_line,
    hunk_sides,
    join_lines,
    split_hunks,
    split_lines,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    x = 1", "\r"]), max_size=12)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def test_equal_texts_have_no_hunks():
    assert diff_lines("a\nb\n", "a\nb\n") == module.LineDiff("", 0, 0)


def test_a_changed_line_is_shown_with_three_lines_of_context():
    before = "".join(f"line {n}\n" for n in range(1, 11))
    after = before.replace("line 5\n", "LINE 5\n")
    diff = diff_lines(before, after)
    assert diff.text == (
        "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+LINE 5\n line 6\n line 7\n line 8\n"
    )
    assert (diff.added, diff.removed) == (1, 1)


def test_a_new_file_has_only_added_lines():
    assert diff_lines("", "a\nb\n").text == "@@ -0,0 +1,2 @@\n+a\n+b\n"


def test_a_missing_last_newline_is_marked():
    assert diff_lines("a\n", "a").text == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"


def test_only_line_feeds_end_lines():
    assert count_changes("a\x0cb\u2028c\n", "a\x0cb\u2028d\n") == (1, 1)


def test_a_big_rewrite_is_split_at_lines_that_are_unique_on_both_sides():
    old = [f"keep {n}" if n % 3 else "same" for n in range(4000)]
    new = [line + "!" if line.endswith("00") else line for line in old]
    found = find_changes(old, new)
    assert sum(change.b2 - change.b1 for change in found) == sum(1 for line in old if line.endswith("00"))


@given(TEXTS, TEXTS)
def test_the_hunks_are_those_of_a_patch_that_turns_one_text_into_the_other(before: str, after: str):
    old, new = module.split_lines(before), module.split_lines(after)
    rebuilt: list[str] = []
    at = 0
    for change in find_changes(old, new):
        rebuilt += old[at : change.a1] + new[change.b1 : change.b2]
        at = change.a2
    assert rebuilt + old[at:] == new
    diff = diff_lines(before, after)
    assert (diff.text == "") == (before == after)
    assert apply_hunks(old, diff.text) == new


def apply_hunks(old: list[str], text: str) -> list[str]:
    """What a patch program makes of `old`; the context lines must fit."""
    out: list[str] = []
    at = 0
    for line in text.replace("\n" + module.NO_NEWLINE, "\0").split("\n")[:-1]:
        line = line.replace("\0", "\n" + module.NO_NEWLINE)
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            out += old[at:start]
            at = start
            continue
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            out.append(line[1:])
    return out + old[at:]


OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\nmore\n")


def hunks_of(before: str, after: str) -> list[str]:
    """The hunks of the diff between two texts."""
    return split_hunks(diff_lines(before, after).text)


def test_a_diff_is_split_into_its_hunks_with_their_lines() -> None:
    first, second = hunks_of(OLD, NEW)
    assert (first_line(first), first_line(second)) == (1, 17)
    assert hunk_sides(second) == (
        [f"line {number}" for number in range(17, 24)],
        ["line 17", "line 18", "line 19", "LINE 20", "more", "line 21", "line 22", "line 23"],
    )
    assert split_hunks("") == []


@given(TEXTS)
def test_joined_lines_are_the_text(text: str) -> None:
    assert join_lines(split_lines(text)) == text


def test_a_last_line_without_a_line_feed_gets_one_if_lines_follow() -> None:
    assert join_lines([*split_lines("a"), *split_lines("b")]) == "a\nb"
