"""Everything at any event: as a fresh fold of the branch that ended there, whatever was asked before."""

import random

import pytest

from tests.golden.make import LOGS
from tests.stubs.golden import golden
from tui_agent.folds.moments import Moments, moment
from tui_agent.folds.views import ALL, Views
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
        "place": (views.seq, views.last_kind, views.last_at, views.kept, views.kept_at),
    }


def moved(records: list[Record], to_seq: int) -> list[Record]:
    """The log, gone back to an event, and what it held told again from there."""
    last = records[-1]
    assert isinstance(last, Envelope)
    found = list(records)

    def add(payload: object, parent: int) -> None:
        plain = {"v": SCHEMA_VERSION, "seq": found[-1].seq + 1, "at": last.at + len(found), "cause": None}
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
    moments = Moments(records, span=span)
    wanted = {record.seq: shown(moment(records, record.seq)) for record in records}
    for seq in wanted:
        assert shown(moments.at(seq)) == wanted[seq], seq
    for seq in reversed(wanted):
        assert shown(moments.at(seq)) == wanted[seq], seq
    jumps = random.Random(7)
    for _ in range(60):
        seq = jumps.randrange(len(records))
        assert shown(moments.at(seq)) == wanted[seq], seq


def test_a_branch_that_was_left_is_shown_as_it_was_and_the_new_one_without_it() -> None:
    records = moved(moved(golden("night_shift"), 60), 90)
    moments = Moments(records, span=20)
    for record in reversed(records):
        assert shown(moments.at(record.seq)) == shown(moment(records, record.seq)), record.seq


def test_a_move_folds_no_more_than_a_stretch_however_long_the_log_is() -> None:
    records = moved(golden("night_shift"), 60)
    moments = Moments(records, span=20)
    while moments.prepare(5):
        pass
    for seq in (len(records) - 1, 0, 150, 149, 148, 30, len(records) - 2):
        before = moments.folded
        moments.at(seq)
        assert moments.folded - before <= 20


def test_what_changed_since_the_moment_before_is_told_on_the_way_forward() -> None:
    moments = Moments(golden("night_shift"))
    views = moments.at(100)
    views.take_changed()
    views.transcript.drain()
    entries = list(views.transcript.view().entries)
    assert moments.at(140) is views
    changed = views.transcript.drain()
    now = views.transcript.view().entries
    assert [one for one, entry in enumerate(now) if entry not in entries] == changed
    assert views.take_changed() <= ALL
