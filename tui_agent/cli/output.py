"""What commands print. Invariant: colour only on a terminal that wants it; foreign text never moves the cursor; loads
nothing of the product but what cleans text."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TextIO

from tui_agent.protocol.unicode_text import replaced


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with a sign for every character that a terminal obeys or an eye cannot see; line breaks and tabs stay where
    `lines` is set."""
    if text.isascii() and text.isprintable():
        return text
    shown = replaced(text, "�", "\t" if lines else "")
    return shown if lines else shown.replace("\n", "�")


def say(text: str, *, file: TextIO | None = None) -> None:
    """One or more lines for a person."""
    print(printable(text, lines=True), file=file or sys.stdout)


def warn(text: str) -> None:
    """One line beside the output, for a person."""
    say(f"tui-agent: {text}", file=sys.stderr)


def say_json(value: object, file: TextIO | None = None) -> None:
    """One JSON line for a program."""
    print(plain_json(json.dumps(value, ensure_ascii=False, default=str)), file=file, flush=True)


def say_json_lines(values: Iterable[object]) -> None:
    """Many JSON lines for a program, at once: thousands that come one by one would only wake it up."""
    lines = [plain_json(json.dumps(value, ensure_ascii=False, default=str)) for value in values]
    print("".join(f"{line}\n" for line in lines), end="", flush=True)


def plain_json(line: str) -> str:
    """The same JSON value, with everything escaped that a terminal would obey or hide, also one of 8 bits."""
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], line)


_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
"""Delete and the C1 controls, bidi controls, line separators, what has no width, selectors, lone surrogates, and tags."""


def say_text(text: str) -> None:
    """A whole document, as it would stand in a file. The export that made it has cleaned it, but for JSON, where a
    terminal gets the same values escaped."""
    sys.stdout.write(plain_json(text) if sys.stdout.isatty() else text)


def table(rows: Iterable[Sequence[str]], head: Sequence[str]) -> None:
    """Columns, as wide as they need to be; the last one runs on."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [list(head), *cells]) for at in range(len(head))]
    for number, row in enumerate([list(head), *cells]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(faint(line) if number == 0 else line)


def coloured(file: TextIO | None = None) -> bool:
    """Whether colour is welcome there."""
    return (
        (file or sys.stdout).isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def faint(text: str) -> str:
    """Less important words, on a terminal that can show it."""
    return f"\x1b[2m{text}\x1b[0m" if coloured() else text


def moment(at: float) -> str:
    """A time as the user's clock shows it."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else "-"


def size(count: int) -> str:
    """Bytes for a person."""
    amount = float(count)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def seconds(amount: float) -> str:
    """A duration for a person."""
    if amount < 60:
        return f"{amount:.1f} s"
    return f"{int(amount // 60)} min {int(amount % 60)} s"


def width() -> int:
    """Columns of the terminal, or 120 where the output goes elsewhere."""
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 120
