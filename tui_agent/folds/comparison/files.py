"""The net changes to files in a part of a log.

Invariant: `added` and `removed` count the lines in `hunks`; a change that was reverted is not listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tui_agent.folds.base import fold
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged
from tui_agent.folds.text.line_diff import diff_lines
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged

MAX_DIFF_BYTES: Final = 1_000_000
"""Maximum size in bytes of contents that are compared line by line."""


@dataclass(frozen=True, slots=True)
class NetFileChange:
    """The net change of one file. `before` and `after` are the SHA-256 of its content (None: no such file).

    `hunks` is a unified diff without file header; if it is empty, `note` gives the reason.
    """

    path: str
    before: str | None
    after: str | None
    added: int
    removed: int
    hunks: str
    note: str = ""


def net_file_changes(
    events: Sequence[Envelope], text: Callable[[str], bytes | None]
) -> tuple[NetFileChange, ...]:
    """Return the files that differ between the start and the end of these events, in the order of their first change.

    `text` returns the stored content with this SHA-256; None if it is missing.
    """
    changed = fold(FilesChanged(), events).files
    return tuple(
        _compare_contents(file, text) for file in changed if file.disk_sha256_before != file.disk_sha256_after
    )


def _compare_contents(file: ChangedFile, text: Callable[[str], bytes | None]) -> NetFileChange:
    before, after = (b"" if digest is None else text(digest) for digest in (file.before, file.after))
    note = _note(before, after)
    if note or before is None or after is None:
        return NetFileChange(
            file.path, file.disk_sha256_before, file.disk_sha256_after, file.added, file.removed, "", note
        )
    diff = diff_lines(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
    note = "" if diff.text else describe_empty_diff(file)
    return NetFileChange(
        file.path, file.disk_sha256_before, file.disk_sha256_after, diff.added, diff.removed, diff.text, note
    )


def describe_empty_diff(file: ChangedFile | FileChanged) -> str:
    """Return a description of a change that has no changed lines."""
    if file.disk_sha256_before is None:
        return "created, empty"
    if file.disk_sha256_after is None:
        return "removed, was empty"
    is_same_file = file.disk_sha256_before == file.disk_sha256_after
    return "only its permissions changed" if is_same_file else "the stored content is the same"


def _note(before: bytes | None, after: bytes | None) -> str:
    """Return the reason why two contents cannot be compared line by line; empty if they can."""
    if before is None or after is None:
        return "content not stored"
    if b"\0" in before or b"\0" in after:
        return "binary file"
    return "too large to compare" if max(len(before), len(after)) > MAX_DIFF_BYTES else ""
