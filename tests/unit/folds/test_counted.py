"""A number of things in words: one way for all screens, messages and outputs, and of one thing no more than one is said."""

import pytest

from tui_agent.context.repomap.rendering import describe_skipped
from tui_agent.context.truncation import head_and_tail
from tui_agent.folds.text.labels import mention_result
from tui_agent.protocol.artifacts import left_out_note
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.unicode_text import format_count


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (format_count(1, "file"), "1 file"),
        (format_count(0, "file"), "0 files"),
        (format_count(12_345, "entry", "entries"), "12,345 entries"),
        (describe_skipped("lock file", 1), "1 lock file"),
        (describe_skipped("lock file", 2), "2 lock files"),
        (describe_skipped("binary", 2), "2 binary"),
        (mention_result(Mention(reference="a/", kind="directory", size=1)), "1 entry"),
    ],
)
def test_one_is_said_of_one_thing(said: str, words: str) -> None:
    assert said == words


def test_one_line_that_is_left_out_is_one() -> None:
    text = "\n".join(["a" * 20, "b" * 20, "c" * 20])
    assert "[… 21 B left out …]" in head_and_tail(text, max_lines=2).text
    assert left_out_note(2, 21, "artifact:1") == "[… 2 lines left out: read_file or grep artifact:1 …]"
