"""A number of things in words: one way for all screens, messages and outputs, and of one thing no more than one is said."""

import pytest

from tui_agent.context.repomap.rendering import left_out
from tui_agent.context.truncation import head_and_tail
from tui_agent.folds.text.labels import mention_sent
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.unicode_text import counted


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (counted(1, "file"), "1 file"),
        (counted(0, "file"), "0 files"),
        (counted(12_345, "entry", "entries"), "12,345 entries"),
        (left_out("lock file", 1), "1 lock file"),
        (left_out("lock file", 2), "2 lock files"),
        (left_out("binary", 2), "2 binary"),
        (mention_sent(Mention(given="a/", kind="directory", size=1), "", ""), "1 entry"),
    ],
)
def test_one_is_said_of_one_thing(said: str, words: str) -> None:
    assert said == words


def test_an_artifact_of_one_line_has_one_line() -> None:
    whole = BlobText(blob_sha256="a" * 64, size=1, preview="")
    assert (
        Artifact.of("x", whole, lines=1, preview_size=0).about.removeprefix("artifact art_aaaaaaaaaaaa")
        == ": 1 byte, 1 line"
    )


def test_one_line_that_is_left_out_is_one() -> None:
    text = "\n".join(["a" * 20, "b" * 20, "c" * 20])
    assert "[… 1 line, 21 bytes left out; 62 bytes in all" in head_and_tail(text, max_lines=2).text
