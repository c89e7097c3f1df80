"""Parts are counted once, without gaps, and know their checkpoint; measures tell output, context and distances."""

from pathlib import Path

import pytest

from tests.stubs.golden import GOLDEN, golden
from tests.stubs.story import Story, called, compacted, file_changed, finished, responded, tool_call
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branches import Reason
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.trace.part_list import PartRow, Parts
from tui_agent.protocol.events.context import (
    ContextPacked,
    ContextReduced,
    ContextRestored,
    MemoryUpdated,
    RepomapBuilt,
    RepomapUsed,
    Section,
)
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged, FileRead
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.parts import ReasoningPart, TextPart
from tui_agent.protocol.stored_text import BlobText

LOGS = sorted(path.stem for path in Path(GOLDEN).glob("*.jsonl"))


def rows(*payloads: Payload) -> tuple[PartRow, ...]:
    story = Story()
    return fold(Parts(), [story(payload) for payload in payloads])


def measured(*payloads: Payload) -> MetricsView:
    story = Story()
    return fold(Metrics(), [story(payload) for payload in payloads])


def result(call: str, part: int, text: str = "x") -> Payload:
    return finished(call, text=text).model_copy(update={"part": part})


@pytest.mark.parametrize("name", LOGS)
def test_the_parts_of_a_log_have_one_gapless_index_and_known_types(name: str) -> None:
    found = fold(Parts(), golden(name))
    assert [row.part for row in found] == list(range(len(found)))
    assert {row.type for row in found} <= {"reasoning", "text", "tool_call", "tool_result", "patch"}


def test_a_turn_may_have_no_part_and_the_index_goes_on_over_turns() -> None:
    found = rows(
        TurnStarted(turn=1),
        responded("r1", "one"),
        TurnFinished(turn=1, reason="finished"),
        TurnStarted(turn=2),
        TurnFinished(turn=2, reason="interrupted"),
        TurnStarted(turn=3),
        responded("r3", ReasoningPart(text="hm"), TextPart(text="three"), first_part=1),
    )
    assert [(row.part, row.turn, row.type) for row in found] == [
        (0, 1, "text"),
        (1, 3, "reasoning"),
        (2, 3, "text"),
    ]


def test_each_part_is_told_once_and_as_soon_as_its_event_is_there() -> None:
    story, parts = Story(), Parts()
    told = []
    for payload in (TurnStarted(turn=1), responded("r1", tool_call("c1")), called("c1"), result("c1", 1)):
        parts.apply(story(payload))
        told.append([row.part for row in parts.drain()])
    assert told == [[], [0], [], [1]]


def test_a_call_that_was_only_closed_is_no_part() -> None:
    closed = finished("c1").model_copy(update={"part": None})
    assert [row.part for row in rows(responded("r1", tool_call("c1")), called("c1"), closed)] == [0]


def test_every_part_knows_the_checkpoint_of_the_files_as_they_were_after_it() -> None:
    found = rows(
        TurnStarted(turn=1),
        responded("r1", tool_call("c1")),
        CheckpointTaken(part=-1, commit="base", author="human"),
        called("c1"),
        result("c1", 1),
        CheckpointTaken(part=1, commit="one", author="agent"),
        responded("r2", "words", first_part=2),
        CheckpointTaken(part=2, commit="theirs", author="human"),
        responded("r3", "more", first_part=3),
        CheckpointRestored(source="base", commit="back", paths=()),
        responded("r4", "again", first_part=4),
    )
    assert [(row.commit, row.changed_files) for row in found] == [
        ("base", False),
        ("one", True),
        ("one", False),
        ("theirs", False),
        ("back", False),
    ]


def test_distances_are_counted_in_parts() -> None:
    read = FileRead(path="a", digest="1", size=1, first_line=1, last_line=9, complete=True)
    view = measured(
        TurnStarted(turn=1),
        responded("r1", tool_call("c1")),
        called("c1", verb="search"),
        result("c1", 1),
        responded("r2", tool_call("c2"), first_part=2),
        read,
        read.model_copy(update={"path": "other"}),
        result("c2", 3),
        responded("r3", tool_call("c3"), first_part=4),
        file_changed(),
        result("c3", 5),
        responded("r4", tool_call("c4"), first_part=6),
        TestFinished(framework="pytest", command="pytest", passed=1, failed=0, skipped=0, exit_code=0),
        result("c4", 7),
    )
    assert (view.first_target_read_part, view.first_edit_part) == (2, 4)
    assert (view.search_to_edit_parts, view.edit_to_test_parts) == (4, 2)
    assert view.seconds_to_first_test == 12.0
    assert measured(file_changed(author="human")).first_edit_part is None


def test_the_part_of_a_call_counts_where_an_answer_has_several() -> None:
    edit = file_changed().model_copy(update={"call_id": CallId("c2")})
    view = measured(
        responded("r1", TextPart(text="both"), tool_call("c1"), tool_call("c2")),
        called("c1", verb="search"),
        called("c2"),
        result("c1", 3),
        edit,
        result("c2", 4),
    )
    assert (view.first_edit_part, view.search_to_edit_parts) == (2, 1)


def test_what_a_command_changed_is_an_edit_and_what_a_test_run_left_is_none() -> None:
    def by(call: str) -> FileChanged:
        return file_changed(author="command").model_copy(update={"call_id": CallId(call)})

    ran = TestFinished(
        framework="pytest", command="pytest", passed=1, failed=0, skipped=0, exit_code=0, call_id=CallId("c1")
    )
    tested = (responded("r1", tool_call("c1")), called("c1"), by("c1"), ran, result("c1", 1))
    assert measured(*tested).first_edit_part is None
    edited = (responded("r2", tool_call("c2"), first_part=2), called("c2"), by("c2"), result("c2", 3))
    assert measured(*tested, *edited).first_edit_part == 2
    assert measured(*tested, *edited).edit_to_test_parts is None


def test_the_newest_summary_is_the_cold_one_and_the_totals_are_of_the_main_agent() -> None:
    packed = ContextPacked(request_id=RequestId("r"), window=9, total_tokens=7, total_chars=28, sections=())
    story, fold_of = Story(), Metrics()
    for payload, agent in (
        (packed, "main"),
        (compacted(2, "a long summary"), "main"),
        (compacted(2, "short"), "main"),
        (packed.model_copy(update={"total_tokens": 30, "total_chars": 120}), "subtask-1"),
        (compacted(2, "of the delegate"), "subtask-1"),
    ):
        fold_of.apply(story(payload).model_copy(update={"agent": AgentId(agent)}))
    view = fold_of.view()
    assert (view.cold_summary_chars, view.context_compression_count) == (5, 3)
    assert (view.context_estimated_tokens, view.context_peak_tokens) == (7, 30)
    assert view.context_budget_total_chars == 28


def test_what_a_revert_took_off_is_no_observation_and_what_it_undid_is_one_again() -> None:
    def moved(to: int, reason: Reason) -> SessionHeadMoved:
        return SessionHeadMoved(to_seq=to, from_seq=9, reason=reason)

    def standing(*payloads: Payload) -> tuple[int, int]:
        view = measured(*payloads)
        return view.hot_observation_count, view.cold_summary_chars

    came = (finished("c0"), finished("c1"), finished("c2"))
    assert standing(*came, moved(0, "revert")) == (1, 0)
    assert standing(*came, compacted(removed_seqs=(0, 1))) == (1, 5)
    assert standing(*came, compacted(removed_seqs=(0, 1)), moved(2, "undo")) == (3, 0)
    assert standing(
        *came, compacted(removed_seqs=(0, 1)), moved(2, "undo"), finished("c5"), moved(3, "redo")
    ) == (1, 5)
    assert standing(*came, moved(0, "revert"), finished("c4")) == (2, 0)
    assert standing(*came, compacted(removed_seqs=(0, 1)), ContextRestored(compaction=3)) == (3, 0)
    line = ContextReduced(call_ids=(), artifacts=(), removed_seqs=(0,), before_tokens=9, after_tokens=3)
    assert standing(*came, line, compacted(removed_seqs=(0, 1)), ContextRestored(seqs=(0, 1))) == (2, 5)


def test_output_is_measured_as_tools_gave_it_and_as_models_were_told() -> None:
    whole = BlobText(blob_sha256="0" * 64, size=900, preview="")
    long = finished("c1", text="x" * 90).model_copy(update={"full_output": whole})
    view = measured(long, finished("c2", text="y" * 10))
    assert (view.raw_output_chars, view.largest_output_chars) == (910, 900)
    assert view.compression_ratio == round(100 / 910, 4)
    assert measured(TurnStarted(turn=1)).compression_ratio is None


def test_context_figures_are_of_all_requests_and_totals_of_the_newest() -> None:
    section = Section(
        name="messages", raw_chars=9, chars=5, tokens=2, budget=40, reduced=True, dropped_blocks=3
    )

    def pack(tokens: int) -> ContextPacked:
        return ContextPacked(
            request_id=RequestId("r"),
            window=9,
            total_tokens=tokens,
            total_chars=tokens * 4,
            sections=(section,),
        )

    view = measured(
        finished("c1"),
        finished("c2"),
        pack(50),
        pack(20),
        compacted(2, removed_seqs=(0,)),
        MemoryUpdated(blocks={}),
        RepomapBuilt(files=1, skipped=0, partial=False, duration_ms=1),
        RepomapUsed(query="q", tokens=1, files=(), injected=True),
        RepomapUsed(query="q", tokens=1, files=(), injected=False),
    )
    assert (view.context_estimated_tokens, view.context_peak_tokens) == (20, 50)
    assert (view.context_budget_reduced_count, view.context_budget_dropped_blocks) == (2, 6)
    assert (view.context_budget_total_chars, view.context_budget_total_budget) == (80, 40)
    assert (view.context_compression_count, view.cold_summary_chars, view.hot_observation_count) == (1, 5, 1)
    assert (view.memory_updates, view.repomap_builds, view.repomap_uses, view.repomap_injections) == (
        1,
        1,
        2,
        1,
    )
