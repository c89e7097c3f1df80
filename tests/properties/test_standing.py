"""R8 for a fold that was kept: taken up and folded on it equals the whole fold, wherever it was kept."""

import pytest

from tests.golden.make import LOGS
from tests.stubs.golden import golden
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import InferredWindows
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.snapshot import (
    Snapshot,
    dump_snapshot,
    load_outline,
    load_snapshot,
    take_snapshot,
)
from tui_agent.protocol.envelope import Envelope, Record


class Folds:
    """What an engine folds."""

    def __init__(self, kept: Snapshot | None = None) -> None:
        self.state = SessionState(kept.state if kept else None)
        self.messages = ModelMessages(history=kept.messages if kept else None)
        self.meter = ContextMeter(kept.meter if kept else None)
        self.branches = Branches(kept.branches if kept else None)
        self.commits = kept.commits if kept else Commits()
        self.calibration = Calibration(kept.calibration if kept else None)
        self.windows = InferredWindows(kept.windows if kept else None)

    def apply(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, Envelope):
                for fold in (
                    self.state,
                    self.messages,
                    self.meter,
                    self.branches,
                    self.commits,
                    self.calibration,
                    self.windows,
                ):
                    fold.apply(record)

    def views(self) -> tuple[object, ...]:
        return (
            self.state.view(),
            self.messages.view(),
            self.meter.view(),
            self.branches.view(),
            self.commits.view(),
            dict(self.calibration.ratios),
            dict(self.windows.known),
        )

    def kept(self) -> Snapshot | None:
        return take_snapshot(
            self.state,
            self.messages,
            self.meter,
            self.branches,
            self.commits,
            self.calibration,
            self.windows,
        )


@pytest.mark.parametrize("name", LOGS)
def test_a_kept_fold_and_the_rest_equal_the_whole_fold(name: str) -> None:
    records = current_branch(golden(name))
    whole = Folds()
    whole.apply(records)
    live, kept_at = Folds(), 0
    for at, record in enumerate(records, 1):
        live.apply([record])
        kept = live.kept()
        if kept is None:
            continue
        data = dump_snapshot(kept)
        again = load_snapshot(data)
        assert again is not None
        outline = load_outline(data)
        assert outline is not None
        assert (outline.state, outline.meter, outline.branches) == (again.state, again.meter, again.branches)
        taken_up = Folds(again)
        assert taken_up.views() == live.views(), record.seq
        found = taken_up.kept()
        assert found is not None and dump_snapshot(found) == data
        taken_up.apply(records[at:])
        assert taken_up.views() == whole.views(), record.seq
        kept_at += 1
    assert kept_at


def test_nothing_is_kept_in_the_middle_of_a_turn() -> None:
    live = Folds()
    for record in current_branch(golden("night_shift")):
        live.apply([record])
        state = live.state.view()
        if state.turn_running or state.open_calls or state.permissions:
            assert live.kept() is None


@pytest.mark.parametrize("data", [b"", b"{}", b"null", b'{"state": 1}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_kept_fold_is_none(data: bytes) -> None:
    assert load_snapshot(data) is None
    assert load_outline(data) is None


def test_an_outline_does_not_read_the_messages() -> None:
    folds = Folds()
    folds.apply(current_branch(golden("night_shift")))
    kept = folds.kept()
    assert kept is not None
    outline, _, rest = dump_snapshot(kept).partition(b"\n")
    assert b'"messages":' in rest
    assert len(rest) > len(outline)
    assert load_outline(outline + b"\nwhatever stands here") == load_outline(dump_snapshot(kept)) is not None
