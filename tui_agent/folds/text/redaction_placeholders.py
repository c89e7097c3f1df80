"""Placeholders that redaction puts in the place of secrets, such as `[redacted: secret]`."""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tui_agent.folds.text.plain_text import decode_text

PLACEHOLDER_START: Final = "[redacted: "
HIDDEN_DIFFERENCE: Final = " [a hidden value differs]"
"""Note on a line of a diff that looks unchanged because redaction hides the difference."""
SECRET_FILE_CONTENT: Final = b"[redacted: secret file]\n"
"""Stored instead of the content of a file that may hold secrets, such as `.env`."""
_PLACEHOLDER: Final = re.compile(r"\[redacted: [^\[\]\n]+\]")


def find_new_placeholder(text: str, original: str) -> str:
    """Return a placeholder that `text` contains more often than `original`, or an empty string."""
    if PLACEHOLDER_START not in text:
        return ""
    new = Counter(_PLACEHOLDER.findall(text)) - Counter(_PLACEHOLDER.findall(original))
    return next(iter(new), "")


def note_hidden_differences(diff: str) -> str:
    """Return a unified diff with a note on each added line that looks like a line removed at the same place.

    The two lines differ only in values that redaction hides.
    """
    if PLACEHOLDER_START not in diff:
        return diff
    lines, removed = diff.split("\n"), set[str]()
    for index, line in enumerate(lines):
        if line.startswith("-"):
            removed.add(line[1:])
        elif line.startswith("+") and line[1:] in removed and PLACEHOLDER_START in line:
            lines[index] = _add_note(line)
        elif line.startswith((" ", "@")):
            removed.clear()
    return "\n".join(lines)


def list_placeholder_lines(
    content: bytes, hidden: Mapping[int, tuple[bytes, ...]]
) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
    """Return each line that has a placeholder in a redacted file, with the values that its placeholders hide.

    `hidden`: maps the index of a line to the hidden values. A line without hidden values contains the placeholder as
    its own text.
    """
    decoded = decode_text(content)
    if decoded is None or PLACEHOLDER_START not in decoded.display_text:
        return ()
    lines = enumerate(decoded.display_text.split("\n"))
    return tuple((line, hidden.get(number, ())) for number, line in lines if PLACEHOLDER_START in line)


def find_hidden_changes(
    before: Sequence[tuple[str, tuple[bytes, ...]]], after: Sequence[tuple[str, tuple[bytes, ...]]]
) -> tuple[int, ...]:
    """Return the checksums of the lines that look the same before and after a change but hide other values.

    `before`, `after`: results of `list_placeholder_lines`.
    """
    old, new = _group_values(before), _group_values(after)
    return tuple(line_checksum(line) for line in old if line in new and _differ(old[line], new[line]))


def _group_values(lines: Sequence[tuple[str, tuple[bytes, ...]]]) -> dict[str, list[tuple[bytes, ...]]]:
    groups: defaultdict[str, list[tuple[bytes, ...]]] = defaultdict(list)
    for line, values in lines:
        groups[line].append(values)
    return dict(groups)


def _differ(old: list[tuple[bytes, ...]], new: list[tuple[bytes, ...]]) -> bool:
    """Return True if values were replaced. Lines that were only added or removed do not count."""
    if len(old) == len(new):
        return old != new
    fewer, more = sorted((old, new), key=len)
    return bool(Counter(fewer) - Counter(more))


def line_checksum(line: str) -> int:
    """Return the CRC-32 of a line. In `file.changed`, this number stands for a line in which a redacted value
    changed.
    """
    return zlib.crc32(line.encode("utf-8", "surrogatepass"))


def note_hidden_changes(text: str, hidden_changes: Collection[int]) -> str:
    """Return a file's redacted text with a note on each line in which a redacted value changed.

    `hidden_changes`: results of `find_hidden_changes`.
    """
    if not hidden_changes:
        return text
    return "\n".join(
        _add_note(line) if PLACEHOLDER_START in line and line_checksum(line) in hidden_changes else line
        for line in text.split("\n")
    )


def _add_note(line: str) -> str:
    text = line.removesuffix("\r")
    return f"{text}{HIDDEN_DIFFERENCE}{line[len(text) :]}"
