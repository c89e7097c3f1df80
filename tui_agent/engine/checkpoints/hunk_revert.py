"""Reverts one hunk of a file's recorded change, and finds the reverted hunks that an undo would affect.

Invariant: lines that differ from the recorded change are never changed. A reverted hunk counts as a change by the user
until the recorded change with this hunk is undone.
"""

from collections.abc import Iterable
from typing import Protocol

from anyio import to_thread

from tui_agent.errors import BlobNotFound, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.hunk_authors import find_shared_hunks
from tui_agent.folds.comparison.net_changes import diff_contents
from tui_agent.folds.session.branches import BranchesView, is_on_branch, last_shared, stretches
from tui_agent.folds.session.changed_files import ChangedFile, unchanged_file
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.line_diff import first_line, hunk_sides, revert_hunk, split_hunks
from tui_agent.folds.text.plain_text import decode_text, encode_text
from tui_agent.folds.text.redaction_placeholders import PLACEHOLDER_START
from tui_agent.ports.log import Blobs
from tui_agent.protocol.commands import RevertHunk
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved

_INEXACT = (PLACEHOLDER_START, "\ufffd")
"""Texts that mark a line as not stored exactly (a secret, or bytes that cannot be decoded)."""


def find_hunk(blobs: Blobs, command: RevertHunk, records: Iterable[Record]) -> str:
    """Return the text of the hunk that `command` selects. Raise `UsageError` if the hunk cannot be reverted.

    `records`: the records of the current branch. They show if the hunk has changes that the session did not make; such
    a hunk cannot be reverted.
    """

    def read(digest: str) -> bytes | None:
        try:
            return blobs.read(digest)
        except BlobNotFound:
            return None

    changed = ChangedFile(command.path, command.before, command.after, hidden_changes=command.hidden_changes)
    diff, note = diff_contents(changed, read)
    hunks = [] if diff is None else split_hunks(diff.text)
    if not 0 <= command.hunk < len(hunks):
        reason = note if diff is None else "this change was not found"
        raise UsageError(f"{command.path} cannot be reverted in part: {reason}.", hint="Nothing was changed.")
    hunk = hunks[command.hunk]
    if _is_inexact(hunk_sides(hunk)[0]):
        raise _inexact_error(command.path)
    recorded = _find_recorded_file(records, command)
    shared_hunks = find_shared_hunks(recorded, diff.text, read) if diff and recorded else frozenset[int]()
    if command.hunk in shared_hunks:
        raise UsageError(
            f"You or another session changed lines of this change to {command.path} too.",
            hint="Nothing was reverted. Edit the lines by hand, or restore the file with /rewind, files only.",
        )
    return hunk


def _find_recorded_file(records: Iterable[Record], command: RevertHunk) -> ChangedFile | None:
    """Return the file with the changes that lead from `command.before` to `command.after`."""
    file = recorded = None
    for record in records:
        change = record.payload
        if not isinstance(change, FileChanged) or change.path != command.path:
            continue
        if file is None and change.before == command.before and change.first_author != "human":
            file = unchanged_file(change)
        if file is not None:
            file = file.with_change(change, record.seq)
            recorded = file if change.after == command.after else recorded
    return recorded


def _is_inexact(lines: Iterable[str]) -> bool:
    return any(mark in line for line in lines for mark in _INEXACT)


def _inexact_error(path: str) -> UsageError:
    return UsageError(
        f"{path} cannot be reverted in part: these lines hold a secret or are not text.",
        hint="/revert restores the whole file.",
    )


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
    if text is None and _is_inexact(hunk_sides(hunk)[1]):  # the file has the secret, the hunk a placeholder
        raise _inexact_error(path)
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


@dataclass(frozen=True, slots=True)
class RevertedPaths:
    """Files with hunks that the user reverted after the target event of an undo.

    - `kept_paths`: files in which the undo would bring a reverted hunk back. The user is asked first.
    - `restored_paths`: files in which the user's revert is all that the undo reverses. The user is not asked.
    """

    kept_paths: frozenset[str] = frozenset()
    restored_paths: tuple[str, ...] = ()


class BranchReader(Protocol):
    """The part of a `Recorder` that is needed to plan a restore."""

    @property
    def state(self) -> SessionStateView: ...
    @property
    def branches(self) -> BranchesView: ...
    def commit_at(self, seq: int) -> str: ...
    def records_after(self, seq: int) -> Iterable[Record]: ...


async def find_reverted_paths(recorder: BranchReader, to_seq: int) -> RevertedPaths:
    """Return the files with hunks reverted on the current branch after the event `to_seq`."""
    moves = recorder.branches.moves
    current, target = stretches(moves, recorder.state.seq), stretches(moves, to_seq)
    if not any(
        move.reason == "hunk" and is_on_branch(move.seq, current) and not is_on_branch(move.seq, target)
        for move in moves
    ):
        return RevertedPaths()
    after = last_shared(current, target)
    return await to_thread.run_sync(lambda: _sort_paths(recorder.records_after(after), to_seq))


def _sort_paths(records: Iterable[Record], to_seq: int) -> RevertedPaths:
    changed_versions: set[tuple[str, str | None]] = set()
    kept_paths, restored_paths = set[str](), dict[str, None]()
    for record in records:
        match record.payload:
            case FileChanged(path=path, before=before, author="agent" | "command"):
                changed_versions.add((path, before))
            case SessionHeadMoved(from_seq=from_seq, reason="hunk", hunk=hunk) if hunk:
                if from_seq == to_seq:
                    restored_paths[hunk.path] = None
                elif (hunk.path, hunk.before) not in changed_versions:
                    kept_paths.add(hunk.path)
    return RevertedPaths(frozenset(kept_paths), tuple(restored_paths))
