"""A number of things in words: one way for all screens, messages and outputs, and of one thing no more than one is said."""

import pytest

from tui_agent.context.repomap.rendering import describe_skipped
from tui_agent.context.truncation import head_and_tail
from tui_agent.folds.text.labels import mention_result
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText
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
        (mention_result(Mention(reference="a/", kind="directory", size=1), "", ""), "1 entry"),
    ],
)
def test_one_is_said_of_one_thing(said: str, words: str) -> None:
    assert said == words


def test_an_artifact_of_one_line_has_one_line() -> None:
    whole = BlobText(blob_sha256="a" * 64, size=1, preview="")
    assert (
        Artifact.from_blob("x", whole, lines=1, preview_size=0).description.removeprefix(
            "artifact art_aaaaaaaaaaaa"
        )
        == ": 1 byte, 1 line"
    )


def test_one_line_that_is_left_out_is_one() -> None:
    text = "\n".join(["a" * 20, "b" * 20, "c" * 20])
    assert "[… 1 line, 21 bytes left out; 62 bytes in all" in head_and_tail(text, max_lines=2).text
