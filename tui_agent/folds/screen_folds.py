"""All folds for a session's screen, applied together.

Invariant: each event is applied to each fold exactly once, in order, and an error in one fold does not stop the others.
"""

import traceback
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context import context_breakdown
from tui_agent.folds.context import meter as context_meter
from tui_agent.folds.context.context_breakdown import Ledger
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.projection import Projection, copy_state
from tui_agent.folds.session import agents as agents_tree
from tui_agent.folds.session import approvals, jobs, todo_list
from tui_agent.folds.session import changed_files as files_changed
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.jobs import Jobs
from tui_agent.folds.session.snapshot import SnapshotOutline
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.session.unfinished_work import PROGRAM_ENDED, ends_after_crash
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record, find_payload
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, CheckpointRestoreStarted
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import CommandRejected, SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived, UserShellStarted, UserSteered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, SessionId
from tui_agent.protocol.stored_text import LongText

ViewName: TypeAlias = Literal[
    "state",
    "transcript",
    "trace",
    "todo",
    "meter",
    "files",
    "agents",
    "metrics",
    "approvals",
    "jobs",
    "ledger",
    "plugins",
]

_FOLD_NAMES: Final[tuple[ViewName, ...]] = tuple(name for name in get_args(ViewName) if name != "plugins")
HANDLED_EVENTS: Final[dict[ViewName, tuple[type[Payload], ...]]] = {
    "todo": todo_list.TAKES,
    "meter": context_meter.TAKES,
    "files": files_changed.TAKES,
    "agents": agents_tree.TAKES,
    "approvals": approvals.TAKES,
    "jobs": jobs.TAKES,
    "ledger": context_breakdown.TAKES,
}
"""Maps the name of a fold to its classes of events. The fold gets no other events."""

_USER_EVENTS: Final = (UserMessageReceived, UserSteered, UserShellStarted)
_STORED_EVENTS: Final[frozenset[type[Payload]]] = frozenset(
    (
        PluginLoaded,
        PluginUnloaded,
        PluginFailed,
        CheckpointPlanned,
        CheckpointRestoreStarted,
        CheckpointRestored,
        CommandRejected,
        SessionHeadMoved,
        *_USER_EVENTS,
    )
)
"""Classes of the events that `Views` itself stores."""


@dataclass(frozen=True, slots=True)
class FoldFault:
    """An error that a fold raised while it applied an event."""

    view: str
    seq: int
    kind: str
    error: str
    """The error in one line, such as `KeyError: 'map'`."""
    detail: str
    """The traceback."""


class Views:
    """All folds for a session's screen, and the names of the views that changed.

    The newest `keep` transcript entries and trace spans are never compressed.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._keep = keep
        self.branches = Branches()
        """Computes the branches. It gets the records of every branch."""
        self.head_moved = False
        """True from a move to another branch until `reset`. Meanwhile, most folds show the old branch."""
        self.reset()

    def reset(self) -> None:
        """Reset all folds except `branches`. Then the records on the current branch can be applied again."""
        self.head_moved = False
        self.state = SessionState()
        self.transcript = Transcript(self._keep)
        self.trace = Trace(self._keep)
        self.todo = Todo()
        self.meter = ContextMeter()
        self.files = FilesChanged()
        self.agents = AgentsTree()
        self.metrics = Metrics()
        self.approvals = Approvals()
        self.jobs = Jobs()
        self.ledger = Ledger()
        self.newest_restore: CheckpointRestored | None = None
        """The newest restore of files.

        `restore_seq`: event of this restore.
        `restore_target_seq`: event whose files were restored.
        """
        self.restore_seq = self.restore_target_seq = -1
        self.refused_move_seq = -1
        """The event of the newest undo or revert that the engine refused; -1 if there is none."""
        self._restore_target = -1
        self.is_redo = False
        """True if the newest undo, redo or revert was a redo."""
        self.restore_plan: CheckpointPlanned | None = None
        """The newest preview of a revert, with the files that the revert would change."""
        self.plugins: dict[str, PluginLoaded | PluginFailed] = {}
        self.faults: dict[tuple[str, str], FoldFault] = {}
        """The first error of each fold in each kind of event: (name of the fold, kind of event) → error."""
        self.prompts: list[tuple[int, LongText]] = []
        """The user's messages and `!` commands to add to the prompt's history, as (event number, text)."""
        self.seq = -1
        self.last_kind = ""
        self.last_event_time = 0.0
        self._changed: set[ViewName] = set()
        self._collect_folds()

    def _collect_folds(self) -> None:
        self._folds: tuple[tuple[ViewName, Projection[object]], ...] = tuple(
            (name, getattr(self, name)) for name in _FOLD_NAMES
        )
        self._folds_by_class: dict[type[Payload], tuple[tuple[ViewName, Projection[object]], ...]] = {}

    def _folds_for(self, payload_class: type[Payload]) -> tuple[tuple[ViewName, Projection[object]], ...]:
        return tuple(
            (name, fold)
            for name, fold in self._folds
            if name not in HANDLED_EVENTS or payload_class in HANDLED_EVENTS[name]
        )

    def copy(self) -> "Views":
        """Return an independent copy, with no view marked as changed."""
        copy = copy_state(self, {id(self.trace): self.trace.copy()})
        copy._collect_folds()
        copy.clear_changes()
        return copy

    def clear_changes(self) -> None:
        """Mark all views as unchanged."""
        self._changed.clear()
        self.transcript.drain()
        self.prompts = []

    def apply(self, record: Record) -> None:
        """Apply one new record to all folds."""
        if isinstance(record, Envelope):
            self._apply_to("branches", self.branches, record)
            self.head_moved = self.head_moved or isinstance(record.payload, SessionHeadMoved)
        self.apply_on_branch(record)

    @classmethod
    def restore(cls, outline: SnapshotOutline, seq: int, tail: Sequence[Record]) -> "Views | None":
        """Build the views after the last record of `tail`, starting from the snapshot `outline`.

        State, meter, branches and todo then cover the whole log. All other views cover only `tail`.

        - `outline`: the snapshot. This method changes the snapshot's objects, so do not use the snapshot again.
        - `seq`: event of the snapshot.
        - `tail`: the newest records of the log, of all branches.

        Return None if records between the snapshot and `tail` are missing, or if the snapshot was followed by an undo,
        redo or revert.
        """
        newer = [record for record in tail if record.seq > seq]
        if not tail or tail[0].seq > seq + 1 or find_payload(newer, SessionHeadMoved) is not None:
            return None
        views = cls()
        views.branches = Branches(outline.branches)
        views.state, views.meter = SessionState(outline.state), ContextMeter(outline.meter)
        views.todo = Todo(outline.state.todo)
        views.seq, views.last_kind = outline.state.seq, outline.state.last_event
        views._collect_folds()
        branch = stretches(outline.branches.moves, seq)
        for record in tail:
            if record.seq > seq:
                views.apply(record)
            elif is_on_branch(record.seq, branch):
                views._replay_old(record)
        views.head_moved = False
        return views

    def _replay_old(self, record: Record) -> None:
        """Apply a record from before the snapshot to the folds that are not restored from the snapshot."""
        self.last_event_time = record.time
        if not isinstance(record, Envelope):
            self.transcript.count_unknown(record)
            return
        for name, projection in self._folds:
            if name not in ("state", "meter", "todo"):
                self._apply_to(name, projection, record)
        if isinstance(record.payload, (PluginLoaded, PluginUnloaded, PluginFailed, *_USER_EVENTS)):
            self._store_event(record.seq, record.payload)

    def apply_on_branch(self, record: Record) -> None:
        """Apply a record of the current branch to all folds except `branches`."""
        self.seq = record.seq
        self.last_event_time = record.time
        if not isinstance(record, Envelope):
            self.transcript.count_unknown(record)
            self._changed.add("transcript")
            return
        payload = record.payload
        self.last_kind = payload.kind
        self._apply_to_all(record)
        if type(payload) in _STORED_EVENTS:
            self._store_event(record.seq, payload)

    def end_open_work(self, detail: str = PROGRAM_ENDED) -> None:
        """Show unfinished work as ended for the reason `detail`."""
        for seq, payload in enumerate(ends_after_crash(self.state.view(), detail), self.seq + 1):
            self._apply_to_all(
                Envelope(
                    v=SCHEMA_VERSION,
                    seq=seq,
                    time=self.last_event_time,
                    session=SessionId(""),
                    agent=MAIN_AGENT,
                    parent=None,
                    cause=None,
                    payload=payload,
                )
            )

    def _apply_to_all(self, record: Envelope) -> None:
        payload_class = type(record.payload)
        folds = self._folds_by_class.get(payload_class)
        if folds is None:
            folds = self._folds_by_class[payload_class] = self._folds_for(payload_class)
        for name, projection in folds:
            if self._apply_to(name, projection, record):
                self._changed.add(name)

    def _apply_to(self, name: str, projection: Projection[object], record: Envelope) -> bool:
        """Apply an event to one fold. Return True if the fold's view changed or the fold raised an error."""
        try:
            return projection.apply(record)
        except Exception as error:  # noqa: BLE001 - a supervisor: a fault of one view must not stop the others
            kind = record.payload.kind
            if (name, kind) not in self.faults:
                self.faults[name, kind] = FoldFault(
                    name, record.seq, kind, describe_error(error), "".join(traceback.format_exception(error))
                )
            return True

    def _store_event(self, seq: int, payload: Payload) -> None:
        if isinstance(payload, SessionHeadMoved):
            self.is_redo = payload.reason == "redo"
        match payload:
            case PluginFailed(part=part) if part:
                self.plugins[f"{payload.plugin}: {part}"] = payload
                self._changed.add("plugins")
            case PluginUnloaded() | PluginLoaded() | PluginFailed():
                others = {
                    name: event for name, event in self.plugins.items() if event.plugin != payload.plugin
                }
                own = {} if isinstance(payload, PluginUnloaded) else {payload.plugin: payload}
                self.plugins = {**others, **own}
                self._changed.add("plugins")
            case CheckpointPlanned():
                self.restore_plan = payload
            case SessionHeadMoved(reason="hunk" | "files"):
                pass  # moves to itself; `checkpoint.restore_started` names the target
            case CheckpointRestoreStarted() | SessionHeadMoved():
                self._restore_target = payload.to_seq
            case CheckpointRestored():
                self.newest_restore, self.restore_seq = payload, seq
                self.restore_target_seq = self._restore_target
            case CommandRejected(command="undo" | "revert"):
                self.refused_move_seq = seq
            case UserShellStarted():
                self.prompts.append((seq, f"{'!!' if payload.hidden else '!'}{payload.command}"))
            case UserMessageReceived() | UserSteered():
                self.prompts.append((seq, payload.command or payload.text))
            case _:
                pass

    def pop_changed(self) -> frozenset[ViewName]:
        """Return the names of the views that changed since the last call."""
        changed = frozenset(self._changed)
        self._changed.clear()
        return changed


def describe_error(error: BaseException) -> str:
    """Describe an exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


ALL_VIEWS: Final[frozenset[ViewName]] = frozenset(get_args(ViewName))
