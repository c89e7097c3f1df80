"""R8 for an engine's kept fold of any log: at every event where one is made, it and the rest equal the whole."""

import tempfile
from functools import partial
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.test_branching import turn
from tests.stubs.examples import example_count
from tests.stubs.store import said, store
from tui_agent.engine.recorder import Recorder
from tui_agent.folds.session.snapshot import FORMAT, dump_snapshot
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.session import SessionHeadMoved, SessionStarted, SessionTitled
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.resume import StartingFold, load_branch_fold
from tui_agent.store.fold_cache import CACHE_FILE, load_fold, save_fold
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_log import SessionLog

MODEL = ModelInfo(profile="fake", provider="fake", model="fake-model", window=10_000)
ACTS = st.lists(
    st.one_of(
        st.sampled_from(["turn", "half", "title", "compact", "said"]),
        st.tuples(st.just("move"), st.floats(0, 1)),
    ),
    min_size=2,
    max_size=14,
)


def _act(log: SessionLog, act: str | tuple[str, float], number: int) -> None:
    match act:
        case "turn" | "half":
            for payload in turn(number, whole=act == "turn", goes_on=False):
                log.append(payload)
        case "title":
            log.append(SessionTitled(title=f"title {number}", titled_by="user"))
        case "compact":
            log.append(
                ContextCompacted(
                    through_seq=max(0, log.last_seq - 3),
                    summary="in short",
                    removed_seqs=(),
                    turns=1,
                    before_tokens=9,
                    after_tokens=3,
                    trigger="user",
                )
            )
        case (_, share):
            last = log.last_seq
            log.append(SessionHeadMoved(to_seq=int(float(share) * last), from_seq=last, reason="revert"))
        case _:
            log.append(said(f"words {number}"))


def _same(one: Recorder, other: Recorder) -> None:
    assert one.state == other.state
    assert one.messages() == other.messages()
    assert one.meter == other.meter
    assert one.branches == other.branches


@settings(max_examples=example_count(25))
@given(ACTS, st.floats(0, 1))
def test_a_kept_fold_with_the_rest_is_the_whole_fold(
    acts: list[str | tuple[str, float]], back: float
) -> None:
    with tempfile.TemporaryDirectory() as root:
        log = store(Path(root)).create("ses_kept")
        try:
            _check(log, acts, back)
        finally:
            log.close()


def _check(log: SessionLog, acts: list[str | tuple[str, float]], back: float) -> None:
    log.append(SessionStarted(workspace="/w", product="test", settings=SessionSettings(model=MODEL)))
    for number, act in enumerate(acts, 1):
        _act(log, act, number)
        whole = Recorder(log, read_records(log.folder))
        _same(_taken_up(log), whole)  # from what was kept some acts ago
        place, found = log.place, whole.snapshot()
        if place is not None and found is not None:
            save_fold(log.folder, place, FORMAT, dump_snapshot(found), log.ops)
            _same(_taken_up(log), Recorder(log, read_records(log.folder)))
    going = Recorder(log, read_records(log.folder), load_earlier_fold=partial(load_branch_fold, log))
    to_seq, last = int(back * log.last_seq), log.last_seq
    anyio.run(going.fold_branch_at, to_seq)
    going.append(SessionHeadMoved(to_seq=to_seq, from_seq=last, reason="revert"))
    _same(going, Recorder(log, read_records(log.folder)))


def _taken_up(log: SessionLog) -> Recorder:
    past = StartingFold.load(log)
    if past.snapshot is None:
        return Recorder(log, read_records(log.folder))
    return Recorder(log, past.history, (), (), past.snapshot)


def test_every_cut_of_the_file_is_none_and_every_other_byte_is_the_same_or_none(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_kept")
    for act in ("turn", "title"):
        _act(log, act, 1)
    place = log.place
    assert place is not None
    save_fold(log.folder, place, FORMAT, b'{"kept": "data"}', log.ops)
    path = log.folder / CACHE_FILE
    whole, found = path.read_bytes(), load_fold(log.folder, FORMAT)
    assert found is not None
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert load_fold(log.folder, FORMAT) is None, size
    for at in range(len(whole)):
        for bit in (0x01, 0x15, 0x80):
            path.write_bytes(whole[:at] + bytes((whole[at] ^ bit,)) + whole[at + 1 :])
            again = load_fold(log.folder, FORMAT)
            assert again is None or again == found, (at, bit)
    path.write_bytes(whole + b" ")
    assert load_fold(log.folder, FORMAT) is None
    log.close()
