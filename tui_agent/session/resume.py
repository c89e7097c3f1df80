"""Start or resume of a session: records the new run, closes work that a crash left open, applies a fork's changes.

Invariant: afterwards the history is consistent, wherever the earlier process stopped writing. In an attended session,
calls that waited for approval stay open: they have not started, and they get their results before the next request. A
cached fold and the records after it give the same state as the whole log. A fork's changes are applied only once.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tui_agent.engine.open_calls import calls_awaiting_approval, close_calls, close_requests
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.live_output import LiveOutputs
from tui_agent.engine.user_shell import close_shell
from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.base import fold
from tui_agent.folds.context.turn_summaries import TurnSummaries, summary_text
from tui_agent.folds.session.branches import Stretch, is_on_branch, stretches
from tui_agent.folds.session.snapshot import FORMAT, Snapshot, load_snapshot
from tui_agent.folds.session.unfinished_work import PROGRAM_ENDED
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.base import SessionId
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelResponded, ModelRetried
from tui_agent.protocol.events.session import (
    ForkChange,
    LogRepaired,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionForked,
    SessionStarted,
)
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, UserShellFinished
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import SessionSettings
from tui_agent.store.fold_cache import load_fold, read_records_after
from tui_agent.store.lineage import cut_stretches
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.session_log import SessionLog

MAX_PARTIAL_CHARS = 200_000
_FORKED_TURN = "Forked in the middle of this turn."
_FORKED_CALL = "The session was forked while this call ran, so its result is unknown. Check its effects before you run it again."


class UnfinishedHistory:
    """The newest part of a history: the records since the end of the last turn or user command.

    After a crash, only work in these records can be unfinished. Earlier records need not be kept in memory.
    """

    def __init__(self, *, has_earlier_history: bool = False) -> None:
        """Create an unfinished history without records.

        `has_earlier_history` is True if the history has earlier records that are not passed to `track`, because they
        contain no unfinished work.
        """
        self.records: list[Record] = []
        self.is_empty = not has_earlier_history
        """True if the session has no records."""
        self.root = ""
        """Path of the workspace in the session's first environment. Empty if no environment was recorded."""

    def track(self, history: Iterable[Record]) -> Iterator[Record]:
        """Yield the records unchanged, and store the records since the end of the last turn or user command."""
        for record in history:
            self.is_empty = False
            payload = record.payload if isinstance(record, Envelope) else None
            match payload:
                case TurnFinished() | UserShellFinished():
                    self.records.clear()
                case EnvStarted(root=root):
                    self.root = self.root or root
                case _:
                    pass
            self.records.append(record)
            yield record


def record_new_session(
    recorder: Recorder,
    run: RunStarted,
    *,
    workspace: str,
    settings: SessionSettings,
    repaired: LogRepaired | None = None,
    earlier: SessionContextLoaded | None = None,
    allowed_tools: tuple[str, ...] | None = None,
    without: tuple[str, ...] = (),
) -> None:
    """Record the first events of a new session.

    `repaired` is set if the session's folder had a log without an intact line. `earlier` is the summary of an earlier
    session that the new session continues.
    """
    recorder.append(
        SessionStarted(
            workspace=workspace,
            product=run.product,
            settings=settings,
            allowed_tools=allowed_tools,
            without=without,
        )
    )
    recorder.append(run)
    if repaired is not None:
        recorder.append(repaired)
    if earlier is not None:
        recorder.append(earlier)


def resume_session(
    recorder: Recorder,
    run: RunStarted,
    history: Sequence[Record],
    repaired: LogRepaired | None,
    blobs_if_attended: BlobReader | None = None,
) -> None:
    """Record the first events of a later run, and close everything that the earlier run left open.

    `history` must include at least the records of `UnfinishedHistory`. Pass the session's blobs as `blobs_if_attended`
    if a user can be asked. In that case, calls that waited for approval stay open. Calls of the same answer stay open
    if they have not started.
    """
    state = recorder.state
    after = state.seq
    clean = state.clean and repaired is None
    if repaired is not None:
        recorder.append(repaired)
    recorder.append(run)
    closed = _close_open_work(recorder, history, blobs_if_attended)
    if state.shell is not None:
        close_shell(recorder, state.shell, history)
    for job in state.jobs:
        recorder.append(JobFinished(job_id=job.job_id, end="lost"))
    if state.turn_running:
        recorder.append(
            TurnFinished(
                turn=state.turn,
                reason="interrupted",
                detail=_FORKED_TURN if state.fork_changes is not None else PROGRAM_ENDED,
                duration_ms=_turn_duration_ms(state.turn_started_at, history),
            )
        )
    recorder.append(RunResumed(run_id=run.run_id, after_seq=after, clean=clean, closed_calls=closed))


def _close_open_work(recorder: Recorder, history: Sequence[Record], askable: BlobReader | None) -> int:
    """Record the end of calls and requests that the earlier run left unfinished, and return the number of these calls.

    If calls ran when a fork started, the fork's log records that the fork ended them.
    """
    printed, forked = LiveOutputs.from_history(history), recorder.state.fork_changes
    if forked is None:
        still_open = () if askable is None else calls_awaiting_approval(recorder, askable)
        ended = [call for call in recorder.state.open_calls if call not in still_open]
        closed = close_calls(recorder, ended, crashed=True, printed=printed)
        close_requests(recorder, partial_texts(history))
        return closed
    answered = replace_call_result(recorder, forked)
    closed = close_calls(
        recorder,
        crashed=True,
        why="the session was forked at this point",
        lost_message=_FORKED_CALL,
        printed=printed,
    )
    close_requests(recorder, {})
    return answered + closed


def _turn_duration_ms(started_at: float | None, history: Sequence[Record]) -> float:
    """Return the duration of the interrupted turn in milliseconds.

    The duration ends at the turn's last event. In a fork, it ends at the last event before the fork.
    """
    envelopes = [record for record in history if isinstance(record, Envelope)]
    forks = [index for index, record in enumerate(envelopes) if isinstance(record.payload, SessionForked)]
    turn = envelopes[: forks[-1]] if forks else envelopes
    if started_at is None or not turn:
        return 0.0
    return round(max(0.0, turn[-1].time - started_at) * 1_000, 1)


def partial_texts(history: Sequence[Record]) -> dict[str, str]:
    """Return a `dict` that maps the id of each unfinished request to the text received so far."""
    pieces: dict[str, list[str]] = {}
    for record in history:
        if not isinstance(record, Envelope):
            continue
        match record.payload:
            case ModelDelta(request_id=request_id, part_kind="text", text=text):
                pieces.setdefault(request_id, []).append(text)
            case (
                ModelResponded(request_id=request_id)
                | ModelFailed(request_id=request_id)
                | ModelRetried(request_id=request_id)
            ):
                pieces.pop(request_id, None)
    return {request_id: "".join(texts)[:MAX_PARTIAL_CHARS] for request_id, texts in pieces.items()}


def carry_over_summary(folder: Path) -> SessionContextLoaded:
    """Return the event that summarises the session in `folder`. Raises `UsageError` if that session has no messages."""
    view = fold(TurnSummaries(), iterate_records(folder, current_branch_only=True))
    summary = summary_text(view, folder.name)
    if not summary:
        raise UsageError(
            f"The session {folder.name} has no messages to carry over.", hint="Choose another session."
        )
    return SessionContextLoaded(from_session=SessionId(folder.name), turns=len(view.turns), summary=summary)


def load_branch_fold(log: SessionLog, on: Sequence[Stretch]) -> tuple[Snapshot, int] | None:
    """Return the session state cached for a log, and the seq of the last event in that state.

    Returns None if nothing is cached, or if that event is not on the branch `on`.
    """
    cached = load_fold(log.folder, FORMAT)
    standing = load_snapshot(cached[1]) if cached is not None else None
    if cached is None or standing is None or not is_on_branch(cached[0].seq, on):
        return None
    seq = cached[0].seq
    return (standing, seq) if cut_stretches(on, seq) == stretches(standing.branches.moves, seq) else None


@dataclass(frozen=True, slots=True)
class StartingFold:
    """The history of a session before this run.

    `snapshot` is a cached session state; `history` has the records after it. Without a cached state, `history` has all
    records of the branch.
    """

    history: Iterable[Record] = ()
    snapshot: Snapshot | None = None

    @classmethod
    def load(cls, log: SessionLog) -> "StartingFold":
        """Load the history of a log that was just opened. Raises `OSError` if the log cannot be read."""
        cached = load_fold(log.folder, FORMAT)
        if cached is not None and (standing := load_snapshot(cached[1])) is not None:
            history = read_records_after(log.folder, cached[0], (log.folder / EVENTS_FILE).stat().st_size)
            if history is not None:
                return cls(history, standing)
        return cls(iterate_records(log.folder, current_branch_only=True))


def replace_call_result(recorder: Recorder, change: ForkChange) -> int:
    """Record the fork's result for the call that was unfinished at the fork's start.

    Return the number of finished calls (0 or 1).
    """
    state = recorder.state
    call = next((call for call in state.open_calls if call.call_id == change.call_id), None)
    if call is None or change.result is None:
        return 0
    recorder.append(
        ToolFinished(
            call_id=call.call_id,
            name=call.name,
            status="ok",
            part=state.parts,
            content=(TextContent(text=change.result),),
            display=(TextBlock(text=change.result),),
            summary="replaced in this fork",
        ),
        agent=call.agent,
    )
    return 1
