"""Takes a session up: says who holds it now, and closes what a crash left open.

Invariant: afterwards the history is legal, whatever byte the process before ended at. In a session that a person drives,
calls that waited for their decision stay open: they have not begun, and get their result before any request is sent.
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
_FORKED_TURN = "The fork begins in the midst of this turn."
_FORKED_CALL = "The session was forked while this call ran. What came of it is not known here: look before you run it again."


class Unfinished:
    """The end of a history: what came since a turn or a command of the user last ended.

    All that a crash can have left open stands there, so that no more of a long history is held in memory.
    """

    def __init__(self, *, begun: bool = False) -> None:
        """`begun`: there is history that will not pass, in which nothing was left open."""
        self.records: list[Record] = []
        self.empty = not begun
        """Whether there was no history at all."""
        self.root = ""
        """Where the session worked, as its first environment tells; empty where none does."""

    def passing(self, history: Iterable[Record]) -> Iterator[Record]:
        """The same records, one after the other."""
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
    """The first events of a new session; `earlier` is what it takes over of another one."""
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
    """The first events of a later run of a session. `history` need not reach further back than its `Unfinished`.

    `askable` are the session's texts where someone is there to be asked: then calls that waited for the user's decision
    stay open, and those of the same answer that have not begun with them.
    """
    state = recorder.state
    after = state.seq
    clean = state.clean and repaired is None
    if repaired is not None:
        recorder.append(repaired)
    recorder.append(run)
    closed = _close(recorder, history, askable)
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
                duration_ms=_lasted(state.turn_started_at, history),
            )
        )
    recorder.append(RunResumed(run_id=run.run_id, after_seq=after, clean=clean, closed_calls=closed))


def _close(recorder: Recorder, history: Sequence[Record], askable: BlobReader | None) -> int:
    """End the calls and requests that are open; returns how many calls. In a fork nothing had gone wrong with them."""
    printed, forked = Printed.recorded(history), recorder.state.forked
    if forked is None:
        kept = () if askable is None else unanswered(recorder, askable)
        ended = [call for call in recorder.state.open_calls if call not in kept]
        closed = close_calls(recorder, ended, crashed=True, printed=printed)
        close_requests(recorder, partials(history))
        return closed
    answered = answer_call(recorder, forked)
    closed = close_calls(
        recorder, crashed=True, why="the session was forked here", lost=_FORKED_CALL, printed=printed
    )
    close_requests(recorder, {})
    return answered + closed


def _lasted(started_at: float | None, history: Sequence[Record]) -> float:
    """How long the turn ran that broke off, in milliseconds: up to the last event of its own."""
    known = [record for record in history if isinstance(record, Envelope)]
    forks = [place for place, record in enumerate(known) if isinstance(record.payload, SessionForked)]
    last = next((record.at for record in reversed(known[: forks[-1] if forks else None])), None)
    if started_at is None or last is None:
        return 0.0
    return round(max(0.0, last - started_at) * 1_000, 1)


def partials(history: Sequence[Record]) -> dict[str, str]:
    """The text so far of every request without an end, by request id."""
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
