"""Reverts one hunk of the session's changes to a file.

Invariant: lines that the user wrote are never changed.
"""

from collections.abc import Sequence

from tui_agent.errors import BlobNotFound, UsageError
from tui_agent.folds.comparison.line_authors import (
    HunkRevert,
    TracedLine,
    count_hunks,
    describe_lines,
    revert_traced_hunk,
)
from tui_agent.folds.comparison.net_changes import trace_contents
from tui_agent.folds.session.changed_files import ChangedFile, ContentChange
from tui_agent.folds.text.line_diff import join_lines, split_lines
from tui_agent.folds.text.plain_text import decode_text, encode_text
from tui_agent.folds.text.redaction_placeholders import PLACEHOLDER_START
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import RevertHunk

_INEXACT = (PLACEHOLDER_START, "\ufffd")
"""Texts that mark a line as not stored exactly (a secret, or bytes that cannot be decoded)."""


def trace_change(blobs: Blobs, command: RevertHunk) -> list[TracedLine]:
    """Return the lines of the changed file with their authors. Raise `UsageError` if the hunk cannot be reverted."""

    def read(digest: str) -> bytes | None:
        try:
            return blobs.read(digest)
        except BlobNotFound:
            return None

    user_changes = tuple(ContentChange(*change) for change in command.user_changes)
    file = ChangedFile(
        command.path,
        command.before,
        command.after,
        hidden_changes=command.hidden_changes,
        user_changes=user_changes,
    )
    lines, note = trace_contents(file, read)
    if lines is None or not 0 <= command.hunk < count_hunks(lines):
        reason = note or "this change was not found"
        raise UsageError(f"{command.path} cannot be reverted in part: {reason}.", hint="Nothing was changed.")
    return lines


def content_without(command: RevertHunk, lines: Sequence[TracedLine], current: bytes | None) -> bytes | None:
    """Return the file's content with the hunk reverted, or None if the file must be removed.

    `lines`: result of `trace_change`. `current`: the file's content now (None: no file).

    Raise `UsageError` if the user changed the hunk's lines too, or if the log lacks the exact text of these lines.
    """
    path = command.path
    if current is None and command.after is not None:
        raise UsageError(f"{path} no longer exists.", hint="Nothing was reverted.")
    if current is not None and command.after is None:
        raise UsageError(f"{path} exists again.", hint="Nothing was reverted. Your file is kept.")
    decoded = decode_text(current or b"")
    if decoded is None:
        raise UsageError(f"{path} is now a binary file.", hint="Nothing was reverted.")
    current_lines = split_lines(decoded.text)
    merge = revert_traced_hunk(lines, command.hunk, current_lines)
    if _is_inexact(merge):
        raise UsageError(
            f"{path} cannot be reverted in part: these lines hold a secret or are not text.",
            hint="/revert restores the whole file.",
        )
    if merge.shared_lines:
        raise UsageError(
            f"{path} was changed at {describe_lines(merge.shared_lines)} after this change.",
            hint="Nothing was reverted. Edit the lines by hand, or use /rewind and choose “files only”.",
        )
    if merge.lines == current_lines:
        raise UsageError(f"{path} no longer contains this change.", hint="Nothing was reverted.")
    if not merge.lines and not _existed_for_user(command):
        return None
    reverted = encode_text(decoded, join_lines(merge.lines))
    if reverted is None:
        raise UsageError(
            f"The earlier lines have a character that the encoding of {path} ({decoded.note}) does not support.",
            hint="/revert restores the whole file.",
        )
    return reverted


def _is_inexact(merge: HunkRevert) -> bool:
    """Return True if the log lacks the exact text of a line of the hunk (a secret, or bytes that are not text)."""
    # A secret in an added line of the hunk does no harm unless it makes the line look changed by the user.
    lines = [
        line.text for line in merge.hunk_lines if line.is_removed or (line.is_added and merge.shared_lines)
    ]
    return any(mark in text for text in lines for mark in _INEXACT)


def _existed_for_user(command: RevertHunk) -> bool:
    """Return True if the file would exist if the session had not changed it."""
    existed = command.before is not None
    for before, after in command.user_changes:
        existed = after is not None and (existed or before is None)
    return existed
