"""For every event of a golden log: cut there, read again from disk, and every fold agrees with the live one."""

from pathlib import Path

import pytest

from tests.golden.make import LOGS
from tests.stubs.folds import all_folds, apply_all
from tests.stubs.golden import GOLDEN, golden
from tests.stubs.legal_history import check_pairs
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.transcript.entries import TranscriptView
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_scan import read_records_from


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_a_fold_from_disk_equals_the_live_one_at_every_event(name: str) -> None:
    data = (GOLDEN / f"{name}.jsonl").read_bytes()
    live, start = all_folds(), 0
    for record in golden(name):
        views = apply_all(live, [record])
        start = data.index(b"\n", start) + 1
        again = apply_all(all_folds(), read_records_from(data[:start], open_blobs(Path("/nonexistent"))))
        for fold_name, view in views.items():
            if fold_name == "trace":  # the revision counts how the view was asked for, not what it holds
                assert (again["trace"].spans, again["trace"].roots) == (view.spans, view.roots)
            else:
                assert again[fold_name] == view, (record.seq, fold_name)


@pytest.mark.parametrize("name", LOGS)
def test_the_history_is_legal_whenever_no_call_is_open(name: str) -> None:
    messages, state = ModelMessages(), SessionState()
    checked = 0
    for record in golden(name):
        assert isinstance(record, Envelope)
        messages.apply(record)
        state.apply(record)
        if not any(call.agent == "main" for call in state.view().open_calls):
            assert check_pairs(messages.view()) == [], record.seq
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("name", LOGS)
def test_the_branch_folds_without_error_from_every_event(name: str) -> None:
    found = golden(name)
    for end in range(1, len(found) + 1):
        on_branch = current_branch(found[:end])
        assert on_branch[-1] is found[end - 1]
        assert [record.seq for record in on_branch] == sorted({record.seq for record in on_branch})
        assert on_branch[0].seq == 0


def said(view: TranscriptView) -> list[tuple[str, object]]:
    return [
        (type(entry).__name__, getattr(entry, "text", getattr(entry, "outcome", None)))
        for entry in view.entries
    ]


@pytest.mark.parametrize("name", LOGS)
def test_deltas_of_ended_requests_make_no_difference_to_what_is_shown(name: str) -> None:
    data = (GOLDEN / f"{name}.jsonl").read_bytes()
    blobs = open_blobs(Path("/nonexistent"))
    few = list(read_records_from(data, blobs, skip_deltas=True))
    everything = list(read_records_from(data, blobs))
    assert len(few) < len(everything)
    # What an attempt streamed before it was repeated is an entry without text, which takes no row.
    empty = (("ReasoningEntry", ""), ("AnswerEntry", ""))
    shown = [entry for entry in said(fold(Transcript(), everything)) if entry not in empty]
    assert said(fold(Transcript(), few)) == shown
    assert fold(ModelMessages(), few) == fold(ModelMessages(), everything)
    assert [record.seq for record in current_branch(few)] == [
        record.seq for record in current_branch(everything) if record in few
    ]
