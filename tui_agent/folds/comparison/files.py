"""What a stretch of a log left of the files that it changed, each against what it was at the beginning.

Invariant: every count is one of the lines of `hunks`; what was changed and changed back is not there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.folds.base import fold
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged
from tui_agent.folds.text.line_diff import line_diff
from tui_agent.protocol.envelope import Envelope

LARGEST: Final = 1_000_000
"""Bytes of a content above which no lines are compared."""


@dataclass(frozen=True, slots=True)
class FileEnd:
    """One file. `before` and `after` are SHA-256 of its content (None: no such file), `hunks` a unified diff without
    a file header; where it is empty, `note` says why."""

    path: str
    before: str | None
    after: str | None
    added: int
    removed: int
    hunks: str
    note: str = ""


def file_ends(events: Sequence[Envelope], text: Callable[[str], bytes | None]) -> tuple[FileEnd, ...]:
    """The files that are another at the end, in the order of their first change."""
    changed = fold(FilesChanged(), events).files
    return tuple(_end(one, text) for one in changed if one.held != one.holds)


def _end(file: ChangedFile, text: Callable[[str], bytes | None]) -> FileEnd:
    before, after = (b"" if digest is None else text(digest) for digest in (file.before, file.after))
    note = _note(before, after)
    if note or before is None or after is None:
        return FileEnd(file.path, file.held, file.holds, file.added, file.removed, "", note)
    made = line_diff(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
    note = "" if made.text else _without_lines(file)
    return FileEnd(file.path, file.held, file.holds, made.added, made.removed, made.text, note)


def _without_lines(file: ChangedFile) -> str:
    if file.held is None:
        return "created, empty"
    return "removed, it was empty" if file.holds is None else "nothing that is kept of it differs"


def _note(before: bytes | None, after: bytes | None) -> str:
    """Why two contents cannot be compared line by line."""
    if before is None or after is None:
        return "what was in it is not kept"
    if b"\0" in before or b"\0" in after:
        return "a binary file"
    return "too large to compare" if max(len(before), len(after)) > LARGEST else ""
