"""Which lines of a file the session wrote, and the revert of its lines without the user's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.folds.comparison.line_authors import (
    count_hunks,
    describe_lines,
    diff_traced_lines,
    revert_traced_hunk,
    trace_lines,
)
from tui_agent.folds.text.line_diff import diff_lines, join_lines, split_lines


def changes(*versions: str) -> list[str]:
    """The changed lines in the diff of a file that the session and the user change in turn. A shared hunk ends with
    the numbers of its shared lines."""
    lines = trace_lines([version.split() for version in versions])
    diff = diff_traced_lines(lines)
    rows = [row for row in diff.text.splitlines() if row[0] in "+-"]
    assert (diff.added, diff.removed) == tuple(sum(row[0] == sign for row in rows) for sign in "+-")
    return [*rows, *(describe_lines(numbers) for numbers in diff.shared_lines.values())]


def revert(*versions: str, now: str | None = None, hunk: int = 0) -> str:
    """The file with one hunk reverted, or the lines that forbid it. `now`: the file after the last version."""
    lines = trace_lines([version.split() for version in versions])
    result = revert_traced_hunk(lines, hunk, (versions[-1] if now is None else now).split())
    return describe_lines(result.shared_lines) if result.shared_lines else " ".join(result.lines)


@pytest.mark.parametrize(
    ("versions", "expected", "reverted"),
    [
        pytest.param(("a b", "a B", "a B mine"), ["-b", "+B"], "a b mine", id="a line below"),
        pytest.param(("a b", "a B", "a mine B"), ["-b", "+B"], "a mine b", id="a line above"),
        pytest.param(("a b", "a B", "A B"), ["-b", "+B"], "A b", id="the line above"),
        pytest.param(("a b c", "a c", "A c"), ["-b"], "A b c", id="the line above a removed line"),
        pytest.param(("a b c", "a c", "c"), ["-b"], "b c", id="a removed line above a removed line"),
        pytest.param(("a b c", "a x y c", "a x me y c"), ["-b", "+x", "+y"], "a b me c", id="a line between"),
        pytest.param(("a d", "a b c d", "a c d"), ["+c"], "a d", id="a removed line of the session"),
        pytest.param(("", "a b", "a b mine"), ["+a", "+b"], "mine", id="a line in a created file"),
    ],
)
def test_a_revert_takes_back_the_sessions_lines_and_keeps_the_users(
    versions: tuple[str, ...], expected: list[str], reverted: str
) -> None:
    """Also if the user made the change after the recorded versions."""
    assert changes(*versions) == expected
    assert revert(*versions) == reverted
    assert revert(*versions[:-1], now=versions[-1]) == reverted


def test_lines_of_the_user_that_the_session_changed_later_come_back() -> None:
    versions = "", "a b", "a b mine", "a B mine", "a B mine too", "a B ours"
    assert changes(*versions) == ["-mine", "-too", "+a", "+B", "+ours"]
    assert revert(*versions) == "mine too"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param(("a b", "a B", "a mine"), ["-b", "+mine", "line 2"], id="the session's line"),
        pytest.param(("a b", "a B", "a"), ["-b", "line 1"], id="the session's line removed"),
        pytest.param(
            ("a b c", "a c", "a mine c"), ["-b", "+mine", "line 2"], id="the place of a removed line"
        ),
        pytest.param(
            ("a b c d", "a x y d", "a x me d"), ["-b", "-c", "+x", "+me", "line 3"], id="one of two"
        ),
        pytest.param(
            ("", "a b c", "a mine c"), ["+a", "+mine", "+c", "line 2"], id="a line in a created file"
        ),
        pytest.param(("a b", "a B", "a mine", "a ours"), ["-b", "+ours", "line 2"], id="changed again"),
    ],
)
def test_a_change_is_not_reverted_if_the_user_changed_the_same_lines(
    versions: tuple[str, ...], expected: list[str]
) -> None:
    assert changes(*versions) == expected
    assert revert(*versions) == expected[-1]
    if len(versions) == 3:
        assert revert(*versions[:-1], now=versions[-1]) == expected[-1]


def test_lines_that_somebody_put_back_are_unchanged() -> None:
    assert changes("a b c", "a c", "a b c") == []
    assert changes("a b c", "a c", "a b mine c") == []
    assert changes("a b c", "a B c", "a b c") == []
    assert changes("a b c d", "a X d", "a b c mine d") == []
    assert changes("a b c", "a c", "a b c", "a c") == ["-b"]
    assert changes("a b c", "a c", "a c mine", "a b c mine") == []
    assert changes("a b c d", "a d", "a c d") == ["-b"]
    assert changes("a b", "b", "b a") == ["-a"], "put back elsewhere: it is the user's line now"
    assert revert("a b", "b", "b a") == "a b a"


def test_only_the_chosen_hunk_is_reverted_where_the_user_moved_it() -> None:
    old = [f"line-{number}" for number in range(30)]
    new = [{3: "x", 20: "y"}.get(number, line) for number, line in enumerate(old)]
    now = ["top", *new, "end"]
    expected = ["top", *(line if line != "y" else "line-20" for line in new), "end"]
    assert revert(" ".join(old), " ".join(new), now=" ".join(now), hunk=1).split() == expected
    now.remove("y")
    assert revert(" ".join(old), " ".join(new), now=" ".join(now), hunk=1) == "line 22"
    assert revert(" ".join(old), " ".join(new), now=" ".join(now)).split()[4] == "line-3"


def test_the_end_of_the_last_line_is_reverted_only_where_it_is_still_the_last() -> None:
    lines = trace_lines([split_lines("a\nb"), split_lines("a\nc\n")])
    for now, expected in (("a\nc\n", "a\nb"), ("a\nc\nd\n", "a\nb\nd\n"), ("a\nc\nd", "a\nb\nd")):
        assert join_lines(revert_traced_hunk(lines, 0, split_lines(now)).lines) == expected


@pytest.mark.parametrize(
    ("before", "after", "now", "reverted"),
    [
        ("a\nb", "a\nB", "a\nB\nmine", "a\nb\nmine"),
        ("a\nb", "a\nB", "a\nB\nmine\n", "a\nb\nmine\n"),
        ("", "x = 1", "x = 1\ny = 2\n", "y = 2\n"),
    ],
)
def test_a_line_of_the_user_below_the_sessions_last_line_without_a_line_feed_is_not_shared(
    before: str, after: str, now: str, reverted: str
) -> None:
    versions = [split_lines(text) for text in (before, after, now)]
    assert diff_traced_lines(trace_lines(versions)).shared_lines == {}
    for known in (versions, versions[:2]):
        result = revert_traced_hunk(trace_lines(known), 0, versions[-1])
        assert (join_lines(result.lines), result.shared_lines) == (reverted, ())
    changed = split_lines("a\nours\nmine")
    assert revert_traced_hunk(trace_lines(versions[:2]), 0, changed).shared_lines


@pytest.mark.parametrize(
    ("now", "reverted"),
    [
        ("fn A() {\n}\nfn b() {\n}", "fn A() {\n}\n"),
        ("fn A() {\n}\nfn b() {\n}\n", "fn A() {\n}\n"),
        ("fn a() {\n}\nfn b() {\n}\nmine\n", "fn a() {\n}\nmine\n"),
        ("fn a() {\n}\nfn b() {\n", "fn a() {\n}\n"),
    ],
)
def test_a_last_line_without_a_line_feed_is_not_shared_because_the_file_has_the_same_line_above(
    now: str, reverted: str
) -> None:
    versions = [split_lines(text) for text in ("fn a() {\n}\n", "fn a() {\n}\nfn b() {\n}", now)]
    assert diff_traced_lines(trace_lines(versions)).shared_lines == {}
    for known in (versions, versions[:2]):
        result = revert_traced_hunk(trace_lines(known), 0, versions[-1])
        assert (join_lines(result.lines), result.shared_lines) == (reverted, ())


def test_line_numbers_are_described_in_a_few_ranges() -> None:
    assert [describe_lines(numbers) for numbers in ((3,), (3, 4, 5, 9), (1, 3), range(1, 15, 2))] == [
        "line 3",
        "lines 3–5, 9",
        "lines 1, 3",
        "lines 1, 3, 5, 7, 9 and 2 more places",
    ]


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d\r"]), max_size=30).map("\n".join)


@given(TEXTS, TEXTS)
def test_without_changes_by_the_user_the_diff_is_that_of_the_two_texts(before: str, after: str) -> None:
    lines = trace_lines([split_lines(before), split_lines(after)])
    diff, plain = diff_traced_lines(lines), diff_lines(before, after)
    assert (diff.text, diff.added, diff.removed) == (plain.text, plain.added, plain.removed)
    assert diff.shared_lines == {}
    current = split_lines(after)
    for hunk in reversed(range(count_hunks(lines))):
        current = revert_traced_hunk(lines, hunk, current).lines
    assert join_lines(current) == before


EDITS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2), st.integers(0, 2)), max_size=4)


@given(st.lists(EDITS, max_size=5))
def test_no_line_of_the_user_is_lost_and_none_of_the_session_stays(
    edits: list[list[tuple[int, int, int]]],
) -> None:
    """Each change of a version replaces some lines by new ones that name their author."""
    file = [f"user-{number}" for number in range(6)]
    versions, gone = [list(file)], set[str]()
    for number, changed in enumerate(edits):
        author = "user" if number % 2 else "session"
        for place, removed, added in changed:
            if author == "user":
                gone.update(file[place : place + removed])
            names = [f"{author}-{number}-{len(gone)}-{len(file)}-{place}-{index}" for index in range(added)]
            file[place : place + removed] = names
        versions.append(list(file))
    lines = trace_lines(versions)
    assert [line.text for line in lines if line.in_file] == file
    diff = diff_traced_lines(lines)
    for hunk in reversed(range(count_hunks(lines))):
        if hunk not in diff.shared_lines:
            result = revert_traced_hunk(lines, hunk, file)
            assert not result.shared_lines
            assert [line for line in file if line.startswith("user")] == [
                line for line in result.lines if line in file and line.startswith("user")
            ]
            assert not gone.intersection(result.lines)
    if not diff.shared_lines:
        assert all(line.text.startswith("user") for line in lines if line.is_users)
