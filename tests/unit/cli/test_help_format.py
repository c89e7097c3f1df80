"""How the texts of --help are wrapped."""

import pytest

from tui_agent.cli.console.help_format import wrap_lines


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("A line that fits.\nAnd one more.", ["A line that fits.", "And one more."]),
        (
            "A first line that does not fit in here\nand its end.\n\nNext.",
            ["A first line that does not fit", "in here and its end.", "", "Next."],
        ),
        ("  run a    shows a row of two columns", ["  run a    shows a row of two", "           columns"]),
        ("  one, two, three, four   shows them", ["  one, two, three, four", "      shows them"]),
        (
            "  ask 'two words' --in one --options",
            ["  ask 'two words' --in one \\", "      --options"],
        ),
        (
            "  show a session with --json\n  show another",
            ["  show a session with --json", "  show another"],
        ),
        (
            "  show one session as lines --json\n  show another",
            ["  show one session as lines \\", "      --json", "  show another"],
        ),
        (
            "  ask the model --policy plan --at 'two words' --json | jq -r .kind",
            [
                "  ask the model \\",
                "      --policy plan \\",
                "      --at 'two words' \\",
                "      --json | jq -r .kind",
            ],
        ),
        ("  ask 'words in quotes are never split'", ["  ask \\", "      'words in quotes are never split'"]),
    ],
)
def test_a_long_line_is_wrapped_and_a_short_one_is_kept(text: str, rows: list[str]) -> None:
    assert wrap_lines(text, 30) == rows
