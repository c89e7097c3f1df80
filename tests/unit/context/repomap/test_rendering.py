"""The text of a map: order, room, grouping, what is left out."""

import os

import pytest

from tui_agent.context.repomap.map_query import Ask, Basis, FileScore, Query, view
from tui_agent.context.repomap.map_results import RankedFile, Symbol
from tui_agent.context.repomap.rendering import clean, render_map, room_of, symbols_at


def file(number: int, symbols: int = 5) -> RankedFile:
    found = tuple(
        Symbol(f"f{n}", "function", n * 10 + 1, n * 10 + 5, f"def f{n}(a)", "C") for n in range(symbols)
    )
    return RankedFile(f"dir{number % 3}/file{number}.py", 1.0, (), found)


def test_a_small_map_as_it_is_read() -> None:
    text, shown, detailed = render_map(
        [file(1, 2), RankedFile("b.md", 0.5, ())],
        [],
        ["c/d.py"],
        1_000,
        {"binary": 3},
        partial=True,
        asked=True,
    )
    assert text == (
        "Files of the repository (3), best matches first, with line numbers of symbols:\n"
        "dir1/file1.py\n  1-5 C: def f0(a)\n  11-15 C: def f1(a)\nb.md\n"
        "1 more: c/ 1\n"
        "Left out: 3 binary.\n"
        "The index is still being built: this map is partial.\n"
    )
    assert (shown, detailed) == (2, 2)


@pytest.mark.parametrize("tokens", [60, 200, 1_000, 2_000, 8_000])
def test_it_never_is_longer_than_its_room(tokens: int) -> None:
    files = [file(n) for n in range(400)]
    text, shown, _ = render_map(
        files[:40],
        [one.path for one in files[40:]],
        ["x/y.py"] * 50,
        tokens,
        {"binary": 1},
        partial=False,
        asked=True,
    )
    assert len(text) <= room_of(tokens)
    assert shown <= 400


def test_the_first_ten_stand_in_rank_order_whether_or_not_their_symbols_fit() -> None:
    files = [file(n) for n in range(60)]
    text, _, detailed = render_map(files, [], [], 600, {}, partial=False, asked=True)
    named = [line for line in text.splitlines() if line.startswith("dir")]
    assert detailed < 10 < len(named)
    assert named[:10] == [one.path for one in files[:10]]


def test_bare_paths_stand_by_folder_in_the_order_of_the_best() -> None:
    files = [file(n, 0) for n in range(60)]
    text, shown, detailed = render_map(files, [], [], 1_200, {}, partial=False, asked=True)
    named = [line for line in text.splitlines() if line.startswith("dir")]
    bare = named[max(detailed, 10) :]
    assert shown == len(named)
    assert [line.split("/")[0] for line in bare] == sorted(
        (line.split("/")[0] for line in bare), key=lambda name: ["dir0", "dir1", "dir2"].index(name)
    )


def test_a_brief_map_ends_after_the_last_file_with_symbols_and_counts_the_rest() -> None:
    long = Symbol("run", "function", 7, 9, f"def run({'argument, ' * 20})", "C")
    files = [file(n, 3) for n in range(4)] + [RankedFile("dir1/file4.py", 1.0, (), (long,)), file(5, 0)]
    others = [f"dir{n % 3}/file{n}.py" for n in range(6, 15)] + [f"rules/rule{n}.py" for n in range(80)]
    text, shown, detailed = render_map(
        files, others, ["docs/a.md"] * 39, 2_000, {}, partial=False, asked=True, brief=True
    )
    named = [line for line in text.splitlines() if line.endswith(".py")]
    assert named == [one.path for one in files[:5]] and (shown, detailed) == (5, 5)
    [cut] = [line for line in text.splitlines() if "def run" in line]
    assert cut.startswith("  7-9 C: def run(argument, ") and cut.endswith("…")
    assert len(cut.removeprefix("  7-9 ")) == 80
    assert text.endswith("\n129 more: rules/ 80, docs/ 39, dir2/ 4, dir0/ 3, dir1/ 3\n")


@pytest.mark.parametrize(("words", "kept"), [("coupon", False), ("coupon version", True)])
def test_a_brief_map_leaves_out_packaging_unless_it_is_named_or_the_question_is_about_versions(
    words: str, kept: bool
) -> None:
    named = FileScore("shop-1.dist-info/METADATA", 2.0, ("named",))
    order = [named, FileScore("shop-1.dist-info/RECORD", 1.0, ()), FileScore("shop/_version.py", 0.5, ())]
    basis = Basis([*order, FileScore("shop/a.py", 0.1, ())], [], {}, lambda path: ())
    ask = Ask(Query(words), 700, None, (), frozenset(), frozenset(), brief=True)
    paths = [one.path for one in view(basis, ask, partial=False).files]
    assert paths == [one.path for one in (order if kept else [named])] + ["shop/a.py"]
    whole = view(basis, ask._replace(brief=False), partial=False)
    assert [one.path for one in whole.files] == [one.path for one in basis.order]


@pytest.mark.parametrize(("tokens", "named"), [(100, 3), (320, 3), (640, 5), (1_200, 7), (8_000, 7)])
def test_a_brief_map_shrinks_with_the_window(tokens: int, named: int) -> None:
    assert [symbols_at(place, tokens, brief=True) for place in range(8)] == [
        3 if place < 3 else 1 if place < named else 0 for place in range(8)
    ]


def test_a_brief_map_names_files_also_where_none_has_symbols() -> None:
    files = [file(n, 0) for n in range(30)]
    text, shown, _ = render_map(files, ["x/y.py"] * 9, [], 2_000, {}, partial=False, asked=True, brief=True)
    assert text.splitlines()[1:-1] == [one.path for one in files[:7]] and shown == 7


@pytest.mark.parametrize("partial", [True, False])
def test_a_map_says_that_it_is_partial(partial: bool) -> None:
    basis = Basis([FileScore("a.py", 1.0, ())], [], {}, lambda path: ())
    ask = Ask(Query("coupon"), 500, None, (), frozenset(), frozenset())
    found = view(basis, ask, partial=partial)
    assert found.partial == partial and ("this map is partial" in found.text) == partial


def test_a_better_place_shows_no_fewer_symbols() -> None:
    for tokens in (500, 1_500, 4_000, 9_000):
        counts = [symbols_at(place, tokens) for place in range(100)]
        assert counts == sorted(counts, reverse=True)


def test_no_path_or_signature_moves_a_terminal() -> None:
    assert clean("a\x1b[31mb\nc") == "a�[31mb�c"
    assert clean("b\udcffd") == r"b\udcffd"


def test_a_name_that_is_no_utf_8_is_shown_as_the_tools_that_list_names_show_it() -> None:
    assert clean(os.fsdecode(b"d\xe9p/n\xff\xfeame.py")) == r"d\udce9p/n\udcff\udcfeame.py"
    assert clean("sch\u00f6n\u202e.py") == "sch\u00f6n\ufffd.py"
