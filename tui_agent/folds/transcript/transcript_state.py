"""The mutable state of the transcript: entries, unfinished work and notices.

Invariant: every change of an entry goes through `add`, `replace_entry` or `append_text`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypedDict

from tui_agent.folds.session.changed_files import ChangedFile, FolderFiles, GeneratedFiles, unchanged_file
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    NoticeKind,
    NoticeLevel,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    UserEntry,
)
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS
from tui_agent.folds.transcript.streamed_entries import EntryList
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import Truncation
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import FaultKind
from tui_agent.protocol.ids import AgentId, CallId, JobId, RequestId

Head: TypeAlias = tuple[str, int, float, int, int, AgentId]
"""The fields of `EntryBase`, in order."""
Stream: TypeAlias = dict[int, int]
"""Maps the number of each streamed part of a request to the index of the part's entry."""


class ChangeCounts(TypedDict):
    """The fields of `TurnEntry` that count changed files."""

    files: int
    added: int
    removed: int
    edits: int
    folders: tuple[FolderFiles, ...]


class TurnSums:
    """Totals of the running turn, for the row at the turn's end."""

    def __init__(self) -> None:
        self.iterations = 0
        self._files: dict[str, ChangedFile] = {}
        self.unlisted_count = 0
        self.writing: set[CallId] = set()
        """The started calls that can change files."""
        self.has_unknown_changes = False
        """True if a crash interrupted a call that can change files."""
        self.generated = GeneratedFiles()
        self.results = 0
        self.usage = NO_USAGE

    def add_change(self, change: FileChanged, seq: int) -> None:
        """Add a file's change.

        `seq`: the event that reports the change.
        """
        file = self._files.get(change.path) or unchanged_file(change)
        self._files[change.path] = file.with_change(change, seq)

    @property
    def files(self) -> list[ChangedFile]:
        """The changed files, except files that have their original content again."""
        return [file for file in self._files.values() if file.differs]

    def count_changes(self) -> ChangeCounts:
        """Return the fields of `TurnEntry` that count changed files."""
        # After repeated changes of a file, the sum of its line counts is not the net change.
        files = self.files
        edits = sum(file.changes for file in files)
        is_net = edits == len(files)
        return {
            "files": len(files) + self.unlisted_count,
            "added": sum(file.added for file in files) if is_net else 0,
            "removed": sum(file.removed for file in files) if is_net else 0,
            "edits": 0 if is_net else edits,
            "folders": self.generated.view(),
        }


class EndedJob(NamedTuple):
    """The texts about the end of a background job.

    - `outcome`: text for the row of the call that started the job.
    - `notice`: text for the notice about the end.

    If the call that started the job still runs, `Draft.ended_jobs` keeps the texts under the index of the call's entry.
    """

    outcome: str
    level: NoticeLevel
    notice: str


class Draft:
    """The mutable transcript.

    Dict fields map the ids of unfinished calls, questions and requests to the indexes of their entries.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self.entries = EntryList(keep)
        self.revision = 0
        self.changed: set[int] = set()
        self.turn = 0
        self.undone_turn = 0
        """The highest turn number before the newest undo, redo or revert. New turns get higher numbers."""
        self.turn_running = False
        self.sums = TurnSums()
        self.turn_end: int | None = None
        """Index of the entry that shows the end of the newest turn."""
        self.queued: dict[RequestId, int] = {}
        self.streams: dict[RequestId, Stream] = {}
        self.retries: dict[RequestId, int] = {}
        self.attempts: dict[RequestId, tuple[int, tuple[FaultKind, ...]]] = {}
        """Maps the id of each repeated request to (number of the next attempt, kinds of the faults so far)."""
        self.model = ""
        self.reduction_notice: tuple[int, int] | None = None
        """Notice about outputs shortened since the newest summary: (index of its entry, number of outputs)."""
        self.overflow_notice: tuple[int, int] | None = None
        """Notice about this turn's too long requests: (index of its entry, number of requests)."""
        self.missing_map_notice: tuple[int, str] | None = None
        """The notice that the repository map is missing: (index of its entry, its text)."""
        self._announced_cuts: set[str] = set()
        self.failure: int | None = None
        """Index of the notice about the model's failure in this turn."""
        self.tools: dict[CallId, int] = {}
        self.questions: dict[RequestId, int] = {}
        self.question_calls: dict[CallId, RequestId] = {}
        """Maps the id of each call that only asks a question to the question's id."""
        self.delegates: dict[AgentId, int] = {}
        self.delegate_calls: dict[int, int] = {}
        self.delegate_labels: dict[CallId, str] = {}
        """The line of each running call of a delegate in the output of the delegate's entry: id of the call → line."""
        self.jobs: dict[JobId, tuple[str, int | None]] = {}
        """Maps the id of each running job to (command, index of the entry of the job's call)."""
        self.ended_jobs: dict[int, EndedJob] = {}
        self.shell: int | None = None
        """Index of the entry for the user's running `!` command."""
        self.is_redo = False
        """True if the newest undo, redo or revert was a redo."""
        self.file_move: str | None = None
        """Reason of a move that restored files (such as `hunk`). It is kept until `checkpoint.restored` names the
        files."""
        self.unrestored: tuple[frozenset[str], bool] = frozenset(), False
        """The paths left unchanged by the newest restore, and True if a redo caused the restore."""
        self.price = ("", False)
        """The session's model and its price: (model's name, True if its price is known)."""
        self.model_without_images = ""
        """The name of the session's model if it does not accept images; otherwise empty."""
        self.cost_limit: float | None = None
        self.unknown_notices: dict[bool, tuple[int, int]] = {}
        """Notices about unknown events: (index of the entry, number of events).

        The key is True for events of another log version, and False for events of an unknown kind.
        """
        self.last_event_time = 0.0
        self.turn_started_at = 0.0
        self.crash_time: float | None = None
        """Time of the last event before a crash. Open work ended at this time."""

    def entry_fields(self, ev: Record, entry_id: str, *, turn: int | None = None) -> Head:
        """Return the `EntryBase` fields of a new entry for the event `ev`."""
        return entry_id, ev.seq, ev.time, self.turn if turn is None else turn, self.revision + 1, ev.agent

    def elapsed_ms(self, start: float, ev: Envelope) -> float:
        """Return the milliseconds from `start` to the event `ev`, or to a crash before `ev`."""
        end = ev.time if self.crash_time is None else min(ev.time, self.crash_time)
        return max(0.0, (end - start) * 1_000)

    def add(self, entry: Entry) -> int:
        """Append an entry and return its index."""
        self.revision += 1
        index = self.entries.add(entry)
        self.changed.add(index)
        return index

    def replace_entry(self, index: int, entry: Entry) -> None:
        """Replace the entry at `index` by a new one, and set the revision of the new entry."""
        self.revision += 1
        self.entries.replace(index, replace(entry, revision=self.revision))
        self.changed.add(index)

    def append_text(self, index: int, piece: str, skipped_lines: int = 0) -> None:
        """Append text to a streaming entry.

        `skipped_lines`: number of lines that the text leaves out.
        """
        self.revision += 1
        self.entries.grow(index, piece, self.revision, skipped_lines)
        self.changed.add(index)

    def tool_entry(self, index: int | None) -> ToolEntry | None:
        """Return the entry at this index if it is a tool entry, otherwise None."""
        entry = None if index is None else self.entries[index]
        return entry if isinstance(entry, ToolEntry) else None

    def streamed_entry(self, index: int) -> AnswerEntry | ReasoningEntry | None:
        """Return the entry at this index if it is an answer or reasoning, otherwise None."""
        entry = self.entries[index]
        return entry if isinstance(entry, AnswerEntry | ReasoningEntry) else None

    def unqueue(self, queue_id: RequestId) -> None:
        """Mark the entry of a queued message as removed."""
        index = self.queued.pop(queue_id, None)
        entry = None if index is None else self.entries[index]
        if index is not None and isinstance(entry, UserEntry):
            self.replace_entry(index, replace(entry, state="removed"))

    def void_question(self, question: RequestId) -> None:
        """Mark a question as no longer waiting for an answer."""
        index = self.questions.pop(question, None)
        entry = None if index is None else self.entries[index]
        if index is not None and isinstance(entry, QuestionEntry):
            self.replace_entry(index, replace(entry, is_void=True))

    def announce_truncations(self, cuts: Iterable[Truncation]) -> bool:
        """Remember that the user was told about these cut texts. Return True if one of the texts is new."""
        names = {cut.label for cut in cuts}
        is_new = not names <= self._announced_cuts
        self._announced_cuts |= names
        return is_new

    def add_notice(
        self,
        ev: Record,
        kind: NoticeKind,
        level: NoticeLevel,
        lines: Iterable[str],
        blocks: tuple[DisplayBlock, ...] = (),
        command: str = "",
    ) -> int:
        """Append a notice and return its index."""
        texts = tuple(line for line in lines if line)
        head = self.entry_fields(ev, f"notice.{ev.seq}")
        return self.add(NoticeEntry(*head, kind, level, texts, blocks, command))

    def add_ended_job(self, ev: Record, job: EndedJob, index: int | None) -> None:
        """Append a notice about the end of a job, and show the end in the entry `index` of the call that started the
        job.
        """
        entry = self.tool_entry(index)
        if index is not None and entry is not None:
            self.replace_entry(index, replace(entry, outcome=job.outcome))
        self.add_notice(ev, "job", job.level, (job.notice,))

    def update_notice(
        self,
        index: int,
        level: NoticeLevel,
        lines: Iterable[str],
        kind: NoticeKind | None = None,
        command: str = "",
    ) -> None:
        """Change a notice's level and lines."""
        entry = self.entries[index]
        if isinstance(entry, NoticeEntry):
            texts = tuple(line for line in lines if line)
            kind, command = kind or entry.kind, command or entry.command
            changed = replace(entry, kind=kind, level=level, lines=texts, command=command)
            self.replace_entry(index, changed)
