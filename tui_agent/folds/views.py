"""Every projection of the session that a screen shows, folded together.

Invariant: an event goes into all of them exactly once, in order; `changed` names those whose view differs since it was
last taken. An unknown event folds to nothing but a notice in the transcript. A fold that fails at an event goes on
without it, the others with it, and `faults` names it: one broken view takes no other with it.
"""

import traceback
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from tui_agent.folds.base import Projection
from tui_agent.folds.context import ledger
from tui_agent.folds.context import meter as context_meter
from tui_agent.folds.context.ledger import Ledger
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session import agents as agents_tree
from tui_agent.folds.session import approvals, jobs, todo
from tui_agent.folds.session import changed_files as files_changed
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.jobs import Jobs
from tui_agent.folds.session.todo import Todo
from tui_agent.folds.state_copy import copied
from tui_agent.folds.trace import measures
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.measures import Measures
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.folds.transcript.packed_list import KEEP
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, CheckpointRestoring
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived

ViewName: TypeAlias = Literal[
    "state",
    "transcript",
    "trace",
    "todo",
    "meter",
    "files",
    "agents",
    "measures",
    "metrics",
    "approvals",
    "jobs",
    "ledger",
    "plugins",
]


TAKES: Final[dict[ViewName, tuple[type[Payload], ...]]] = {
    "todo": todo.TAKES,
    "meter": context_meter.TAKES,
    "files": files_changed.TAKES,
    "agents": agents_tree.TAKES,
    "measures": measures.TAKES,
    "approvals": approvals.TAKES,
    "jobs": jobs.TAKES,
    "ledger": ledger.TAKES,
}
"""The events that a fold takes, for those that are changed by few kinds: none is asked about the others."""

_NOTED: Final[frozenset[type[Payload]]] = frozenset(
    (
        PluginLoaded,
        PluginFailed,
        CheckpointPlanned,
        CheckpointRestoring,
        CheckpointRestored,
        SessionHeadMoved,
        UserMessageReceived,
    )
)
"""The events of which the views together keep something."""


@dataclass(frozen=True, slots=True)
class FoldFault:
    """A fold that could not take an event in."""

    view: str
    seq: int
    kind: str
    error: str
    """What it says in one line: `KeyError: 'map'`."""
    detail: str
    """Where it came to pass: the traceback."""


class Views:
    """The folds, and what has changed. Of transcript and trace the newest `keep` items are not packed."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self.branches = Branches()
        """Folds every record, also those that are not on the branch."""
        self.moved = False
        """The head was moved: the folds below hold what is no longer on the branch, until `begin_again`."""
        self.begin_again()

    def begin_again(self) -> None:
        """Forget everything but where the branches are; to be folded anew from the records on the branch."""
        self.moved = False
        self.state = SessionState()
        self.transcript = Transcript(self._keep)
        self.trace = Trace(self._keep)
        self.todo = Todo()
        self.meter = ContextMeter()
        self.files = FilesChanged()
        self.agents = AgentsTree()
        self.measures = Measures()
        self.metrics = Metrics()
        self.approvals = Approvals()
        self.jobs = Jobs()
        self.ledger = Ledger()
        self.kept: tuple[str, ...] = ()
        """Files that the newest way back, to event `kept_to`, left alone, since someone else had changed them; the event
        is `kept_at`."""
        self.kept_at = self.kept_to = -1
        self._going_to = -1
        self.planned: CheckpointPlanned | None = None
        """The newest answer to what going back would do to the files."""
        self.plugins: dict[str, PluginLoaded | PluginFailed] = {}
        self.faults: dict[tuple[str, str], FoldFault] = {}
        """The first fault of each fold at each kind of event."""
        self.prompts: list[str] = []
        """What the user said, not yet taken by the prompt's history."""
        self.seq = -1
        self.last_kind = ""
        self.last_at = 0.0
        self._changed: set[ViewName] = set()
        self._gather()

    def _gather(self) -> None:
        self._all: tuple[tuple[ViewName, Projection[object]], ...] = (
            ("state", self.state),
            ("transcript", self.transcript),
            ("trace", self.trace),
            ("todo", self.todo),
            ("meter", self.meter),
            ("files", self.files),
            ("agents", self.agents),
            ("measures", self.measures),
            ("metrics", self.metrics),
            ("approvals", self.approvals),
            ("jobs", self.jobs),
            ("ledger", self.ledger),
        )

        self._taking: dict[type[Payload], tuple[tuple[ViewName, Projection[object]], ...]] = {}

    def _that_take(self, kind: type[Payload]) -> tuple[tuple[ViewName, Projection[object]], ...]:
        """The folds to which a class of payload means anything."""
        return tuple((name, fold) for name, fold in self._all if name not in TAKES or kind in TAKES[name])

    def copy(self) -> "Views":
        """The same state, to be folded on alone. Nothing of it counts as changed."""
        copy = copied(self, {id(self.trace): self.trace.copy()})
        copy._gather()
        copy.forget_changes()
        return copy

    def forget_changes(self) -> None:
        """What has changed so far was seen: the next changes are counted from here."""
        self._changed.clear()
        self.transcript.drain()
        self.prompts = []

    def apply(self, record: Record) -> None:
        """Take one new record in."""
        if isinstance(record, Envelope):
            self._give("branches", self.branches, record)
            self.moved = self.moved or isinstance(record.payload, SessionHeadMoved)
        self.take(record)

    def take_up(self, state: SessionState, meter: ContextMeter) -> None:
        """Go on from folds that were kept; the others begin with what is `recall`ed."""
        self.state, self.meter, self.todo = state, meter, Todo(state.view().todo)
        self.seq, self.last_kind = state.view().seq, state.view().last_event
        self._gather()

    def recall(self, record: Record) -> None:
        """Take one old record in, which the folds that were taken up hold already."""
        self.last_at = record.at
        if not isinstance(record, Envelope):
            self.transcript.pass_over(record)
            return
        for name, projection in self._all:
            if name not in ("state", "meter", "todo"):
                self._give(name, projection, record)
        if isinstance(record.payload, PluginLoaded | PluginFailed):
            self.plugins[record.payload.plugin] = record.payload
        elif isinstance(record.payload, UserMessageReceived):
            self.prompts.append(text_preview(record.payload.text))

    def take(self, record: Record) -> None:
        """Take one record of the branch in, whose place among the branches is known already."""
        self.seq = record.seq
        self.last_at = record.at
        if not isinstance(record, Envelope):
            if self.transcript.pass_over(record):
                self._changed.add("transcript")
            return
        payload = record.payload
        self.last_kind = payload.kind
        taking = self._taking.get(type(payload))
        if taking is None:
            taking = self._taking[type(payload)] = self._that_take(type(payload))
        for name, projection in taking:
            if self._give(name, projection, record):
                self._changed.add(name)
        if type(payload) in _NOTED:
            self._note(record.seq, payload)

    def _give(self, name: str, projection: Projection[object], record: Envelope) -> bool:
        """Let a fold take an event in; True if its view changed. After a fault it may have."""
        try:
            return projection.apply(record)
        except Exception as error:  # noqa: BLE001 - a supervisor: a fault of one view must not stop the others
            kind = record.payload.kind
            if (name, kind) not in self.faults:
                self.faults[name, kind] = FoldFault(
                    name, record.seq, kind, fault_words(error), "".join(traceback.format_exception(error))
                )
            return True

    def _note(self, seq: int, payload: Payload) -> None:
        match payload:
            case PluginLoaded() | PluginFailed():
                self.plugins[payload.plugin] = payload
                self._changed.add("plugins")
            case CheckpointPlanned():
                self.planned = payload
            case CheckpointRestoring() | SessionHeadMoved():
                self._going_to = payload.to_seq
            case CheckpointRestored():
                self.kept, self.kept_at, self.kept_to = payload.kept, seq, self._going_to
            case UserMessageReceived():
                self.prompts.append(text_preview(payload.text))
            case _:
                pass

    def take_changed(self) -> frozenset[ViewName]:
        """The views that differ since the last call."""
        changed = frozenset(self._changed)
        self._changed.clear()
        return changed

    @property
    def pending(self) -> bool:
        """Whether something changed that was not taken yet."""
        return bool(self._changed)


def fault_words(error: BaseException) -> str:
    """What a fault says in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


ALL: Final[frozenset[ViewName]] = frozenset(get_args(ViewName))
