"""The engine's one way into the log, and the folds it lives by.

Invariant: after `append` returns, the event is in the log and in every fold; nothing awaits in between. Folds hold
the branch; when the head moves they begin anew.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from anyio import to_thread

from tui_agent.folds.base import branch
from tui_agent.folds.context.meter import ContextMeter, ContextMeterView
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import LearntWindows
from tui_agent.folds.session.branches import Branches, BranchesView, Stretch, stretches
from tui_agent.folds.session.commits import Commits
from tui_agent.folds.session.fold import SessionState, SessionStateView
from tui_agent.folds.session.snapshot import Standing, standing
from tui_agent.ports.log import Log
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CommandId
from tui_agent.protocol.messages import Message

Hook = Callable[[Envelope], None]
Earlier = Callable[[Sequence[Stretch]], tuple[Standing, int] | None]
"""A fold that was kept of the beginning of these stretches, and the event up to which it is one."""


class _Folds:
    """What is folded of the branch alone."""

    def __init__(self, history: Iterable[Record], kept: Standing | None = None) -> None:
        self.state = SessionState.taken_up(kept.state) if kept else SessionState()
        self.messages = ModelMessages.taken_up(kept.messages) if kept else ModelMessages()
        self.meter = ContextMeter.taken_up(kept.meter) if kept else ContextMeter()
        self.calibration = Calibration(kept.calibration if kept else None)
        self.windows = LearntWindows(kept.windows if kept else None)
        for record in history:
            if isinstance(record, Envelope):
                self.apply(record)

    def apply(self, record: Envelope) -> None:
        self.state.apply(record)
        self.messages.apply(record)
        self.meter.apply(record)
        self.calibration.apply(record)
        self.windows.apply(record)


class Recorder:
    """Appends and folds. `cause` is the command that the running turn came from."""

    def __init__(
        self,
        log: Log,
        history: Iterable[Record] = (),
        hooks: Sequence[Hook] = (),
        marks: Iterable[Record] | None = None,
        kept: Standing | None = None,
        earlier: Earlier = lambda on: None,
        plain: bool = False,
    ) -> None:
        """`plain`: the model is shown what was said and found in this run as it was, though the log holds it redacted.

        `history` is the whole log; or its branch, where `marks` are what `read_marks` finds on all branches; or what
        came since a fold was `kept`, in which no head was moved. `earlier` may be called in a thread."""
        self._log = log
        self._earlier = earlier
        self._plain = plain
        self._prepared: tuple[int, _Folds] | None = None
        self._hooks = tuple(hooks)
        self.cause: CommandId | None = None
        if kept is not None:
            self._take_up(kept, history)
            return
        self._branches, self._commits = Branches(), Commits()
        if marks is None:
            marks = whole = list(history)
            history = branch(whole)
        for record in marks:
            if isinstance(record, Envelope):
                self._branches.apply(record)
                self._commits.apply(record)
        folds = _Folds(history)
        self.calibration, self.windows = folds.calibration, folds.windows
        """What providers' counts and refusals have taught; going back does not unlearn it."""
        self._use(folds)

    def _use(self, folds: _Folds) -> None:
        """These are the folds from now on; those of delegates begin anew."""
        self._state, self._meter = folds.state, folds.meter
        self._messages: dict[AgentId, ModelMessages] = {MAIN_AGENT: folds.messages}

    def _take_up(self, kept: Standing, rest: Iterable[Record]) -> None:
        self._branches = Branches.taken_up(kept.branches)
        self._commits = Commits.taken_up(kept.commits)
        folds = _Folds((), kept)
        for record in rest:
            if isinstance(record, Envelope):
                self._branches.apply(record)
                self._commits.apply(record)
                folds.apply(record)
        self.calibration, self.windows = folds.calibration, folds.windows
        self._use(folds)

    async def prepare(self, to_seq: int) -> None:
        """Fold the branch that ends at an event, beside the loop, for the head that is moved there next.

        Nothing has happened then, and what is recorded meanwhile does not matter: it is not on that branch.
        """
        on = stretches(self._branches.view().moves, to_seq)
        self._prepared = to_seq, await to_thread.run_sync(partial(self._folded, on))

    def _folded(self, on: Sequence[Stretch]) -> _Folds:
        kept, seq = self._earlier(on) or (None, -1)
        return _Folds(self._log.branch(on, seq), kept)

    def _move(self, moved: Envelope, to_seq: int) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] != to_seq:
            self._use(_Folds(self._log.branch()))
            return
        self._use(prepared[1])
        self._take(moved)

    def _take(self, envelope: Envelope, said: Payload | None = None) -> None:
        """`said` is the event before it was redacted."""
        self._state.apply(envelope)
        shown = envelope.model_copy(update={"payload": said}) if self._plain and said else envelope
        for messages in self._messages.values():
            messages.apply(shown)
        self._meter.apply(envelope)
        self.calibration.apply(envelope)
        self.windows.apply(envelope)

    def standing(self) -> Standing | None:
        """The folds as they stand, to be dumped at once; None in the middle of something, and where they hold what no
        file may."""
        if self._plain:
            return None
        main = self._messages[MAIN_AGENT]
        return standing(
            self._state, main, self._meter, self._branches, self._commits, self.calibration, self.windows
        )

    @property
    def state(self) -> SessionStateView:
        """The session as of the newest event."""
        return self._state.view()

    def state_of(self, agent: AgentId) -> SessionStateView:
        """The session as of the newest event, as this agent has it."""
        return self._state.view().seen_by(agent)

    @property
    def branches(self) -> BranchesView:
        """Where the head was moved, and what can be taken back."""
        return self._branches.view()

    @property
    def meter(self) -> ContextMeterView:
        """How full the main agent's context is."""
        return self._meter.view()

    def append(
        self, payload: Payload, *, agent: AgentId = MAIN_AGENT, cause: CommandId | None = None
    ) -> Envelope:
        """Store one event. Raises `StoreFull`; then nothing has happened."""
        self._mend()
        return self._append(payload, agent, cause)

    def _mend(self) -> None:
        repaired = self._log.mend()
        if repaired is not None:
            self._append(repaired, MAIN_AGENT, None)

    def _append(self, payload: Payload, agent: AgentId, cause: CommandId | None) -> Envelope:
        envelope = self._log.append(payload, agent=agent, cause=cause or self.cause)
        self._branches.apply(envelope)
        self._commits.apply(envelope)
        if isinstance(payload, SessionHeadMoved):
            self._move(envelope, payload.to_seq)
        else:
            self._take(envelope, payload)
        for hook in self._hooks:
            hook(envelope)
        return envelope

    async def commit(self) -> None:
        """Return once everything so far is on stable storage."""
        self._mend()
        await self._log.commit()

    def checkpoint_at(self, seq: int) -> str:
        """The commit of the files as they were at an event: the newest on the branch that ends there, else the first of
        all; empty where there is none."""
        return self._commits.at(stretches(self._branches.view().moves, seq))

    def holds(self, seq: int) -> bool:
        """Whether the log has this event, on the branch or not."""
        return self._log.holds(seq)

    def behind(self, seq: int) -> Iterable[Record]:
        """What came behind an event on the branch, read from the log."""
        return self._log.branch(after=seq)

    def history(self, agent: AgentId = MAIN_AGENT) -> ModelMessages:
        """An agent's history with all that it has let go of; only to be looked at."""
        return self._messages[agent]

    def messages(self, agent: AgentId = MAIN_AGENT) -> tuple[Message, ...]:
        """An agent's history as its model sees it."""
        return self._messages[agent].view()

    def add_agent(self, agent: AgentId) -> None:
        """Keep a history for a delegate from now on."""
        self._messages[agent] = ModelMessages(agent)

    def drop_agent(self, agent: AgentId) -> None:
        """A delegate has finished; its history stays in the log only."""
        self._messages.pop(agent, None)
