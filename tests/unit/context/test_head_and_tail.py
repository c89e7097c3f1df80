"""Previews of long texts: bounded, whole characters, exact counts."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.context.truncation import head_and_tail

NOTE = re.compile(r"\[… ([\d,.]+) (?:lines|B|KB) left out …\]\n")


def test_a_short_text_stays_as_it_is() -> None:
    shown = head_and_tail("a\nb\n")
    assert (shown.text, shown.is_cut, shown.size, shown.lines) == ("a\nb\n", False, 4, 2)


def test_head_and_tail_lines_stand_and_the_note_counts_the_rest() -> None:
    text = "".join(f"line {n}\n" for n in range(1000))
    shown = head_and_tail(text, max_lines=10)
    assert shown.text.startswith("line 0\n")
    assert shown.text.endswith("line 999\n")
    assert shown.omitted_lines == 990
    found = NOTE.search(shown.text)
    assert found is not None
    assert int(found[1]) == 990


def test_one_endless_line_is_cut_inside() -> None:
    shown = head_and_tail("é" * 50_000, max_bytes=1000)
    assert shown.is_cut
    assert len(shown.text.encode()) < 1200
    assert "�" not in shown.text


def test_an_empty_text_is_empty() -> None:
    assert head_and_tail("").text == ""


@given(st.text(alphabet="aé😀\n", max_size=400), st.integers(8, 120), st.integers(1, 12))
def test_pieces_are_of_the_text_and_counts_add_up(text: str, max_bytes: int, max_lines: int) -> None:
    shown = head_and_tail(text, max_bytes=max_bytes, max_lines=max_lines)
    if not shown.is_cut:
        assert shown.text == text
        return
    found = NOTE.search(shown.text)
    assert found is not None
    head, tail = shown.text[: found.start()], shown.text[found.end() :]
    kept = shown.size - shown.omitted_bytes
    assert shown.size == len(text.encode())
    assert 0 < kept <= max_bytes
    lengths = {len((head.removesuffix(joint) + tail).encode()) for joint in ("", "\n")}
    assert kept in lengths
    assert text.startswith(head.removesuffix("\n"))
    assert text.endswith(tail)
