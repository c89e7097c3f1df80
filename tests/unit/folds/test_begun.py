"""Views to begin with: of a kept fold and the newest records, then live, and what they have in common with the whole."""

import pytest

from tests.golden.make import LOGS
from tests.stubs.golden import golden
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.folds.context.window_limits import InferredWindows
from tui_agent.folds.projection import current_branch
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.folds.session.snapshot import Snapshot, dump_snapshot, load_snapshot, take_snapshot
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved


def kept_of(records: list[Record]) -> Snapshot | None:
    """What an engine would keep after these."""
    views, messages, calibration = Views(), ModelMessages(), Calibration()
    for record in records:
        views.apply(record)
        if isinstance(record, Envelope):
            messages.apply(record)
            calibration.apply(record)
    found = take_snapshot(
        views.state, messages, views.meter, views.branches, Commits(), calibration, InferredWindows()
    )
    return None if found is None else load_snapshot(dump_snapshot(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_state_meter_branches_and_todo_are_those_of_the_whole(name: str) -> None:
    records = current_branch(golden(name))
    whole, met = Views(), 0
    for at, record in enumerate(records, 1):
        whole.apply(record)
        for back in (0, 3):
            kept = kept_of(records[: at - back]) if at > back else None
            newer = [one.payload for one in records[at - back : at] if isinstance(one, Envelope)]
            if kept is None or any(isinstance(one, SessionHeadMoved) for one in newer):
                continue
            first = Views.restore(kept, records[at - back - 1].seq, records[max(0, at - 40) : at])
            assert first is not None
            met += 1
            assert first.state.view() == whole.state.view()
            assert first.meter.view() == whole.meter.view()
            assert first.branches.view() == whole.branches.view()
            assert first.todo.view() == whole.todo.view()
            assert (first.seq, first.last_kind, first.last_event_time) == (
                whole.seq,
                whole.last_kind,
                whole.last_event_time,
            )
            ids = {entry.id for entry in whole.transcript.view().entries}
            shown = [entry.id for entry in first.transcript.view().entries]
            assert len([one for one in shown if one in ids]) >= len(shown) - 3
    assert met


def test_there_are_none_where_kept_and_newest_do_not_meet_or_the_head_was_moved() -> None:
    records = current_branch(golden("night_shift"))
    at = next(at for at in reversed(range(1, len(records))) if kept_of(records[:at]) is not None)
    last = records[at - 1]
    assert isinstance(last, Envelope)

    def kept() -> Snapshot:
        found = kept_of(records[:at])
        assert found is not None
        return found

    assert Views.restore(kept(), last.seq, records[at - 5 : at]) is not None
    assert Views.restore(kept(), last.seq, []) is None
    assert Views.restore(kept(), last.seq - 50, records[at - 5 : at]) is None
    moved = Envelope(
        v=SCHEMA_VERSION,
        seq=last.seq + 1,
        time=last.time,
        session=last.session,
        agent=last.agent,
        parent=3,
        cause=None,
        payload=SessionHeadMoved(to_seq=3, from_seq=last.seq, reason="revert"),
    )
    assert Views.restore(kept(), last.seq, [*records[at - 5 : at], moved]) is None
