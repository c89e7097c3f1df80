"""Line ends in a diff: shown only where they are a part of the change."""

import pytest

from tui_agent.folds.text.line_diff import diff_lines
from tui_agent.tui.modals.diff_strips import diff_strips
from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Looks, Palette
from tui_agent.tui.transcript.diff import parse_diff

LOOKS = Looks(Palette(named_theme("night", {})), UNICODE, motion=False)
MARK = "<U+000D>"
HIDDEN = "[redacted: secret]"


def shown(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines of a diff as the chat shows them, and as an approval and /diff show them."""
    diff = diff_lines(before, after).text
    chat = [f"{line.sign}{line.text}" for line in parse_diff(diff)]
    sheet = [strip.text.split(maxsplit=1)[1].rstrip() for strip in diff_strips("a.txt", diff, LOOKS, 60)]
    return chat, sheet


@pytest.mark.parametrize("end", ["\r\n", ""])
def test_a_file_with_windows_line_ends_shows_no_marks(end: str) -> None:
    chat, sheet = shown(f"alpha\r\nbeta{end}", f"alpha\r\nbeta two{end}")
    assert chat == [" alpha", "-beta", "+beta two"]
    assert sheet == ["alpha", "- beta", "+ beta two"]


def test_a_change_of_the_line_end_is_shown_at_the_lines_that_have_it() -> None:
    chat, sheet = shown("alpha\nbeta\n", "alpha\nbeta\r\n")
    assert chat == [" alpha", "-beta", f"+beta{MARK}"]
    assert sheet == ["alpha", "- beta", f"+ beta{MARK}"]


def test_a_carriage_return_within_a_line_is_always_shown() -> None:
    chat, _ = shown("alpha\r\n", "alpha\rbeta\r\n")
    assert chat == ["-alpha", f"+alpha{MARK}beta"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_change_that_redaction_hides_is_noted_on_the_new_line(end: str) -> None:
    key = f"key = {HIDDEN}{end}"
    diff = f"@@ -1,3 +1,3 @@\n {key}-{key}-n = 1{end}+{key}+n = 2{end}"
    noted = f"+key = {HIDDEN} [a hidden value differs]"
    chat = [f"{line.sign}{line.text}" for line in parse_diff(diff)]
    assert chat == [f" key = {HIDDEN}", f"-key = {HIDDEN}", "-n = 1", noted, "+n = 2"]
    sheet = [strip.text.rstrip() for strip in diff_strips("a.txt", diff, LOOKS, 80)]
    assert sheet[3].endswith(noted[1:]) and not sheet[0].endswith("differs]")
    assert len(parse_diff(f"@@ -1,2 +1,2 @@\n-{key} a{end}+{key}")) == 3
    assert not any(line.text.endswith("differs]") for line in parse_diff(f"@@ -1 +1 @@\n-a{end}+{key}"))
