"""Reverting of one hunk of a file's recorded change.

Invariant: lines that differ from the record are never changed.
"""

from tui_agent.errors import BlobNotFound, UsageError
from tui_agent.folds.comparison.files import diff_contents
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.charset import decode_text, encode_text
from tui_agent.folds.text.hunks import first_line, hunk_sides, revert_hunk, split_hunks
from tui_agent.folds.text.placeholders import PLACEHOLDER_START
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import RevertHunk

_INEXACT = (PLACEHOLDER_START, "\ufffd")
"""Texts that mark a line as not stored exactly (a secret, or bytes that cannot be decoded)."""


def find_hunk(blobs: Blobs, command: RevertHunk) -> str:
    """Return the text of the hunk that `command` selects. Raise `UsageError` if the hunk cannot be reverted."""

    def read(digest: str) -> bytes | None:
        try:
            return blobs.read(digest)
        except BlobNotFound:
            return None

    diff, note = diff_contents(_file_of(command), read)
    hunks = [] if diff is None else split_hunks(diff.text)
    if not 0 <= command.hunk < len(hunks):
        reason = note if diff is None else "this change was not found"
        raise UsageError(f"{command.path} cannot be reverted in part: {reason}.", hint="Nothing was changed.")
    hunk = hunks[command.hunk]
    if any(mark in line for line in hunk_sides(hunk)[0] for mark in _INEXACT):
        raise UsageError(
            f"{command.path} cannot be reverted in part: these lines hold a secret or are not text.",
            hint="/revert restores the whole file.",
        )
    return hunk


def _file_of(command: RevertHunk) -> ChangedFile:
    return ChangedFile(command.path, command.before, command.after, hidden_changes=command.hidden_changes)


def content_without(command: RevertHunk, hunk: str, current: bytes | None) -> bytes | None:
    """Return the file's content with the hunk reverted, or None if the file must be removed.

    `current`: the file's content now (None: no file).

    Raise `UsageError` if the hunk's lines were changed later.
    """
    path = command.path
    if current is None and command.after is not None:
        raise UsageError(f"{path} no longer exists.", hint="Nothing was reverted.")
    if current is not None and command.after is None:
        raise UsageError(f"{path} exists again.", hint="Nothing was reverted. Your file is kept.")
    decoded = decode_text(current or b"")
    text = None if decoded is None else revert_hunk(decoded.text, hunk)
    if decoded is None or text is None:
        raise UsageError(
            f"{path} was changed after this edit, at or near line {first_line(hunk)}.",
            hint="Nothing was reverted. Your version is kept.",
        )
    if command.before is None and not text:
        return None
    reverted = encode_text(decoded, text)
    if reverted is None:
        raise UsageError(
            f"The earlier lines have a character that the encoding of {path} ({decoded.note}) does not support.",
            hint="/revert restores the whole file.",
        )
    return reverted
