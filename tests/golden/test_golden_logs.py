"""The golden logs are what their scripts write, hold every kind, and add up as the pictures do."""

from pathlib import Path

import pytest

from tests.golden.make import LOGS, main
from tests.stubs.golden import GOLDEN, golden, golden_blobs
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.transcript.entries import ToolEntry, TurnEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.stored_text import BlobText


def test_the_logs_are_what_their_scripts_write(tmp_path: Path) -> None:
    main(tmp_path)
    for name in LOGS:
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (GOLDEN / f"{name}.jsonl").read_bytes(), (
            f"{name}.jsonl is out of date: run `python -m tests.golden.make`"
        )


@pytest.mark.parametrize("name", LOGS)
def test_every_golden_log_loads_whole(name: str) -> None:
    found = golden(name)
    assert all(isinstance(record, Envelope) for record in found)
    assert [record.seq for record in found] == list(range(len(found)))


def test_one_log_has_every_kind_of_event() -> None:
    kinds = {record.payload.kind for record in golden("every_kind") if isinstance(record, Envelope)}
    assert kinds == set(KINDS)


def test_kept_texts_of_a_golden_log_can_be_read() -> None:
    blobs = golden_blobs("every_kind")
    kept = [
        record.payload.full_output
        for record in golden("every_kind")
        if isinstance(record, Envelope) and isinstance(record.payload, ToolFinished)
    ]
    texts = [blobs.read_text(text) for text in kept if isinstance(text, BlobText)]
    assert [text.count("\n") for text in texts] == [400]


def test_the_sums_of_the_night_shift_agree_with_each_other() -> None:
    records = golden("night_shift")
    state, trace = fold(SessionState(), records), fold(Trace(), records)
    assert state.title == "night-shift-hours"
    assert state.totals.cost_usd == pytest.approx(0.097)
    turns = [trace.spans[index] for index in trace.roots]
    assert [turn.cost_usd for turn in turns] == [pytest.approx(0.021), pytest.approx(0.076)]
    assert [turn.tokens_in for turn in turns] == [30_800, 42_200]
    assert [turn.tokens_out for turn in turns] == [396, 2_100]
    for turn in turns:
        below = [trace.spans[index] for index in turn.children]
        assert sum(span.cost_usd or 0.0 for span in below) == pytest.approx(turn.cost_usd)
    meter = fold(ContextMeter(), records)
    assert (meter.used, meter.window, meter.level) == (42_600, 200_000, "below")
    assert sum(section.tokens for section in meter.sections) == meter.used
    assert meter.next_cost_usd == pytest.approx(0.0307, abs=0.0005)
    files = fold(FilesChanged(), records)
    assert (files.added, files.removed, len(files.files)) == (20, 2, 3)
    failed = [span for span in trace.spans if span.outcome == "exit 1"]
    assert [span.part for span in failed] == [41]


def test_the_end_rows_of_the_night_shift_say_what_happened() -> None:
    entries = fold(Transcript(), golden("night_shift")).entries
    rows = [entry for entry in entries if isinstance(entry, TurnEntry)]
    assert [(row.iterations, row.files, row.added, row.removed) for row in rows] == [
        (2, 0, 0, 0),
        (7, 3, 20, 2),
    ]
    subtask = [entry for entry in entries if isinstance(entry, ToolEntry) and entry.verb == "[Subtask]"]
    assert [(entry.outcome, entry.state) for entry in subtask] == [("2 tool calls", "done")]


def test_the_other_logs_stop_where_their_pictures_do() -> None:
    running = [
        entry for entry in fold(Transcript(), golden("streaming")).entries if isinstance(entry, ToolEntry)
    ]
    assert [entry.state for entry in running[-2:]] == ["running", "queued"]
    assert running[-2].output_lines == 16
    waiting = fold(SessionState(), golden("approval"))
    assert [request.target for request in waiting.permissions] == [
        "src/timesheet/entry.py",
        "tests/test_entry.py",
    ]
    assert waiting.agent_state == "waiting"
