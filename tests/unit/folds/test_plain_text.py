"""Text files in other encodings than UTF-8: the same text for plugins, for the counts of lines and for the diff."""

import pytest

from tui_agent.folds.comparison.net_changes import diff_contents
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.plain_text import decode_text, encode_text
from tui_agent.plugin_api import FileContent
from tui_agent.workspace.checkpoints.restore_plan import count_changed_lines
from tui_agent.workspace.local.file_change_events import count_lines

OLD, NEW = "héllo\nwörld\n", "héllo\nwörld two\n"
CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1")


@pytest.mark.parametrize("codec", CODECS)
def test_a_plugin_gets_the_text_that_was_written(codec: str) -> None:
    data = OLD.encode(codec)
    assert FileContent("a.txt", data, "", 0, 0).text == OLD
    decoded = decode_text(data)
    assert decoded is not None and encode_text(decoded, decoded.text) == data


@pytest.mark.parametrize("codec", CODECS)
def test_a_changed_line_is_counted_and_shown(codec: str) -> None:
    contents = {"old": OLD.encode(codec), "new": NEW.encode(codec)}
    assert count_lines(contents["old"], contents["new"]) == (1, 1)
    assert count_changed_lines(contents["old"], contents["new"]) == (1, 1)
    diff, note = diff_contents(ChangedFile("a.txt", "old", "new"), contents.get)
    assert diff is not None and note == ""
    assert diff.text == "@@ -1,2 +1,2 @@\n héllo\n-wörld\n+wörld two\n"


def test_bytes_that_are_no_text_are_replaced_and_written_back_unchanged() -> None:
    data = "éé\n".encode() + b"\xe8x\n"
    assert FileContent("a.txt", data, "", 0, 0).text == "éé\n\ufffdx\n"
    assert FileContent("a.bin", b"\0\xe8", "", 0, 0).text == "\0\ufffd"
    decoded = decode_text(data)
    assert decoded is not None and encode_text(decoded, decoded.text) == data


def test_a_change_of_the_encoding_alone_is_said_in_words() -> None:
    contents = {"old": OLD.encode(), "new": OLD.encode("utf-16")}
    file = ChangedFile("a.txt", "old", "new", disk_sha256_before="1", disk_sha256_after="2")
    diff, note = diff_contents(file, contents.get)
    assert diff is not None and (diff.text, note) == ("", "only its encoding changed")
