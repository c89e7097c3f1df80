"""Everything at any event: as a fresh fold of the branch that ended there, whatever was asked before."""

import random

import pytest

from tests.golden.make import LOGS
from tests.stubs.golden import golden
from tui_agent.folds.replay_cursor import ReplayCursor, views_at
from tui_agent.folds.screen_folds import ALL_VIEWS, Views
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved


def shown(views: Views) -> dict[str, object]:
    """All that a screen can show of it."""
    trace = views.trace.view()
    return {
        "state": views.state.view(),
        "entries": tuple(views.transcript.view().entries),
        "trace": (trace.spans, trace.roots, trace.failed, trace.denied),
        "todo": views.todo.view(),
        "meter": views.meter.view(),
        "files": views.files.view(),
        "agents": views.agents.view(),
        "metrics": views.metrics.view(),
        "approvals": views.approvals.view(),
        "branches": views.branches.view(),
        "plugins": views.plugins,
        "place": (views.seq, views.last_kind, views.last_event_time, views.newest_restore, views.restore_seq),
    }


def moved(records: list[Record], to_seq: int) -> list[Record]:
    """The log, gone back to an event, and what it held told again from there."""
    last = records[-1]
    assert isinstance(last, Envelope)
    found = list(records)

    def add(payload: object, parent: int) -> None:
        plain = {"v": SCHEMA_VERSION, "seq": found[-1].seq + 1, "time": last.time + len(found), "cause": None}
        found.append(
            Envelope.model_validate(
                {**plain, "session": last.session, "agent": last.agent, "parent": parent, "payload": payload}
            )
        )

    add(SessionHeadMoved(to_seq=to_seq, from_seq=last.seq, reason="revert"), to_seq)
    for record in records[to_seq + 1 : to_seq + 60]:
        if isinstance(record, Envelope):
            add(record.payload, found[-1].seq)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("span", [7, 500])
@pytest.mark.parametrize("name", LOGS)
def test_every_moment_is_what_a_fresh_fold_gives(name: str, span: int) -> None:
    records = golden(name)
    moments = ReplayCursor(records, interval=span)
    wanted = {record.seq: shown(views_at(records, record.seq)) for record in records}
    for seq in wanted:
        assert shown(moments.views_at(seq)) == wanted[seq], seq
    for seq in reversed(wanted):
        assert shown(moments.views_at(seq)) == wanted[seq], seq
    jumps = random.Random(7)
    for _ in range(60):
        seq = jumps.randrange(len(records))
        assert shown(moments.views_at(seq)) == wanted[seq], seq


@pytest.mark.slow
def test_a_branch_that_was_left_is_shown_as_it_was_and_the_new_one_without_it() -> None:
    records = moved(moved(golden("night_shift"), 60), 90)
    moments = ReplayCursor(records, interval=20)
    for record in reversed(records):
        assert shown(moments.views_at(record.seq)) == shown(views_at(records, record.seq)), record.seq


def test_a_move_folds_no_more_than_a_stretch_however_long_the_log_is() -> None:
    records = moved(golden("night_shift"), 60)
    moments = ReplayCursor(records, interval=20)
    while moments.build_keyframes(5):
        pass
    for seq in (len(records) - 1, 0, 150, 149, 148, 30, len(records) - 2):
        before = moments.folded_count
        moments.views_at(seq)
        assert moments.folded_count - before <= 20


def test_what_changed_since_the_moment_before_is_told_on_the_way_forward() -> None:
    moments = ReplayCursor(golden("night_shift"))
    views = moments.views_at(100)
    views.pop_changed()
    views.transcript.drain()
    entries = list(views.transcript.view().entries)
    assert moments.views_at(140) is views
    changed = views.transcript.drain()
    now = views.transcript.view().entries
    assert [one for one, entry in enumerate(now) if entry not in entries] == changed
    assert views.pop_changed() <= ALL_VIEWS
