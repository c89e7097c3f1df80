"""A shell pattern and a rule's path intersect exactly where some name fits both: compared with every short name."""

import itertools
from fnmatch import fnmatchcase

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.policy.places.pattern_overlap import names_overlap, paths_overlap, split_pattern


def names(letters: str, length: int) -> list[str]:
    return [
        "".join(name) for size in range(1, length + 1) for name in itertools.product(letters, repeat=size)
    ]


NAMES = [name for name in names("ab.", 4) if name not in (".", "..")]
PLAIN = names("ab", 6)
PATHS = [
    "/".join(names) for length in range(1, 4) for names in itertools.product(("a", "b", ".a"), repeat=length)
]
TOKENS = st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "[a-b]"])
SHAPES = st.lists(TOKENS, min_size=1, max_size=4).map("".join)
SIMPLE = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]"]), min_size=1, max_size=3).map("".join)
NEGATED = st.lists(st.sampled_from(["a", "b", "*", "?", "[!a]", "[b]"]), min_size=1, max_size=4).map("".join)
ONE = st.sampled_from(["a", "b", "*", "?", "[ab]", "a*", ".*", "*a", "**"])
SHELL_PATHS = st.lists(ONE, min_size=1, max_size=3).filter(lambda names: names[-1].strip("*?") != "")


def finds(pattern: str, name: str) -> bool:
    """As bash does: a dot in front is found by a dot alone."""
    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == ".")


def reaches(shapes: list[str], names: list[str]) -> bool:
    """Return True if a path's pattern, name by name, fits a path."""
    if not shapes:
        return not names
    if shapes[0] == "**":
        return any(reaches(shapes[1:], names[at:]) for at in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], shapes[0]) and reaches(shapes[1:], names[1:])


@settings(max_examples=example_count(250), deadline=None)
@given(SHAPES, SHAPES)
def test_two_patterns_of_one_name_meet_where_a_name_fits_both(pattern: str, rule: str) -> None:
    fits = [name for name in NAMES if fnmatchcase(name, rule)]
    assert names_overlap(pattern, rule) or not any(fnmatchcase(name, pattern) for name in fits)
    assert names_overlap(pattern, rule, dotted=False) or not any(finds(pattern, name) for name in fits)


@settings(max_examples=example_count(250), deadline=None)
@given(SIMPLE, SIMPLE)
def test_and_nowhere_else(pattern: str, rule: str) -> None:
    both = any(fnmatchcase(name, pattern) and fnmatchcase(name, rule) for name in PLAIN)
    assert names_overlap(pattern, rule) == both


@settings(max_examples=example_count(200), deadline=None)
@given(NEGATED, NEGATED)
def test_a_name_that_fits_both_is_never_missed_where_a_class_says_what_is_not_in_it(
    pattern: str, rule: str
) -> None:
    both = any(fnmatchcase(name, pattern) and fnmatchcase(name, rule) for name in NAMES)
    assert names_overlap(pattern, rule) or not both


@settings(max_examples=example_count(250), deadline=None)
@given(SHELL_PATHS, st.lists(ONE, min_size=1, max_size=3))
def test_two_paths_meet_where_a_path_fits_both(pattern: list[str], rule: list[str]) -> None:
    both = [path for path in PATHS if reaches(pattern, path.split("/")) and reaches(rule, path.split("/"))]
    shell, meant = split_pattern("/".join(pattern)), split_pattern("/".join(rule))
    assert paths_overlap(shell, meant, dotted=True) or not both
    if paths_overlap(shell, meant, below=True, dotted=True):
        return
    assert not any(
        reaches(pattern, path.split("/")[:at]) and reaches(rule, path.split("/"))
        for path in PATHS
        for at in range(1, path.count("/") + 2)
    )


@settings(max_examples=example_count(200), deadline=None)
@given(st.sampled_from(PATHS), st.lists(ONE, min_size=1, max_size=3))
def test_a_path_that_is_no_pattern_meets_a_rule_only_where_it_fits(path: str, rule: list[str]) -> None:
    assert paths_overlap(split_pattern(path), split_pattern("/".join(rule))) == reaches(rule, path.split("/"))
