"""The mutable state of the transcript: the entries, and the indexes of entries for unfinished work and for notices.

Invariant: every change of an entry goes through `add`, `replace_entry` or `append_text`, which update the revision and
record the index.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, TypedDict

from tui_agent.folds.session.generated_files import FolderFiles, GeneratedFiles
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
from tui_agent.protocol.base import AgentId, CallId, JobId, RequestId
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import Truncation
from tui_agent.protocol.events.model import FaultKind

Head: TypeAlias = tuple[str, int, float, int, int, AgentId]
"""The fields of `EntryBase`, in order."""
Stream: TypeAlias = dict[int, int]
"""Maps the number of each streamed part of a request to the index of its entry."""


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
        self.files: set[str] = set()
        self.edits = 0
        self.unlisted_count = 0
        self.writing: set[CallId] = set()
        """The calls that have started and can change files."""
        self.has_unknown_changes = False
        """True if a crash interrupted a call that can change files."""
        self.generated = GeneratedFiles()
        self.results = 0
        self.added = 0
        self.removed = 0
        self.cost_usd: float | None = None

    def count_changes(self) -> ChangeCounts:
        """Return the fields of `TurnEntry` that count changed files.

        If a file changed more than once, the line counts are 0, because their sum would not be the net change.
        """
        is_net = self.edits == len(self.files)
        return {
            "files": len(self.files) + self.unlisted_count,
            "added": self.added if is_net else 0,
            "removed": self.removed if is_net else 0,
            "edits": 0 if is_net else self.edits,
            "folders": self.generated.view(),
        }


class Draft:
    """The mutable transcript.

    Its dicts map the ids of unfinished calls, questions and requests to the indexes of their entries.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self.entries = EntryList(keep)
        self.revision = 0
        self.changed: set[int] = set()
        self.turn = 0
        self.undone_turn = 0
        """Number of the newest turn before the newest move of the head. The next turn gets a higher number."""
        self.turn_running = False
        self.sums = TurnSums()
        self.turn_end: int | None = None
        """Index of the entry that shows the end of the newest turn. None if there is none."""
        self.queued: dict[RequestId, int] = {}
        self.streams: dict[RequestId, Stream] = {}
        self.retries: dict[RequestId, int] = {}
        self.attempts: dict[RequestId, tuple[int, tuple[FaultKind, ...]]] = {}
        """Maps a request that is sent again to (the number of its next attempt, the kinds of its faults so far)."""
        self.model = ""
        self.reduction_notice: tuple[int, int] | None = None
        """Notice about outputs shortened since the newest summary: (index of its entry, number of outputs)."""
        self.overflow_notice: tuple[int, int] | None = None
        """Notice about requests of this turn that were too long: (index of its entry, number of requests)."""
        self.missing_map_notice: tuple[int, str] | None = None
        """Notice that requests lack the repository map: (index of its entry, its text). None if there is a map."""
        self._announced_cuts: set[str] = set()
        self.failure: int | None = None
        """Index of the notice about the model's failure in this turn. None if there is none."""
        self.tools: dict[CallId, int] = {}
        self.questions: dict[RequestId, int] = {}
        self.question_calls: dict[CallId, RequestId] = {}
        """Maps a call id to a question id. Contains the calls that only ask a question."""
        self.delegates: dict[AgentId, int] = {}
        self.delegate_calls: dict[int, int] = {}
        self.jobs: dict[JobId, tuple[str, int | None]] = {}
        """Maps the id of each running job to (its command, index of the entry for the call that started it)."""
        self.shell: int | None = None
        """Index of the entry for the user's own running command. None if no such command is running."""
        self.is_redo = False
        """True if the newest move of the head was a redo."""
        self.file_move: str | None = None
        """Reason of a move of the head that restores only files. None after the event that names the files."""
        self.kept: tuple[frozenset[str], bool] = frozenset(), False
        """The files and folders that the newest restore did not change, and True if a redo caused the restore."""
        self.price = ("", False)
        """The name of the model, and True if its price is known."""
        self.cost_limit: float | None = None
        self.unknown_notices: dict[bool, tuple[int, int]] = {}
        """Notices about unknown events, each as (index of the entry, number of events).

        The key is True for events of another log version.
        """
        self.last_event_time = 0.0
        self.turn_started_at = 0.0
        self.crash_time: float | None = None
        """Time of the last event before a crash. All open work ended at this time. None if there was no crash."""

    def entry_fields(self, ev: Record, entry_id: str, *, turn: int | None = None) -> Head:
        """Return the fields of `EntryBase` for a new entry that the event `ev` creates."""
        return entry_id, ev.seq, ev.time, self.turn if turn is None else turn, self.revision + 1, ev.agent

    def elapsed_ms(self, start: float, ev: Envelope) -> float:
        """Return the milliseconds from `start` to the event `ev`. If a crash came before `ev`, measure to the crash."""
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

    def append_text(self, index: int, piece: str) -> None:
        """Append text to a streaming entry."""
        self.revision += 1
        self.entries.grow(index, piece, self.revision)
        self.changed.add(index)

    def tool_entry(self, index: int | None) -> ToolEntry | None:
        """Return the entry at this index if it is a tool entry. Otherwise return None."""
        entry = None if index is None else self.entries[index]
        return entry if isinstance(entry, ToolEntry) else None

    def streamed_entry(self, index: int) -> AnswerEntry | ReasoningEntry | None:
        """Return the entry at this index if it is an answer or reasoning. Otherwise return None."""
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
        """Remember that the user was told about these cut texts. Return True if at least one of them is new."""
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
        """Append a notice and return its index. Empty lines are left out."""
        texts = tuple(line for line in lines if line)
        head = self.entry_fields(ev, f"notice.{ev.seq}")
        return self.add(NoticeEntry(*head, kind, level, texts, blocks, command))

    def update_notice(
        self,
        index: int,
        level: NoticeLevel,
        lines: Iterable[str],
        kind: NoticeKind | None = None,
        command: str = "",
    ) -> None:
        """Change a notice's level and lines. Its kind and command change only if they are given."""
        entry = self.entries[index]
        if isinstance(entry, NoticeEntry):
            texts = tuple(line for line in lines if line)
            kind, command = kind or entry.kind, command or entry.command
            changed = replace(entry, kind=kind, level=level, lines=texts, command=command)
            self.replace_entry(index, changed)
