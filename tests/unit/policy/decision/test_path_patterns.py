"""Shell patterns of paths match names as bash does, in bounded time."""

from tests.stubs.rows import rows
from tui_agent.policy.decision.path_patterns import (
    expand_braces,
    leads_through_pattern,
    leaves_out,
    matches_path,
)
from tui_agent.policy.interpreter.command_report import FileUse
from tui_agent.policy.rules.grammar import parse_rule


@rows(
    "pattern, path, expected",
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("*", ".env", False),
        (".*", ".env", True),
        ("[.]env", ".env", True),
        ("src/*", "src/.env", False),
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("src/**", "src", True),
        ("src/**/b/**/c", "src/x/b/y/b/c", True),
        ("src/**/b/**/c", "src/x/c/y/b", False),
        ("", "a", False),
    ],
)
def test_a_pattern_matches_name_by_name(pattern: str, path: str, expected: bool) -> None:
    assert matches_path(pattern, path) is expected


def test_a_file_below_a_matched_folder_counts_where_everything_below_is_meant() -> None:
    assert matches_path("src*", "src1/a/b", below=True)
    assert not matches_path("src*", "lib/a", below=True)
    assert matches_path("", "a", below=True)


def test_a_pattern_of_many_folders_is_compared_in_bounded_time() -> None:
    assert not matches_path("**/a/" * 40 + "b", "a/" * 200 + "c")


def test_options_that_leave_files_out_lift_a_rule_only_for_those() -> None:
    use = FileUse(".", "read", below=True, excludes=("private",))
    assert leaves_out(use, parse_rule("deny read private/**"), "")
    assert not leaves_out(use, parse_rule("deny read other/**"), "")
    folders = FileUse(".", "read", below=True, excludes=("private/", "a.py/"))
    assert leaves_out(folders, parse_rule("deny read private/**"), "")
    assert not leaves_out(folders, parse_rule("deny read src/a.py"), "")
    chosen = FileUse(".", "read", below=True, only=("*.PY",))
    assert leaves_out(chosen, parse_rule("deny read **/.env"), "")
    assert not leaves_out(chosen, parse_rule("deny read **/a.py"), "")
    assert not leaves_out(chosen, parse_rule("deny read private/**"), "")


def test_only_names_below_the_folder_that_is_read_are_left_out() -> None:
    use = FileUse(".config", "read", below=True, excludes=("private",), skips=frozenset({"hidden"}))
    assert not leaves_out(use, parse_rule("deny read .config/key"), ".config")
    assert not leaves_out(use, parse_rule("deny read private/key"), "private")
    assert leaves_out(use, parse_rule("deny read .config/.key"), ".config")


def test_braces_are_expanded_and_patterns_on_the_way_are_seen() -> None:
    assert list(expand_braces("*.{py,pem}")) == ["*.py", "*.pem"]
    assert leads_through_pattern("build/*/x")
    assert not leads_through_pattern("build/x/*")
