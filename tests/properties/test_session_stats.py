"""The statistics for lists, which are counted in raw lines, equal the figures of the folds for every log."""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.golden import GOLDEN, golden_session
from tests.stubs.store import said, store
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.events.session import (
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
)
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.parts import TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_stats import SessionStats, count_lines

DELEGATE = AgentId("sub_1")
MODEL = ModelInfo(profile="p", provider="x", model="m")
STARTED = SessionStarted(workspace="/work", product="p", settings=SessionSettings(model=MODEL))
TRAP = 'a "cost_usd":9.5 "payload":{"kind":"turn.started"} text'
TRAP_CALL = ToolCallPart(
    call_id=CallId("c"),
    name="t",
    arguments={"cost_usd": 9.5, "estimated": True, "payload": {"kind": "turn.started"}},
)
USAGES = st.sampled_from([Usage(), Usage(input_tokens=5), Usage(input_tokens=5, estimated=True)])
COSTS = st.sampled_from([None, 0.0, 0.25, 1.5e-7])


def answer(cost: float | None, usage: Usage, text: str) -> ModelResponded:
    return ModelResponded(
        request_id=RequestId("r"), first_part=0, parts=(TextPart(text=text), TRAP_CALL), finish="stop",
        usage=usage, cost_usd=cost, duration_ms=1.0,
    )  # fmt: skip


def failure(
    fault: Literal["transport", "cancelled"], cost: float | None, usage: Usage, text: str
) -> ModelFailed:
    return ModelFailed(
        request_id=RequestId("r"), fault=fault, message=text, hint="", attempts=1, usage=usage, cost_usd=cost
    )


TEXTS = st.sampled_from([1, 2_000]).map(TRAP.__mul__)  # a long one is stored as a blob
PAYLOADS = st.one_of(
    st.builds(answer, COSTS, USAGES, TEXTS),
    st.builds(failure, st.sampled_from(["transport", "cancelled"]), COSTS, USAGES, TEXTS),
    st.builds(said, TEXTS),
    st.builds(lambda turn: TurnStarted(turn=turn), st.integers(1, 9)),
    st.just(TurnFinished(turn=1, reason="finished")),
    st.builds(lambda title: SessionTitled(title=title, titled_by="user"), st.sampled_from(["a", "b"])),
    st.builds(
        lambda name: SettingsChanged(
            key="model", value=MODEL.model_copy(update={"model": name}).model_dump(mode="json"), previous=None
        ),
        st.sampled_from(["m2", "m3"]),
    ),
)


def count(folder: Path, cuts: Sequence[float]) -> SessionStats:
    """Count a log in pieces that are cut after any of its lines, as an index does."""
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    ends = sorted({0, len(lines), *(int(cut * len(lines)) for cut in cuts)})
    stats = SessionStats()
    for start, end in pairwise(ends):
        stats = count_lines(b"".join(lines[start:end]), stats, BlobStore(folder / "blobs"))
    return stats


def own_records(folder: Path) -> list[Envelope]:
    records = [record for record in read_records(folder) if isinstance(record, Envelope)]
    forks = [number for number, record in enumerate(records) if isinstance(record.payload, SessionForked)]
    return records[forks[-1] :] if forks else records


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.jsonl")))
def test_the_statistics_of_a_golden_log_are_those_of_the_folds(tmp_path: Path, name: str) -> None:
    folder = golden_session(tmp_path, name)
    stats, metrics = count(folder, [0.3, 0.6]), fold(Metrics(), own_records(folder))
    assert (stats.turns, stats.cost_usd) == (metrics.turns, pytest.approx(metrics.cost_usd))
    assert stats.cost_precision == metrics.cost_precision


@settings(max_examples=example_count(60), deadline=None)
@given(
    st.lists(PAYLOADS, max_size=12),
    st.lists(st.floats(0, 1), max_size=3),
    st.booleans(),
)
def test_the_statistics_of_any_log_are_those_of_the_folds(
    payloads: list[Payload], cuts: list[float], is_reverted: bool
) -> None:
    with tempfile.TemporaryDirectory() as root:
        log = store(Path(root)).create("ses_1")
        log.append(STARTED)
        for payload in payloads:
            log.append(payload, agent=DELEGATE if isinstance(payload, ModelFailed) else MAIN_AGENT)
        if is_reverted:
            log.append(SessionHeadMoved(to_seq=0, from_seq=log.last_seq, reason="revert"))
        log.close()
        stats, records = count(log.folder, cuts), own_records(log.folder)
    metrics, state = fold(Metrics(), records), fold(SessionState(), records[: len(payloads) + 1])
    assert (stats.turns, stats.cost_usd) == (metrics.turns, pytest.approx(metrics.cost_usd))
    assert stats.cost_precision == metrics.cost_precision
    assert state.settings is not None
    assert (stats.title, stats.model) == (state.title, state.settings.model.model)
