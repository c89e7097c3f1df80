"""What of a message may be a mention, and what is not one."""

import pytest

from tui_agent.folds.text.mention_parser import MAX_MENTIONS, find_candidates

ROOT = "/home/me/shop"


def _paths(text: str) -> list[str]:
    return [reading.path for one in find_candidates(text, ROOT) for reading in one.readings]


def _meant(text: str) -> list[str]:
    return [one.text for one in find_candidates(text, ROOT) if one.is_certain]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @src/app.py", "src/app.py"),
        ("(@src/app.py)", "src/app.py"),
        ("@src/", "src/"),
        ('see @"my notes.md" please', "my notes.md"),
        ("see @my\\ notes.md please", "my notes.md"),
        ("see @it's.md", "it's.md"),
        ("what is @app.py's size", "app.py"),
        ("in '@src/app.py'", "src/app.py"),
        ("- @a.py, @b.py", "a.py"),
        ("/home/me/shop/src/app.py is slow", "src/app.py"),
        ("'/home/me/shop/my file.py'", "my file.py"),
        ("/home/me/shop/my\\ file.py", "my file.py"),
    ],
)
def test_these_are_looked_up(text: str, found: str) -> None:
    assert found in _paths(text)


@pytest.mark.parametrize("lines", [":2-3", "#L2-L3", "#L2-3"])
def test_lines_may_stand_behind_a_quoted_path(lines: str) -> None:
    [one] = find_candidates(f'see @"my notes.md"{lines}, please', ROOT)
    assert one.text == f"my notes.md{lines}" and one.is_certain
    assert [(each.path, each.first_line, each.last_line) for each in one.readings] == [("my notes.md", 2, 3)]


@pytest.mark.parametrize("lines", [":10-20", "#L10-L20", "#L10-20"])
def test_a_range_of_lines_may_stand_behind_a_pasted_path(lines: str) -> None:
    path = f"/home/me/shop/src/app.py{lines}"
    [one] = find_candidates(f"see {path}.", ROOT)
    found = [(each.text, each.path, each.first_line, each.last_line) for each in one.readings]
    assert found[-1] == (path, "src/app.py", 10, 20)


def test_points_behind_a_path_and_lines_are_tried_without() -> None:
    readings = [
        (one.path, one.first_line, one.last_line) for one in find_candidates("@a.py:10-20.", ROOT)[0].readings
    ]
    assert ("a.py", 10, 20) in readings and ("a.py:10-20", 0, 0) in readings
    assert ("a.py", 7, 7) in [
        (r.path, r.first_line, r.last_line) for r in find_candidates("@a.py#L7", ROOT)[0].readings
    ]


@pytest.mark.parametrize(
    "text",
    [
        "write to me@example.com or me.too@host.py",
        "@",
        "@@",
        "a @ b",
        'File "/home/me/shop/src/app.py", line 3, in main',
        "/home/me/shop/src/app.py:12: error",
        "/home/me/other/app.py",
        "```\n/home/me/shop/src/app.py\n```",
    ],
)
def test_these_are_not(text: str) -> None:
    assert find_candidates(text, ROOT) == []


@pytest.mark.parametrize("text", ["@property", "@app.route", "@types/node", "@angular/core", "@alice"])
def test_decorators_packages_and_handles_need_no_note_where_they_are_nothing(text: str) -> None:
    assert _meant(text) == []


@pytest.mark.parametrize(
    "text", ["@src/nope.py", "@nope.py", "@nope/", '@"no such"', "@../x", "@src/nope.py:3"]
)
def test_what_can_only_be_a_path_is_told_where_it_is_missing(text: str) -> None:
    assert len(_meant(text)) == 1


def test_a_symbol_is_not_looked_for_in_pasted_code() -> None:
    assert [one.symbol for one in find_candidates("@Cart and @Cart.total()", ROOT)] == ["Cart", "Cart.total"]
    assert find_candidates("```py\n@cached\ndef f(): ...\n```", ROOT)[0].symbol == ""


def test_they_are_bounded_and_each_counts_once() -> None:
    assert len(find_candidates(" ".join(f"@f{number}.py" for number in range(100)), ROOT)) == MAX_MENTIONS
    assert len(find_candidates("@a.py @a.py", ROOT)) == 1


def test_a_long_paste_is_read_quickly() -> None:
    assert find_candidates("x@" * 200_000, ROOT) == []
    assert find_candidates("@" * 100_000 + "```" * 10_000, ROOT) == []
