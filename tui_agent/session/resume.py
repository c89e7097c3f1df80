"""The start or resumption of a session: records the new run, and closes what a crash left open.

Invariant: afterwards the history is consistent, at whatever byte the earlier process ended. In an attended session,
calls that waited for approval stay open: they have not started, and get their result before the next request.
"""

from collections.abc import Iterable, Iterator, Sequence

from tui_agent.engine.cleanup import close_calls, close_requests
from tui_agent.engine.open_calls import unanswered
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.live_output import Printed
from tui_agent.engine.user_shell import close_shell
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelResponded, ModelRetried
from tui_agent.protocol.events.session import (
    LogRepaired,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionForked,
    SessionStarted,
)
from tui_agent.protocol.events.turn import TurnFinished, UserShellFinished
from tui_agent.protocol.settings import SessionSettings
from tui_agent.session.fork_change import answer_call

MAX_PARTIAL = 200_000
_FORKED_TURN = "Forked in the middle of this turn."
_FORKED_CALL = "The session was forked while this call ran, so its result is unknown. Check its effects before you run it again."


class Unfinished:
    """The end of a history: the records since the last turn or user command ended.

    A crash can only have left things open there, so the rest of a long history need not be kept in memory.
    """

    def __init__(self, *, begun: bool = False) -> None:
        """`begun`: there is earlier history that is not passed through, in which nothing was left open."""
        self.records: list[Record] = []
        self.empty = not begun
        """True if there was no history at all."""
        self.root = ""
        """The workspace of the session's first environment; empty if none was recorded."""

    def passing(self, history: Iterable[Record]) -> Iterator[Record]:
        """Yield the records unchanged while collecting the unfinished end."""
        for record in history:
            self.empty = False
            payload = record.payload if isinstance(record, Envelope) else None
            match payload:
                case TurnFinished() | UserShellFinished():
                    self.records.clear()
                case EnvStarted(environment="local", root=root):
                    self.root = self.root or root
                case _:
                    pass
            self.records.append(record)
            yield record


def begin(
    recorder: Recorder,
    run: RunStarted,
    *,
    workspace: str,
    settings: SessionSettings,
    earlier: SessionContextLoaded | None = None,
) -> None:
    """Record the first events of a new session; `earlier` is the summary of another session that it continues."""
    recorder.append(SessionStarted(workspace=workspace, product=run.product, settings=settings))
    recorder.append(run)
    if earlier is not None:
        recorder.append(earlier)


def take_up(
    recorder: Recorder,
    run: RunStarted,
    history: Sequence[Record],
    repaired: LogRepaired | None,
    askable: BlobReader | None = None,
) -> None:
    """Record the first events of a later run, and close what the earlier run left open.

    `history` must include at least the records of `Unfinished`. `askable` are the session's blobs if a user can be
    asked: calls that waited for approval then stay open, with the calls of the same answer that have not started.
    """
    state = recorder.state
    after = state.seq
    clean = state.clean and repaired is None
    if repaired is not None:
        recorder.append(repaired)
    recorder.append(run)
    closed = _close_open_work(recorder, history, askable)
    if state.shell is not None:
        close_shell(recorder, state.shell, history)
    for job in state.jobs:
        recorder.append(JobFinished(job_id=job.job_id, ended="lost"))
    if state.turn_running:
        recorder.append(
            TurnFinished(
                turn=state.turn,
                reason="interrupted",
                detail=_FORKED_TURN if state.forked is not None else "The program ended in this turn.",
                duration_ms=_turn_duration_ms(state.turn_started_at, history),
            )
        )
    recorder.append(RunResumed(run_id=run.run_id, after_seq=after, clean=clean, closed_calls=closed))


def _close_open_work(recorder: Recorder, history: Sequence[Record], askable: BlobReader | None) -> int:
    """End the open calls and requests, and return the number of calls. In a fork they are open without any error."""
    printed, forked = Printed.recorded(history), recorder.state.forked
    if forked is None:
        still_open = () if askable is None else unanswered(recorder, askable)
        ended = [call for call in recorder.state.open_calls if call not in still_open]
        closed = close_calls(recorder, ended, crashed=True, printed=printed)
        close_requests(recorder, partials(history))
        return closed
    answered = answer_call(recorder, forked)
    closed = close_calls(
        recorder, crashed=True, why="the session was forked here", lost=_FORKED_CALL, printed=printed
    )
    close_requests(recorder, {})
    return answered + closed


def _turn_duration_ms(started_at: float | None, history: Sequence[Record]) -> float:
    """Return how long the interrupted turn ran, in milliseconds, up to its last event before a fork."""
    envelopes = [record for record in history if isinstance(record, Envelope)]
    fork_indexes = [
        index for index, record in enumerate(envelopes) if isinstance(record.payload, SessionForked)
    ]
    last_at = next(
        (record.at for record in reversed(envelopes[: fork_indexes[-1] if fork_indexes else None])), None
    )
    if started_at is None or last_at is None:
        return 0.0
    return round(max(0.0, last_at - started_at) * 1_000, 1)


def partials(history: Sequence[Record]) -> dict[str, str]:
    """Return the partial text of every unfinished request, keyed by request id."""
    pieces: dict[str, list[str]] = {}
    for record in history:
        if not isinstance(record, Envelope):
            continue
        match record.payload:
            case ModelDelta(request_id=request_id, part="text", text=text):
                pieces.setdefault(request_id, []).append(text)
            case (
                ModelResponded(request_id=request_id)
                | ModelFailed(request_id=request_id)
                | ModelRetried(request_id=request_id)
            ):
                pieces.pop(request_id, None)
    return {request_id: "".join(texts)[:MAX_PARTIAL] for request_id, texts in pieces.items()}
