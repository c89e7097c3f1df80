"""Start or resume of a session. Records the new run, ends work that a crash left open, and applies a fork's
changes.

Invariant: afterwards the history is consistent, wherever the earlier process stopped writing.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tui_agent.engine.input.user_shell import close_shell
from tui_agent.engine.interruption_cleanup import (
    UnfinishedRequest,
    calls_awaiting_approval,
    close_calls,
    close_requests,
)
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.large_results import recorded_outputs
from tui_agent.errors import UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.turn_summaries import TurnSummaries, summary_text
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branches import Stretch, is_on_branch, stretches
from tui_agent.folds.session.snapshot import FORMAT, Snapshot, load_snapshot
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.session.unfinished_work import PROGRAM_ENDED
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.envelope import Record, known_events
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.job import JobEnd, JobFinished
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.protocol.events.session import (
    ErrorRaised,
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
from tui_agent.protocol.ids import RequestId, SessionId
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
    """The newest part of a history: the records since the end of the last turn or user command."""

    # After a crash, only these records can contain unfinished work.

    def __init__(self, *, has_earlier_history: bool = False) -> None:
        """Create an unfinished history without records.

        `has_earlier_history`: True if the session also has older records, which `track` does not see.
        """
        self.records: list[Record] = []
        self.is_empty = not has_earlier_history
        """True if the session has no records."""
        self.root = ""
        """Workspace path in the session's first environment. Empty if unknown."""

    def track(self, history: Iterable[Record]) -> Iterator[Record]:
        """Yield the records unchanged, and keep the newest part in `records`."""
        for record in history:
            self.is_empty = False
            payload = record.payload
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

    - `repaired`: set if the session's folder had a log without a valid line.
    - `earlier`: summary of the session to continue.
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
    """Record the first events of a later run, and end everything that the earlier run left unfinished.

    - `history`: at least the records of `UnfinishedHistory`.
    - `blobs_if_attended`: the session's blobs, or None if there is no user. With a user, calls that wait for an
      approval stay open.
    """
    # Read before anything is recorded, because each event below changes the state.
    state = recorder.state
    after = state.seq
    clean = state.clean and repaired is None
    if repaired is not None:
        recorder.append(repaired)
    recorder.append(run)
    closed = _close_calls_and_requests(recorder, history, blobs_if_attended)
    if state.shell is not None:
        close_shell(recorder, state.shell, history)
    for job in state.jobs:
        # In a fork, the job is not lost: it belongs to the parent session, where it may still run.
        end: JobEnd = "lost" if state.fork_changes is None else "forked"
        recorder.append(JobFinished(job_id=job.job_id, end=end))
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


def lost_call_warnings(state: SessionStateView, loaded: LoadedPlugins) -> list[ErrorRaised]:
    """Return a warning for each call of a plugin's tool that did not finish before the program ended.

    `state`: the state before the session is resumed.
    """
    # The tool may have crashed the program. Tools of bundled plugins are not suspected.
    if state.fork_changes is not None:
        return []
    bundled = {
        event.plugin
        for event in loaded.events
        if isinstance(event, PluginLoaded) and event.source == "bundled"
    }
    owners = {offer.tool.spec.name: offer.owner for offer in loaded.tools if offer.owner not in bundled}
    return [
        ErrorRaised(
            where=f"tool {call.name}",
            message=f"tui-agent exited while the tool {call.name} (plugin {owners[call.name]}) was running.",
            hint=f"If the tool caused this, turn its plugin off: tui-agent plugins disable {owners[call.name]}",
        )
        for call in state.open_calls
        if call.started and call.name in owners
    ]


def _close_calls_and_requests(
    recorder: Recorder, history: Sequence[Record], blobs_if_attended: BlobReader | None
) -> int:
    """Record the end of each open tool call and model request. Return the number of ended calls."""
    outputs, forked = recorded_outputs(history), recorder.state.fork_changes
    if forked is None:
        still_open = () if blobs_if_attended is None else calls_awaiting_approval(recorder, blobs_if_attended)
        ended = [call for call in recorder.state.open_calls if call not in still_open]
        close_requests(recorder, unfinished_requests(history))
        return close_calls(recorder, ended, crashed=True, outputs=outputs)
    answered = replace_call_result(recorder, forked)
    closed = close_calls(
        recorder,
        crashed=True,
        why="the session was forked at this point",
        lost_message=_FORKED_CALL,
        outputs=outputs,
    )
    close_requests(recorder, {})  # the parent session records their cost
    return answered + closed


def _turn_duration_ms(started_at: float | None, history: Sequence[Record]) -> float:
    """Return the duration of the interrupted turn in milliseconds.

    The turn ends at its last recorded event. In a fork, events since the fork are not counted.
    """
    envelopes = list(known_events(history))
    forks = [index for index, record in enumerate(envelopes) if isinstance(record.payload, SessionForked)]
    turn = envelopes[: forks[-1]] if forks else envelopes
    if started_at is None or not turn:
        return 0.0
    return round(max(0.0, turn[-1].time - started_at) * 1_000, 1)


def unfinished_requests(history: Sequence[Record]) -> dict[RequestId, UnfinishedRequest]:
    """Return the unfinished model requests by id, each with the received part of its answer."""
    requests: dict[RequestId, UnfinishedRequest] = {}
    pieces: dict[RequestId, list[ModelDelta]] = {}
    for record in known_events(history):
        match record.payload:
            case ModelRequested() as sent:
                requests[sent.request_id] = UnfinishedRequest(record.agent, sent)
            case ModelDelta() as delta:
                pieces.setdefault(delta.request_id, []).append(delta)
            case ModelRetried(request_id=request_id):
                # The provider answers again from the beginning.
                pieces.pop(request_id, None)
            case ModelResponded(request_id=request_id) | ModelFailed(request_id=request_id):
                requests.pop(request_id, None)
    for request_id, request in requests.items():
        deltas = pieces.get(request_id, ())
        text = "".join(delta.text for delta in deltas if delta.part_kind == "text")
        output_chars = sum(len(delta.text) for delta in deltas)
        requests[request_id] = request._replace(text=text[:MAX_PARTIAL_CHARS], output_chars=output_chars)
    return requests


def carry_over_summary(folder: Path) -> SessionContextLoaded:
    """Return the event that adds a summary of the session in `folder` to a new session.

    Raise `UsageError` if the session in `folder` has no messages.
    """
    view = fold(TurnSummaries(), iterate_records(folder, current_branch_only=True))
    summary = summary_text(view, folder.name)
    if not summary:
        raise UsageError(
            f"The session {folder.name} has no messages to carry over.", hint="Choose another session."
        )
    return SessionContextLoaded(from_session=SessionId(folder.name), turns=len(view.turns), summary=summary)


def load_branch_fold(log: SessionLog, branch: Sequence[Stretch]) -> tuple[Snapshot, int] | None:
    """Return the cached session state with the `seq` of its last event.

    `branch`: ranges of event numbers that form a branch. Return None if there is no cached state of this branch.
    """
    cached = load_fold(log.folder, FORMAT)
    snapshot = load_snapshot(cached[1]) if cached is not None else None
    if cached is None or snapshot is None or not is_on_branch(cached[0].seq, branch):
        return None
    # The branch must also be the same before the cached event. Otherwise, the state contains events of another branch.
    seq = cached[0].seq
    is_same = cut_stretches(branch, seq) == stretches(snapshot.branches.moves, seq)
    return (snapshot, seq) if is_same else None


@dataclass(frozen=True, slots=True)
class StartingFold:
    """The history of a session before this run: a cached state and the later records.

    - `snapshot`: a cached session state, or None.
    - `history`: the records after the snapshot. Without a snapshot, all records of the branch.
    """

    history: Iterable[Record] = ()
    snapshot: Snapshot | None = None

    @classmethod
    def load(cls, log: SessionLog) -> "StartingFold":
        """Load the history of a newly opened log. Raise `OSError` if the log cannot be read."""
        cached = load_fold(log.folder, FORMAT)
        if cached is not None and (snapshot := load_snapshot(cached[1])) is not None:
            history = read_records_after(log.folder, cached[0], (log.folder / EVENTS_FILE).stat().st_size)
            if history is not None:
                return cls(history, snapshot)
        return cls(iterate_records(log.folder, current_branch_only=True))


def replace_call_result(recorder: Recorder, change: ForkChange) -> int:
    """Record the user's replacement for the result of a call that had no result yet at the fork's start.

    Return the number of recorded results: 0 or 1.
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
