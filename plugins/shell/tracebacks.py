"""Shortens a traceback: frames of libraries are left out first, frames of the workspace's files last."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD_LINES, TAIL_LINES = 12, 24
MAX_SHORT_FRAME = 3
"""A frame with at most this many lines is kept or cut as a whole."""
_LIBRARY = re.compile(r"(?:^|/)(?:site-packages|dist-packages|node_modules|\.?venv|lib(?:64)?/python3[^/]*)/")
_SEPARATOR = re.compile(r"(?:_ ){5,}_?$")
"""Matches pytest's line between two frames."""
_FIRST_LINE = re.compile(
    r'(?P<python>\s*(?:E\s+)?)File "(?P<native>[^"]+)", line \d+|(?P<pytest>[^\s:]+):\d+: in '
)
"""Matches the first line of a frame: of Python, or of pytest's short form."""
_LAST_LINE = re.compile(r"(?P<path>[^\s:]+):\d+:(?:\s|$)")
"""Matches the last line of a frame in pytest's long form."""
_ONLY_LINE = re.compile(r"\s+(?:at|❯) (?:.*\()?(?:file://)?(?P<path>(?:node:)?[^\s():]+):\d+(?::\d+)?\)?$")
"""Matches the single line of a frame in JavaScript."""


@dataclass(slots=True)
class _Frame:
    """Consecutive lines of a traceback. `path`: the frame's file; empty for other text, such as a heading."""

    path: str = ""
    place: int = -1
    """Index of the line that names the path."""
    indexes: list[int] = field(default_factory=list)


def shorten_traceback(lines: list[str], root: str, folder: str) -> list[str]:
    """Return the lines; in a long traceback, notes replace the least important lines.

    - `root`: absolute path of the workspace
    - `folder`: absolute path of the folder in which the tests ran
    """
    limit = HEAD_LINES + TAIL_LINES
    if len(lines) <= limit + 1:
        return lines
    own, library = list[_Frame](), list[_Frame]()
    for frame in _split_frames(lines):
        (library if frame.path and _is_library(frame.path, root, folder) else own).append(frame)
    if not library:
        return omit_middle(lines, HEAD_LINES, TAIL_LINES)
    located = [frame for frame in own if frame.path]
    # The first frame is usually the test; of the others, the newest are the closest to the error.
    ordered = [*located[:1], *located[:0:-1]]
    ranked = [0, len(lines) - 1, *(frame.place for frame in ordered)]
    ranked += [index for frame in ordered for index in _key_lines(frame, lines)]
    ranked += [index for frame in library[::-1] for index in frame.indexes if lines[index].startswith("E  ")]
    ranked += [index for group in (own, library) for frame in group[::-1] for index in frame.indexes[::-1]]
    shown_indexes = sorted(list(dict.fromkeys(ranked))[:limit])
    return _with_notes(lines, shown_indexes)


def omit_middle(lines: list[str], head: int, tail: int) -> list[str]:
    """Return the first and last lines, with a note between them about the lines that are left out."""
    count = len(lines)
    return _with_notes(lines, [*range(min(head, count)), *range(max(head, count - tail), count)])


def _with_notes(lines: list[str], shown_indexes: list[int]) -> list[str]:
    shown, start = list[str](), 0
    for index in [*shown_indexes, len(lines)]:
        missing = index - start
        shown += lines[start:index] if missing <= 1 else [f"[… {missing} lines left out …]"]
        shown += lines[index : index + 1]
        start = index + 1
    return shown


def _key_lines(frame: _Frame, lines: list[str]) -> list[int]:
    """Return the indexes of the lines that name the frame's place, the failed statement and the error."""
    if len(frame.indexes) <= MAX_SHORT_FRAME:
        return frame.indexes
    return [index for index in frame.indexes if index == frame.place or lines[index].startswith((">", "E  "))]


def _is_library(path: str, root: str, folder: str) -> bool:
    absolute, prefix = posixpath.normpath(posixpath.join(folder, path)), f"{root.rstrip('/')}/"
    # The workspace itself may be in a folder such as `lib/python3`, so only the part below it counts.
    is_inside = absolute.startswith(prefix) and not path.startswith(("node:", "<"))
    return not is_inside or _LIBRARY.search(absolute.removeprefix(prefix)) is not None


def _split_frames(lines: list[str]) -> Iterator[_Frame]:
    frame, indent = _Frame(), -1
    for index, line in enumerate(lines):
        first, last, only = _FIRST_LINE.match(line), _LAST_LINE.match(line), _ONLY_LINE.match(line)
        is_outside = indent >= 0 and bool(line.strip()) and len(line) - len(line.lstrip()) <= indent
        if first or only or is_outside or _SEPARATOR.match(line):
            yield frame
            frame, indent = _Frame(), -1
        frame.indexes.append(index)
        if first:
            frame.path, frame.place = first["native"] or first["pytest"], index
            indent = len(first["python"]) if first["python"] is not None else -1
        elif only or last:
            match = only or last
            assert match is not None
            frame.path, frame.place = match["path"], index
            yield frame
            frame, indent = _Frame(), -1
    yield frame
