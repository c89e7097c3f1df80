"""The recorder, through which the engine appends to the log and reads the session's state.

The state is kept in folds: objects that apply one event after another.

Invariant: when `append` returns, the event is in the log and in every fold.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from anyio import lowlevel, to_thread

from tui_agent.folds.context.meter import ContextMeter, ContextMeterView
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import InferredWindows
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branches import Branches, BranchesView, Stretch, stretches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.snapshot import Snapshot, take_snapshot
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.log import Log
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CommandId
from tui_agent.protocol.messages import Message

SENDING_ROUNDS = 4
"""Number of rounds in which the event loop sends new events to the clients."""
EventListener = Callable[[Envelope], None]
LoadEarlierFold = Callable[[Sequence[Stretch]], tuple[Snapshot, int] | None]
"""Function that loads a cached state of a branch. Its argument is the event ranges of the branch.

Returns (state, number of the last event in the state), or None if nothing is cached. The state can be older than the
branch's newest event.
"""


class _Folds:
    """The folds of the current branch, computed from its events."""

    def __init__(self, history: Iterable[Record], cached: Snapshot | None = None) -> None:
        self.state = SessionState(cached.state if cached else None)
        self.messages = ModelMessages(history=cached.messages if cached else None)
        self.meter = ContextMeter(cached.meter if cached else None)
        self.calibration = Calibration(cached.calibration if cached else None)
        self.windows = InferredWindows(cached.windows if cached else None)
        for record in known_events(history):
            self.apply(record)

    def apply(self, record: Envelope, for_model: Envelope | None = None) -> None:
        """Apply an event to all folds. `for_model`: the unredacted event, for the model's messages."""
        self.state.apply(record)
        self.messages.apply(for_model or record)
        self.meter.apply(record)
        self.calibration.apply(record)
        self.windows.apply(record)


class Recorder:
    """Appends events to the log and applies them to the log's folds.

    `cause`: id of the command that started the running turn.
    """

    def __init__(
        self,
        log: Log,
        history: Iterable[Record] = (),
        listeners: Sequence[EventListener] = (),
        marks: Iterable[Record] | None = None,
        cached: Snapshot | None = None,
        load_earlier_fold: LoadEarlierFold = lambda branch: None,
        model_sees_secrets: bool = False,
    ) -> None:
        """Compute the folds of a log's current branch.

        - `history`: the records of the whole log, unless `marks` or `cached` is given.
        - `listeners`: functions that are called with each event after it is stored.
        - `marks`: the result of `read_marks`. If given, `history` has only the records of the current branch.
        - `cached`: saved folds. If given, `history` has only the later records of the same branch.
        - `load_earlier_fold`: returns saved folds of the beginning of a branch, if there are any. It may be called in a
          thread.
        - `model_sees_secrets`: True if the log is redacted but the texts for the model are not.
        """
        self._log = log
        self._earlier = load_earlier_fold
        self._plain = model_sees_secrets
        self._prepared: tuple[int, _Folds] | None = None
        self.listeners: Sequence[EventListener] = tuple(listeners)
        """Functions that are called with each event after it is stored."""
        self.cause: CommandId | None = None
        self._branches = Branches(cached.branches if cached else None)
        self._commits = cached.commits if cached else Commits()
        if cached is not None or marks is None:
            marks = records = list(history)
            history = records if cached is not None else current_branch(records)
        for record in known_events(marks):
            self._branches.apply(record)
            self._commits.apply(record)
        self._folds = _Folds(history, cached)
        self.calibration, self.windows = self._folds.calibration, self._folds.windows
        """Token calibration and window sizes, learnt from the providers' token counts and refusals."""
        self._delegates: dict[AgentId, ModelMessages] = {}

    def _replace_folds(self, folds: _Folds) -> None:
        # What was learnt about the provider holds on every branch.
        folds.calibration, folds.windows = self.calibration, self.windows
        self._folds = folds
        self._delegates = {}

    async def fold_branch_at(self, to_seq: int) -> None:
        """Compute, in a thread, the state of the branch that ends at `to_seq`. Call this before an undo, redo or
        revert."""
        branch_stretches = stretches(self._branches.view().moves, to_seq)
        self._prepared = to_seq, await to_thread.run_sync(partial(self._fold_branch, branch_stretches))

    def _fold_branch(self, branch_stretches: Sequence[Stretch]) -> _Folds:
        cached, seq = self._earlier(branch_stretches) or (None, -1)
        return _Folds(self._log.read_branch(branch_stretches, seq), cached)

    def _move_head(self, moved: Envelope, to_seq: int) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] != to_seq:
            self._replace_folds(_Folds(self._log.read_branch()))
            return
        self._replace_folds(prepared[1])
        self._apply(moved)  # the prepared folds end before the move

    def _apply(self, envelope: Envelope, unredacted: Payload | None = None) -> None:
        for_model = (
            envelope.model_copy(update={"payload": unredacted}) if self._plain and unredacted else envelope
        )
        self._folds.apply(envelope, for_model)
        for messages in self._delegates.values():
            messages.apply(for_model)

    def snapshot(self) -> Snapshot | None:
        """Return the current folds, or None while the session is busy or if the folds contain secrets.

        Save the result at once, because it changes with the next event.
        """
        if self._plain:
            return None
        folds = self._folds
        return take_snapshot(
            folds.state,
            folds.messages,
            folds.meter,
            self._branches,
            self._commits,
            self.calibration,
            self.windows,
        )

    @property
    def state(self) -> SessionStateView:
        """The session's state as of the newest event."""
        return self._folds.state.view()

    def state_of(self, agent: AgentId) -> SessionStateView:
        """Return the session's current state for one agent, for example with the agent's own task and policy."""
        return self._folds.state.view().view_for_agent(agent)

    def count_restored_turns(self, to_seq: int) -> int:
        """Return how many undone turns a move to event `to_seq` brings back."""
        return self._branches.count_restored_turns(to_seq, self.state.seq)

    @property
    def branches(self) -> BranchesView:
        """The session's undos, redos and reverts so far, and the targets of the next undo and redo."""
        return self._branches.view()

    @property
    def meter(self) -> ContextMeterView:
        """The fill level of the main agent's context."""
        return self._folds.meter.view()

    def append(
        self, payload: Payload, *, agent: AgentId = MAIN_AGENT, cause: CommandId | None = None
    ) -> Envelope:
        """Store one event and apply it to the folds. Raise `StoreFull` if the disk is full; the event is then not
        stored."""
        self._repair_log()
        return self._append(payload, agent, cause)

    def _repair_log(self) -> None:
        repaired = self._log.repair_file()
        if repaired is not None:
            self._append(repaired, MAIN_AGENT, None)

    def _append(self, payload: Payload, agent: AgentId, cause: CommandId | None) -> Envelope:
        # The log comes first: an event that cannot be stored must not change any state.
        envelope = self._log.append(payload, agent=agent, cause=cause or self.cause)
        self._branches.apply(envelope)
        self._commits.apply(envelope)
        if isinstance(payload, SessionHeadMoved):
            self._move_head(envelope, payload.to_seq)
        else:
            self._apply(envelope, payload)
        for listener in self.listeners:
            listener(envelope)
        return envelope

    async def commit(self) -> None:
        """Wait until all events so far are on stable storage."""
        self._repair_log()
        await self._log.commit()

    async def let_clients_read(self) -> None:
        """Let the event loop send all events so far to the clients.

        Call this before code that can block the loop or end the process.
        """
        for _ in range(SENDING_ROUNDS):
            await lowlevel.checkpoint()

    def commit_at(self, seq: int) -> str:
        """Return the git commit of the newest checkpoint up to the event `seq`, on the same branch.

        If all checkpoints are later, return the first one. If there are none, return an empty string.
        """
        return self._commits.commit_on(stretches(self._branches.view().moves, seq))

    def kept_changes(self, to_seq: int) -> tuple[tuple[str, str], ...]:
        """Return the file changes after the event `to_seq` that were kept when only the conversation was undone.

        Each item is a pair of commits: before and after the changes.
        """
        spans = self._branches.kept_spans(to_seq, self.state.seq, self.has_event)
        pairs = [(self.commit_at(first), self.commit_at(last)) for first, last in spans]
        return tuple((before, after) for before, after in pairs if before != after)

    def has_event(self, seq: int) -> bool:
        """Return True if the log has this event, on any branch."""
        return self._log.has_event(seq)

    def records_after(self, seq: int) -> Iterable[Record]:
        """Return the records after an event on the current branch, read from the log."""
        return self._log.read_branch(after=seq)

    def model_messages(self, agent: AgentId = MAIN_AGENT) -> ModelMessages:
        """Return an agent's history, including messages that left the context. Do not change the object."""
        return self._folds.messages if agent == MAIN_AGENT else self._delegates[agent]

    def messages(self, agent: AgentId = MAIN_AGENT) -> tuple[Message, ...]:
        """Return an agent's history as its model sees it."""
        return self.model_messages(agent).view()

    def add_agent(self, agent: AgentId) -> None:
        """Start a history for a delegate."""
        self._delegates[agent] = ModelMessages(agent)

    def drop_agent(self, agent: AgentId) -> None:
        """Remove the history of a finished delegate from memory."""
        self._delegates.pop(agent, None)
