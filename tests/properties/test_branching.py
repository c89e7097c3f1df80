"""A branch that is read without the rest of its log folds to what the whole log does, wherever the log was cut."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.store import said, store
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.session import SessionHeadMoved, SessionTitled
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.session.resume import UnfinishedHistory
from tui_agent.store.log_reader import iterate_records, read_marks, read_records
from tui_agent.store.session_log import SessionLog

ACTS = st.lists(
    st.one_of(
        st.sampled_from(["turn", "half", "on", "title", "keep", "decoy", "fork"]),
        st.tuples(st.just("move"), st.floats(0, 1), st.sampled_from(["revert", "undo", "redo", "branch"])),
    ),
    min_size=1,
    max_size=14,
)
DECOY = '{"payload":{"kind":"session.head_moved","to_seq":0}}'


def turn(number: int, *, whole: bool, goes_on: bool) -> Iterator[Payload]:
    request = RequestId(f"r{number}")
    if not goes_on:
        yield said(f"do {number}")
    yield TurnStarted(turn=number, is_continuation=goes_on)
    yield ModelDelta(request_id=request, part_kind="text", part_index=0, text=f"part of {number}")
    if whole:
        yield ModelResponded(
            request_id=request,
            first_part=number,
            parts=(TextPart(text=f"answer {number}"),),
            finish="stop",
            usage=Usage(input_tokens=3),
            cost_usd=None,
            duration_ms=1.0,
        )
        yield TurnFinished(turn=number, reason="finished", duration_ms=1.0)


def live(log: SessionLog) -> Recorder:
    """As the engine has it when it opens a session: the branch, streamed, and the marks."""
    return Recorder(
        log,
        UnfinishedHistory().track(iterate_records(log.folder, current_branch_only=True)),
        (),
        read_marks(log.folder),
    )


@settings(max_examples=example_count(150))
@given(acts=ACTS, cut=st.floats(0, 1))
def test_the_branch_folds_to_the_same_state_live_reopened_and_from_the_whole_log(
    acts: list[str | tuple[str, float, str]], cut: float
) -> None:
    root = Path(tempfile.mkdtemp(prefix="branching-"))
    try:
        check(root, acts, cut)
    finally:
        shutil.rmtree(root)


def check(root: Path, acts: list[str | tuple[str, float, str]], cut: float) -> None:
    sessions = store(root)
    name = "s0"
    log = sessions.create(name)
    recorder = Recorder(log)
    for number, act in enumerate(acts):
        match act:
            case ("move", float(where), str(reason)) if log.last_seq >= 0:
                known = log.read()
                to_seq = known[int(where * (len(known) - 1))].seq
                moved = {"to_seq": to_seq, "from_seq": log.last_seq, "reason": reason}
                recorder.append(SessionHeadMoved.model_validate(moved))
            case "turn" | "half" | "on":
                for payload in turn(number, whole=act != "half", goes_on=act == "on"):
                    recorder.append(payload)
            case "title":
                recorder.append(SessionTitled(title=f"title {number}", titled_by="user"))
            case "keep":
                recorder.append(CheckpointTaken(part=number, commit=f"commit{number}"))
            case "decoy":
                recorder.append(ToolProgress(call_id=CallId("c"), text=DECOY, stream="output"))
            case "fork" if log.last_seq >= 0:
                same(recorder, live(log))
                log.close()
                sessions.fork(name, log.last_seq, f"s{number + 1}")
                name = f"s{number + 1}"
                log = sessions.open(name)
                recorder = live(log)
            case _:
                continue
        same(recorder, live(log)) if log.last_seq >= 0 else None
    log.close()
    path = sessions.folder(name) / "events.jsonl"
    data = path.read_bytes()
    first = data.find(b"\n") + 1
    path.write_bytes(data[: max(first, int(cut * len(data)))])
    log = sessions.open(name)
    same(Recorder(log, read_records(log.folder)), live(log))
    log.close()


def same(one: Recorder, other: Recorder) -> None:
    assert one.state == other.state
    assert one.messages() == other.messages()
    assert one.branches == other.branches
    for seq in range(one.state.seq + 1):
        assert one.commit_at(seq) == other.commit_at(seq)
