"""Draws unified diffs in sheets, as strips (rows of the screen).

Invariant: nothing is left out, shortened or invisible: long lines wrap.
"""

import re
from typing import Final

from textual.strip import Strip

from tui_agent.folds.text.line_diff import drop_line_end_returns, split_hunks
from tui_agent.folds.text.redaction_placeholders import note_hidden_differences
from tui_agent.tui.modals.exact_command import blanks_sign
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.transcript.diff import diff_rows, parse_diff
from tui_agent.tui.transcript.style import MARGIN, TEXT_COLUMN, Look
from tui_agent.tui.transcript.styled_rows import strip_of
from tui_agent.tui.untrusted_text import clean
from tui_agent.tui.widgets.rows import Pen, wrap

MAX_COLOURED_LINE: Final = 3000
"""Diff lines longer than this, in characters, get no code colours."""

_EDIT_END = re.compile(r"(?m)(?<=[^ \n]) ++$")


def diff_strips(path: str, diff: str, looks: Looks, width: int) -> list[Strip]:
    """Draw a unified diff with code colours in `width` cells, without the transcript's gutter."""
    return [strip for strips in hunk_strips(path, diff, looks, width) for strip in strips]


def hunk_strips(path: str, diff: str, looks: Looks, width: int) -> list[list[Strip]]:
    """Draw a unified diff as `diff_strips` does; return the rows of each hunk."""
    noted = drop_line_end_returns(note_hidden_differences(diff))
    shown = mark_trailing_blanks(clean(noted, reveal=True))
    if any(len(line) > MAX_COLOURED_LINE for line in shown.split("\n")):
        return [_plain_diff(hunk, looks, width) for hunk in split_hunks(shown) or [shown]]
    look = Look(looks.palette, looks.symbols, width + TEXT_COLUMN + MARGIN)
    lines = parse_diff(shown, reveal=False)
    hunks: list[list[Strip]] = [[]]
    number = -1
    for row in diff_rows(lines, path, look):
        number += not row.joined  # A joined row continues the line of the row above.
        if lines[number].sign == "@" and not row.joined:
            hunks.append([])
        strip = strip_of(row.runs, row.ground, look.width)
        hunks[-1].append(strip.crop(TEXT_COLUMN, TEXT_COLUMN + width))
    return hunks


def _plain_diff(diff: str, looks: Looks, width: int) -> list[Strip]:
    grounds: dict[str, Role] = {"+": "diff-add", "-": "diff-del"}
    rows: list[Strip] = []
    for line in diff.split("\n"):
        pen = Pen(looks, grounds.get(line[:1], "sunk"))
        rows += [pen.line(width, [pen.part(f" {piece}")]) for piece in wrap(line, max(8, width - 2))]
    return rows


def mark_trailing_blanks(diff: str) -> str:
    """Replace the blanks at the ends of a unified diff's lines by signs such as `<blank>`."""
    return _EDIT_END.sub(blanks_sign, diff)
