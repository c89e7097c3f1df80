"""The content of a session for readable exports.

Invariant: every string has passed the redactor and has no control characters except line feeds and tabs.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tui_agent.errors import BlobNotFound
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import NetFileChange, compare_contents, diff_contents
from tui_agent.folds.session.changed_files import FilesChanged, FilesChangedView
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.transcript.entries import Entry, UserEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText
from tui_agent.protocol.unicode_text import replace_invisible
from tui_agent.store.blobs import BlobStore
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.units import format_bytes

_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
"""Matches an escape sequence of a terminal, such as a colour or a window title."""
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?!\n|$)", re.MULTILINE)
"""Matches the part of a line that a carriage return overwrites, such as the earlier states of a progress bar."""


@dataclass(frozen=True, slots=True)
class ExportedChange:
    """A change to one file.

    - `diff`: hunks of the change.
    - `note`: reason why there are no hunks (binary, too large).
    - `before`, `after`: SHA-256 of the file's content.
    """

    seq: int
    time: float
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
class ExportContent:
    """One branch of a session, from the start of the session to the branch's newest event.

    - `models`: models that the main agent asked, in order of first use.
    - `files`: net changes of files.
    - `unlisted_files`: number of changed files that the log does not list.
    """

    session: str
    title: str
    workspace: str
    models: tuple[str, ...]
    turns: int
    entries: tuple[Entry, ...]
    changes: tuple[ExportedChange, ...]
    files: tuple[NetFileChange, ...]
    unlisted_files: int
    checkpoints: tuple[CheckpointTaken | CheckpointRestored, ...]
    metrics: MetricsView
    """Metrics of all branches of the session. Abandoned branches are included: they cost money too."""
    texts: "Texts"

    def items(self) -> Iterator[Entry | ExportedChange]:
        """Yield the entries of the conversation and the file changes outside tool calls, in order."""
        outside_changes = [change for change in self.changes if change.call_id is None]
        for entry in self.entries:
            while outside_changes and outside_changes[0].seq < entry.seq:
                yield outside_changes.pop(0)
            yield entry
        yield from outside_changes

    def changes_of(self, call_id: CallId) -> list[ExportedChange]:
        """Return the file changes that a tool call made."""
        return [change for change in self.changes if change.call_id == call_id]


class Texts:
    """Loads the texts of a session in full, redacted and without control characters."""

    def __init__(self, blobs: BlobStore, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def full_text(self, text: LongText) -> str:
        """Return the full text or, if its blob is missing, its beginning and a note."""
        if not isinstance(text, BlobText):
            return self.clean_text(text)
        data = self._blobs.find(text.blob_sha256)
        if data is None:
            return (
                f"{self.clean_text(text.preview)}\n… (the rest of the {format_bytes(text.size)} is missing)"
            )
        return self.clean_text(data.decode("utf-8", "replace"))

    def clean_text(self, text: str) -> str:
        """Redact a text and remove its control characters."""
        return strip_controls(self._redactor.redact_text(text))

    def full_json(self, data: JsonMap) -> JsonMap:
        """Return JSON data with every long text loaded and every secret redacted.

        If a text is missing, return the data unchanged.
        """
        try:
            redacted = self._redactor.json(self._blobs.resolve(data))
        except BlobNotFound:
            return data
        return redacted if isinstance(redacted, dict) else data

    def image(self, digest: str) -> bytes | None:
        """Return the bytes of the picture with the SHA-256 `digest`, or None if the picture is missing."""
        return self._blobs.find(digest)

    def redact_event(self, event: Envelope) -> Envelope:
        """Return the event with every string redacted, or the event itself if it has no secrets."""
        if not self._redactor.suspects(event.model_dump_json().encode()):
            return event
        return Envelope.model_validate(self._redactor.json(event.model_dump(mode="json")))

    def build_change(self, event: Envelope, change: FileChanged) -> ExportedChange:
        """Return a file change with its diff. If there is no diff, a note says why."""
        diff, note = diff_contents(change, self._find_content(change.path), self.clean_text)
        if diff is None:
            note += f", {format_bytes(change.before_size)} to {format_bytes(change.after_size)}"
        return ExportedChange(
            event.seq,
            event.time,
            self.clean_text(change.path),
            change.author,
            change.call_id,
            change.added,
            change.removed,
            "" if diff is None else diff.text,
            note,
            before=change.disk_sha256_before,
            after=change.disk_sha256_after,
        )

    def net_changes(self, view: FilesChangedView) -> tuple[NetFileChange, ...]:
        """Return the net change of each file that the session changed, as `/diff` shows it."""
        return tuple(
            compare_contents(file, self._find_content(file.path), self.clean_text) for file in view.files
        )

    def _find_content(self, path: str) -> Callable[[str], bytes | None]:
        """Return a function that maps a digest to the bytes of that version of the file `path`, or to None."""
        # Older versions of this program stored the content of files with secrets.
        if self._redactor.is_secret_file(path):
            return lambda digest: SECRET_FILE_CONTENT
        return self._blobs.find


def strip_controls(text: str) -> str:
    """Return the text as a terminal would show it: without control sequences and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n")
    return replace_invisible(_OVERWRITTEN.sub("", text), "")


def load_export(folder: Path, redactor: Redactor) -> ExportContent:
    """Read the current branch of a session for an export. Raise `SessionNotFound` if there is no log."""
    texts = Texts(open_blobs(folder), redactor)
    transcript, metrics = Transcript(), Metrics()
    state, files = SessionState(), FilesChanged()
    first_model, models, turns = "", dict[str, None](), 0
    changes: list[ExportedChange] = []
    checkpoints: list[CheckpointTaken | CheckpointRestored] = []
    for event in _redacted_events(iterate_records(folder, current_branch_only=True), texts):
        transcript.apply(event)
        state.apply(event)
        files.apply(event)
        match event.payload:
            case RunStarted(model=used):
                first_model = first_model or used.model
            case ModelRequested(model=used) if event.agent == MAIN_AGENT:
                models[used.model] = None
            case TurnStarted():
                turns += 1
            case FileChanged() as change:
                changes.append(texts.build_change(event, change))
            case CheckpointTaken() | CheckpointRestored() as checkpoint:
                checkpoints.append(checkpoint)
            case _:
                pass
    for event in _redacted_events(iterate_records(folder), texts):
        metrics.apply(event)
    return ExportContent(
        session=folder.name,
        title=texts.clean_text(state.draft.title),
        workspace=texts.clean_text(state.draft.workspace),
        models=tuple(map(texts.clean_text, models or [first_model])),
        turns=turns,
        # As in the app: a message that left the queue is shown where it was sent, if it was sent.
        entries=tuple(
            entry
            for entry in transcript.view().entries
            if not (isinstance(entry, UserEntry) and entry.state == "removed")
        ),
        changes=tuple(changes),
        files=texts.net_changes(files.view()),
        unlisted_files=files.view().unlisted_count,
        checkpoints=tuple(checkpoints),
        metrics=metrics.view(),
        texts=texts,
    )


def _redacted_events(records: Iterator[Record], texts: Texts) -> Iterator[Envelope]:
    return map(texts.redact_event, known_events(records))
