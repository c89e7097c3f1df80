"""Numbers lines in the form in which the model sees files."""

from collections.abc import Sequence
from typing import Final

from tui_agent.folds.text.charset import DecodedText
from tui_agent.protocol.unicode_text import format_count

MAX_LINE_CHARS: Final = 2_000
"""Maximum length of a line, in characters. The rest of a longer line is cut off."""


def number_lines(lines: Sequence[str], first: int, room: int) -> tuple[list[str], int]:
    """Return (numbered lines, number of shortened lines), with as many lines as fit into `room` characters.

    `first`: number of the first line. The first line is always returned.
    """
    width = len(str(first + len(lines) - 1))
    numbered, cut_count = list[str](), 0
    for number, line in enumerate(lines, first):
        line = line.removesuffix("\r")
        is_cut = len(line) > MAX_LINE_CHARS
        if is_cut:
            line = f"{line[:MAX_LINE_CHARS]}… (+{len(line) - MAX_LINE_CHARS} characters)"
        room -= len(line) + width + 2
        if room < 0 and numbered:
            break
        numbered.append(f"{number:>{width}}\t{line}")
        cut_count += is_cut
    return numbered, cut_count


def notes_on_text(decoded: DecodedText) -> list[str]:
    """Return notes for the model about a file's encoding and line ends."""
    notes = [f"[{decoded.note}]"] if decoded.note else []
    return [*notes, "[lines end with CRLF]"] if "\r\n" in decoded.text else notes


def notes_on_cut_lines(count: int) -> list[str]:
    """Return a note for the model about shortened lines, or an empty list if there are none."""
    return [f"[{format_count(count, 'long line')} cut at {MAX_LINE_CHARS} characters]"] if count else []
