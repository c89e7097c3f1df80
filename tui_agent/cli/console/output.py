"""Printing for all commands.

Invariant: control characters in texts from outside never reach the terminal.
"""

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TextIO

from tui_agent.protocol.unicode_text import replace_invisible


def escape_control(text: str, *, lines: bool = False) -> str:
    """Replace control and invisible characters by `�`.

    `lines`: True to keep line breaks and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = replace_invisible(text, "�", "\t" if lines else "")
    return shown if lines else shown.replace("\n", "�")


def say(text: str, *, file: TextIO | None = None) -> None:
    """Print one or more lines of text for a person."""
    print(escape_control(text, lines=True), file=file or sys.stdout)


def warn(text: str) -> None:
    """Print one line for a person on standard error."""
    say(f"tui-agent: {text}", file=sys.stderr)


def say_json(value: object, file: TextIO | None = None) -> None:
    """Print one line of JSON for a program."""
    print(_json_line(value), file=file, flush=True)


def say_json_lines(values: Iterable[object]) -> None:
    """Print each value as a line of JSON, with a single write."""
    print("".join(f"{_json_line(value)}\n" for value in values), end="", flush=True)


def _json_line(value: object) -> str:
    return plain_json(json.dumps(value, ensure_ascii=False, default=str))


def plain_json(line: str) -> str:
    r"""Replace control and invisible characters in JSON text by `\uXXXX`; the JSON value does not change."""
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], line)


_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
"""Matches invisible characters that change the display, such as bidi controls."""


def say_text(text: str) -> None:
    """Write an exported document to standard output.

    On a terminal, control characters in JSON are escaped.
    """
    sys.stdout.write(plain_json(text) if sys.stdout.isatty() else text)


def table(rows: Iterable[Sequence[str]], head: Sequence[str]) -> None:
    """Print a table with the column names `head`; columns are as wide as their longest cell."""
    cells = [[escape_control(cell) for cell in row] for row in rows]
    rows_with_head = [list(head), *cells]
    widths = [max(_width(row[column]) for row in rows_with_head) for column in range(len(head))]
    for number, row in enumerate(rows_with_head):
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        line = "  ".join(padded).rstrip()
        print(dim(line) if number == 0 else line)


def _width(text: str) -> int:
    """Return the columns that a line needs: 2 for wide characters, 0 for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def say_result(value: object, text: str, *, as_json: bool) -> None:
    """Print the result of a command: one JSON line for a program, or text for a person."""
    if as_json:
        say_json(value)
    else:
        say(text)


def shorten(text: str, room: int) -> str:
    """Return the line, cut with an ellipsis if it is longer than `room` characters."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def wants_colour(file: TextIO | None = None) -> bool:
    """Return True if colour can be used on the stream (standard output by default)."""
    return (
        (file or sys.stdout).isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def dim(text: str, file: TextIO | None = None) -> str:
    """Return the text with escape codes that dim it. If the stream shows no colours, return the text unchanged."""
    return f"\x1b[2m{text}\x1b[0m" if wants_colour(file) else text


def terminal_width(descriptor: int = 1) -> int:
    """Return the width of the terminal in columns; 120 if the output (`descriptor`) is not a terminal."""
    try:
        return os.get_terminal_size(descriptor).columns or 120
    except OSError:
        return 120
