"""The layout of --help: descriptions and examples are wrapped at the terminal's width.

Invariant: a line that fits is printed unchanged.
"""

import argparse
import re

_COMMAND_PART = re.compile(r"(?:--?[A-Za-z][\w-]*\s+(?![-|<>&;]))?(?:'[^']*'|\"[^\"]*\"|\S)+")
"""Matches a word or a quoted text of a command, together with an option directly before it (`--model fast`)."""
_TWO_COLUMNS = re.compile(r" *\S.*?\s{2,}(?=\S)")
_COMMAND_INDENT = 4
MAX_COLUMN_FRACTION = 0.65
"""Maximum width of the first of two columns, as a fraction of the terminal's width."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help formatter that keeps a description's line breaks and wraps long lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        rows = "\n".join(wrap_lines(text, width - len(indent))).splitlines()
        return "".join(f"{indent}{row}\n" for row in rows).rstrip("\n")

    def _format_action_invocation(self, action: argparse.Action) -> str:
        heading = super()._format_action_invocation(action)
        margin = self._current_indent
        return _wrap(heading.split(), "", " " * margin, self._width - margin).lstrip()


def wrap_lines(text: str, width: int) -> list[str]:
    """Return the lines of a text, wrapped at `width` characters."""
    lines: list[str] = []
    hanging = -1  # The indent of a line that continues the last one; -1 if no line can.
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line and indent == hanging:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
        columns = _TWO_COLUMNS.match(line)
        is_command = bool(indent) and columns is None
        hanging = -1 if is_command or len(line) <= width else columns.end() if columns else 0
    return [
        row for line in lines for row in (_wrap_line(line, width) if len(line) > width else line).split("\n")
    ]


def _wrap_line(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    columns = _TWO_COLUMNS.match(line)
    if columns:
        first, second = columns[0], line[columns.end() :].split()
        if len(first) <= width * MAX_COLUMN_FRACTION:
            return _wrap(second, first, " " * len(first), width)
        rest = f"{indent}{' ' * _COMMAND_INDENT}"
        return f"{first.rstrip()}\n{_wrap(second, rest, rest, width)}"
    if not indent:
        return _wrap(line.split(), "", "", width)
    return _wrap(_COMMAND_PART.findall(line), indent, f"{indent}{' ' * _COMMAND_INDENT}", width, " \\")


def _wrap(words: list[str], first: str, rest: str, width: int, end: str = "") -> str:
    """Join `words` to rows of at most `width` characters.

    `first`: text before the first row.
    `rest`: text before each later row.
    `end`: text after every row but the last.
    """
    rows, row = [], first + words[0]
    for word in words[1:]:
        if len(f"{row} {word}{end}") > width:
            rows.append(row + end)
            row = rest + word
        else:
            row += f" {word}"
    return "\n".join([*rows, row])
