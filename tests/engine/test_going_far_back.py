"""Going back in a long session: the branch is folded beside the loop, from a kept fold where there is one."""

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.stubs.store import said, store
from tests.unit.folds.test_begun import kept_of
from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.branches import Stretch
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.snapshot import FORMAT, dump_snapshot
from tui_agent.protocol.events.session import SessionHeadMoved, SessionStarted, SessionTitled
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.resume import load_branch_fold
from tui_agent.store.fold_cache import save_fold
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_log import SessionLog

MODEL = ModelInfo(profile="fake", provider="fake", model="fake-model", window=10_000)


def _log(tmp_path: Path) -> SessionLog:
    log = store(tmp_path).create("ses_long")
    log.append(SessionStarted(workspace="/w", product="test", settings=SessionSettings(model=MODEL)))
    _turns(log, 1, 10)
    return log


def _turns(log: SessionLog, first: int, last: int) -> None:
    for turn in range(first, last + 1):
        log.append(said(f"question {turn}"))
        log.append(TurnStarted(turn=turn))
        log.append(TurnFinished(turn=turn, reason="finished"))


def _keep(log: SessionLog) -> int:
    """Keep a fold as of the newest event."""
    found, place = kept_of(current_branch(read_records(log.folder))), log.place
    assert found is not None and place is not None
    save_fold(log.folder, place, FORMAT, dump_snapshot(found), log.ops)
    return place.seq


def _equals_the_log(recorder: Recorder, log: SessionLog) -> None:
    records = current_branch(read_records(log.folder))
    assert recorder.state == fold(SessionState(), records)
    assert recorder.messages() == fold(ModelMessages(), records)


async def test_the_loop_goes_on_and_records_while_the_branch_is_folded(tmp_path: Path) -> None:
    log, may_read, asked = _log(tmp_path), threading.Event(), list[Sequence[Stretch]]()

    def slow(on: Sequence[Stretch]) -> None:
        asked.append(on)
        assert may_read.wait(10)

    recorder = Recorder(log, read_records(log.folder), load_earlier_fold=slow)
    async with anyio.create_task_group() as group:
        group.start_soon(recorder.fold_branch_at, 15)
        while not asked:
            await anyio.lowlevel.checkpoint()
        recorder.append(SessionTitled(title="Said meanwhile", titled_by="user"))
        assert recorder.state.title == "Said meanwhile"
        may_read.set()
    recorder.append(SessionHeadMoved(to_seq=15, from_seq=log.last_seq, reason="revert"))
    assert asked == [(Stretch(0, 15),)] and recorder.state.turn == 5 and not recorder.state.title
    _equals_the_log(recorder, log)
    log.close()


async def test_where_nothing_was_prepared_or_another_event_it_is_folded_at_once(tmp_path: Path) -> None:
    log = _log(tmp_path)
    recorder = Recorder(log, read_records(log.folder))
    await recorder.fold_branch_at(6)
    recorder.append(SessionHeadMoved(to_seq=15, from_seq=log.last_seq, reason="revert"))
    _equals_the_log(recorder, log)
    log.close()


@pytest.mark.parametrize(("to_seq", "used"), [(45, True), (30, True), (29, False), (12, False)])
async def test_a_kept_fold_is_begun_with_where_it_stands_before_the_target(
    tmp_path: Path, to_seq: int, used: bool
) -> None:
    log = _log(tmp_path)
    at = _keep(log)
    assert at == 30
    _turns(log, 11, 15)
    on = (Stretch(0, to_seq),)
    found = load_branch_fold(log, on)
    assert (found is not None) == used and (found is None or found[1] == at)
    recorder = Recorder(log, read_records(log.folder), load_earlier_fold=partial(load_branch_fold, log))
    await recorder.fold_branch_at(to_seq)
    recorder.append(SessionHeadMoved(to_seq=to_seq, from_seq=log.last_seq, reason="revert"))
    _equals_the_log(recorder, log)
    log.close()


async def test_a_fold_of_another_branch_is_not_begun_with(tmp_path: Path) -> None:
    log = _log(tmp_path)
    recorder = Recorder(log, read_records(log.folder), load_earlier_fold=partial(load_branch_fold, log))
    left = log.last_seq
    recorder.append(SessionHeadMoved(to_seq=6, from_seq=left, reason="revert"))
    _turns(log, 3, 4)
    at = _keep(log)
    recorder = Recorder(log, read_records(log.folder), load_earlier_fold=partial(load_branch_fold, log))
    assert load_branch_fold(log, (Stretch(0, left),)) is None
    assert load_branch_fold(log, (Stretch(0, at),)) is None
    assert load_branch_fold(log, (Stretch(0, 6), Stretch(left + 1, at))) is not None
    await recorder.fold_branch_at(left)
    recorder.append(SessionHeadMoved(to_seq=left, from_seq=at, reason="branch"))
    assert recorder.state.turn == 10
    _equals_the_log(recorder, log)
    log.close()
