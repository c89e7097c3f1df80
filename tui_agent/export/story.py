"""The content of a session for readable exports.

Invariant: every string has passed the redactor and has no control characters except line feeds and tabs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tui_agent.folds.text.line_diff import line_diff
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.transcript.entries import Entry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import (
    RunStarted,
    SessionForked,
    SessionStarted,
    SessionTitled,
    WorkspaceMoved,
)
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.unicode_text import replaced
from tui_agent.store.blobs import BlobStore
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import iterate_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.units import format_bytes

DIFF_BYTES = 1_000_000
"""Maximum bytes of each side of a change that is shown as a diff."""
_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one file. `diff` holds hunks; without any, `note` gives the reason (binary, too large).

    `before` and `after` are the SHA-256 of the file's own bytes.
    """

    seq: int
    at: float
    path: str
    author: str
    call_id: CallId | None
    added: int
    removed: int
    diff: str
    note: str = ""
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """One branch of a session, from its beginning to its newest event."""

    session: str
    title: str
    workspace: str
    model: str
    entries: tuple[Entry, ...]
    changes: tuple[Change, ...]
    checkpoints: tuple[CheckpointTaken | CheckpointRestored, ...]
    metrics: MetricsView
    """Metrics of all branches: abandoned ones cost money too."""
    texts: "Texts"

    def changes_of(self, call_id: CallId) -> list[Change]:
        """Return the changes to files by a call."""
        return [change for change in self.changes if change.call_id == call_id]


class Texts:
    """The texts of a session in full, redacted and without control characters."""

    def __init__(self, blobs: BlobStore, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def whole(self, text: LongText) -> str:
        """Return a text in full; if its blob is missing, its beginning and a note."""
        if not isinstance(text, BlobText):
            return self.plain(text)
        data = self._blobs.find(text.blob_sha256)
        if data is None:
            return f"{self.plain(text.preview)}\n… (the rest of the {format_bytes(text.size)} is missing)"
        return self.plain(data.decode("utf-8", "replace"))

    def plain(self, text: str) -> str:
        """Return a short text, redacted and cleaned."""
        return clean(self._redactor.text(text))

    def image(self, digest: str) -> bytes | None:
        """Return the bytes of a picture."""
        return self._blobs.find(digest)

    def redacted(self, event: Envelope) -> Envelope:
        """Return the event with every string redacted; the same object if there is nothing to hide."""
        if not self._redactor.suspects(event.model_dump_json().encode()):
            return event
        return Envelope.model_validate(self._redactor.json(event.model_dump(mode="json")))

    def change(self, event: Envelope, change: FileChanged) -> Change:
        """Return a changed file with its diff."""
        summary = Change(
            event.seq,
            event.at,
            self.plain(change.path),
            change.author,
            change.call_id,
            change.added,
            change.removed,
            "",
            before=change.held,
            after=change.holds,
        )
        sizes = f"{format_bytes(change.before_size)} to {format_bytes(change.after_size)}"
        if max(change.before_size, change.after_size) > DIFF_BYTES:
            return replace(summary, note=f"too large to show: {sizes}")
        before, after = self._side(change.before), self._side(change.after)
        if before is None or after is None:
            return replace(summary, note="content not stored")
        if b"\0" in before or b"\0" in after:
            return replace(summary, note=f"binary: {sizes}")
        old, new = (self.plain(side.decode("utf-8", "replace")) for side in (before, after))
        diff = line_diff(old, new).text
        return replace(summary, diff=diff, note="" if diff else _without_lines(change))

    def _side(self, digest: str | None) -> bytes | None:
        return b"" if digest is None else self._blobs.find(digest)


def _without_lines(change: FileChanged) -> str:
    if change.before is None:
        return "created, empty"
    if change.after is None:
        return "removed"
    return "only its permissions changed" if change.held == change.holds else "the stored content is the same"


def clean(text: str) -> str:
    """Return the text as printed on paper: without terminal sequences and invisible characters.

    Of a line that a program overwrote, only the last state remains.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return replaced(_OVERWRITTEN.sub("", text), "")


def load(folder: Path, redactor: Redactor) -> Story:
    """Read the current branch of a session. Raises `SessionNotFound`."""
    texts = Texts(blobs_of(folder), redactor)
    transcript, metrics = Transcript(), Metrics()
    title = workspace = model = ""
    changes: list[Change] = []
    checkpoints: list[CheckpointTaken | CheckpointRestored] = []
    for event in _redacted_events(iterate_records(folder, branch=True), texts):
        transcript.apply(event)
        match event.payload:
            case SessionStarted(workspace=place, title=name):
                workspace, title = place, name or title
            case SessionForked(changed=changed):
                workspace = changed.workspace or workspace
            case WorkspaceMoved(workspace=place):
                workspace = place
            case SessionTitled(title=name):
                title = name
            case RunStarted(model=used):
                model = used.model
            case FileChanged() as change:
                changes.append(texts.change(event, change))
            case CheckpointTaken() | CheckpointRestored() as checkpoint:
                checkpoints.append(checkpoint)
            case _:
                pass
    for event in _redacted_events(iterate_records(folder), texts):
        metrics.apply(event)
    return Story(
        session=folder.name,
        title=texts.plain(title),
        workspace=texts.plain(workspace),
        model=texts.plain(model),
        entries=tuple(transcript.view().entries),
        changes=tuple(changes),
        checkpoints=tuple(checkpoints),
        metrics=metrics.view(),
        texts=texts,
    )


def _redacted_events(records: Iterator[Record], texts: Texts) -> Iterator[Envelope]:
    return (texts.redacted(record) for record in records if isinstance(record, Envelope))
