"""Trace, approvals, files, todo, agents and metrics: what each adds up."""

from typing import Any, Literal

import pytest

from tests.stubs.story import (
    MODEL,
    Story,
    called,
    decision,
    file_changed,
    finished,
    requested,
    responded,
    started,
    tool_call,
)
from tui_agent.cli.trace.span_lines import describe_tokens
from tui_agent.folds.projection import Projection, current_branch
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.trace.fold import Trace, decided_by
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.spans import Span
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.context import (
    ContextPacked,
)
from tui_agent.protocol.events.files import (
    CheckpointRestored,
    CheckpointTaken,
    FileRead,
    FolderChange,
)
from tui_agent.protocol.events.model import ModelFailed, ModelRetried
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import RevertedHunk, SessionHeadMoved
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.events.turn import IterationFinished, IterationStarted, TurnFinished, TurnStarted
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.parts import Usage


def told(fold: Projection[Any], *payloads: Any) -> Any:
    story = Story()
    for payload in payloads:
        agent, event = payload if isinstance(payload, tuple) else ("main", payload)
        fold.apply(story(event, agent))
    return fold.view()


SPAWNED = AgentSpawned(
    name="h",
    parent_agent=AgentId("main"),
    delegate_level=1,
    task="look",
    tools=(),
    model=MODEL,
    call_id=CallId("c1"),
)
STEP = IterationStarted(iteration=1, local_iteration=1)


ITERATED = IterationFinished(iteration=1, action="calls", duration_ms=10.0)


def outline(view: Any) -> list[tuple[int, str, str]]:
    return [(span.depth, span.kind, span.state) for span in view.spans]


def test_a_trace_is_a_tree_whose_costs_add_up() -> None:
    view = told(
        Trace(),
        TurnStarted(turn=1),
        STEP,
        requested("r1"),
        responded("r1", tool_call("c1"), tokens=1_000),
        called("c1", "[Subtask]", "look"),
        started("c1"),
        ("h", SPAWNED),
        ("h", IterationStarted(iteration=2, local_iteration=1, delegate_level=1)),
        ("h", requested("r2")),
        ("h", responded("r2", "three", tokens=5_000)),
        ("h", AgentFinished(success=True, summary="3", reason="completed")),
        finished("c1"),
        ITERATED,
        TurnFinished(turn=1, reason="finished", duration_ms=12.0),
    )
    assert outline(view) == [
        (0, "turn", "done"),
        (1, "iteration", "done"),
        (2, "model", "done"),
        (2, "subtask", "done"),
        (3, "model", "done"),
    ]
    turn, iteration, model, subtask, inner = view.spans
    assert (turn.cost_usd, iteration.cost_usd, subtask.cost_usd) == (1.0, 1.0, 0.5)
    assert (turn.tokens_in, subtask.tokens_in) == (1_000, 5_000)
    assert (turn.tokens_out, model.tokens_out, inner.tokens_out) == (10, 10, 10)
    assert view.roots == (0,)
    assert (iteration.children, subtask.parent) == ((2, 3), 1)
    assert (turn.duration_ms, subtask.outcome, iteration.outcome) == (12.0, "sum c1", "1 subtask")


@pytest.mark.parametrize(
    ("verbs", "said"),
    [
        (("read",), "1 read"),
        (("read", "read"), "2 reads"),
        (("search", "search"), "2 searches"),
        (("read", "search"), "2 calls"),
        (("todos",), "todos"),
        (("todos", "todos"), "2 calls"),
    ],
)
def test_an_iteration_says_what_it_called(verbs: tuple[str, ...], said: str) -> None:
    calls = [called(f"c{at}", verb, "a") for at, verb in enumerate(verbs)]
    view = told(Trace(), TurnStarted(turn=1), STEP, requested("r1"), responded("r1"), *calls, ITERATED)
    assert view.spans[1].outcome == said


def test_iterations_are_counted_within_a_turn_and_without_those_of_delegates() -> None:
    def iteration(number: int) -> IterationStarted:
        return IterationStarted(iteration=number, local_iteration=number)

    view = told(
        Trace(),
        TurnStarted(turn=1),
        STEP,
        called("c1", "[Subtask]", "look"),
        started("c1"),
        ("h", SPAWNED),
        ("h", IterationStarted(iteration=2, local_iteration=1, delegate_level=1)),
        ("h", AgentFinished(success=True, summary="3", reason="completed")),
        ITERATED,
        iteration(3),
        TurnFinished(turn=1, reason="finished", duration_ms=12.0),
        TurnStarted(turn=2),
        iteration(4),
    )
    names = [span.name for span in view.spans if span.kind in ("turn", "iteration")]
    assert names == ["turn 1", "iteration 1", "iteration 2", "turn 2", "iteration 1"]


def test_what_is_open_when_a_turn_ends_is_interrupted() -> None:
    view = told(
        Trace(),
        TurnStarted(turn=1),
        STEP,
        requested("r1"),
        called("c1"),
        TurnFinished(turn=1, reason="interrupted"),
    )
    assert {state for _, _, state in outline(view)} == {"interrupted"}
    assert all(span.end is not None for span in view.spans)


def test_what_a_request_sent_that_was_stopped_is_an_estimate_and_no_part_of_a_sum() -> None:
    def stopped(fault: Literal["cancelled", "auth"], usage: Usage) -> Span:
        view = told(
            Trace(),
            TurnStarted(turn=1),
            STEP,
            ContextPacked(
                request_id=RequestId("r1"), window=9_000, total_tokens=700, total_chars=2_800, sections=()
            ),
            requested("r1"),
            ModelFailed(request_id=RequestId("r1"), fault=fault, message="m", partial="x" * 80, usage=usage),
        )
        assert (view.spans[0].tokens_in or 0, view.spans[0].billed_in) == (usage.input_tokens,) * 2
        return view.spans[2]

    told_by_us = stopped("cancelled", Usage())
    assert (told_by_us.tokens_in, told_by_us.tokens_out, told_by_us.estimated) == (700, 20, True)
    assert (
        describe_tokens(told_by_us) == "about 700 tokens in, 20 out (estimated: the provider reported none)"
    )
    counted = stopped("cancelled", Usage(input_tokens=690, output_tokens=9))
    assert (counted.tokens_in, counted.tokens_out, counted.estimated) == (690, 9, False)
    assert not stopped("auth", Usage()).estimated


def test_a_request_that_is_retried_stays_one_span() -> None:
    retried = ModelRetried(request_id=RequestId("r1"), attempt=1, fault="cut", message="m", wait_s=1.0)
    failed = ModelFailed(request_id=RequestId("r1"), fault="cut", message="gone")
    view = told(Trace(), TurnStarted(turn=1), STEP, requested("r1"), retried, requested("r1"), failed)
    assert outline(view)[2:] == [(2, "model", "failed")]
    assert (view.spans[2].outcome, view.spans[2].detail) == ("cut", "gone")


def test_unchanged_spans_are_the_same_objects_in_the_next_view() -> None:
    fold, story = Trace(), Story()
    for payload in (TurnStarted(turn=1), TurnFinished(turn=1, reason="finished")):
        fold.apply(story(payload))
    before = fold.view()
    assert fold.view() is before
    fold.apply(story(TurnStarted(turn=2)))
    after = fold.view()
    assert after.spans[0] is before.spans[0]
    assert after.revision > before.revision


def test_a_subtasks_time_is_its_own_and_not_what_it_waited_for_its_turn() -> None:
    begun, ended = called("c1", "[Subtask]", "look"), finished("c1")
    waits = ToolStarted(call_id=CallId("c1"), writes=False, delegates=True)
    story, fold, talk = Story(), Trace(), Transcript()
    events = [story(TurnStarted(turn=1)), story(begun), story(waits)]
    waiting = Trace()
    for event in events:
        waiting.apply(event)
    assert waiting.view().spans[-1].state == "queued"
    events.append(story(SPAWNED, "h"))
    events[-1] = events[-1].model_copy(update={"time": events[2].time + 60})
    done = ended.model_copy(update={"duration_ms": 65_000.0})
    events.append(story(done).model_copy(update={"time": events[3].time + 5}))
    for event in events:
        fold.apply(event)
        talk.apply(event)
    span = next(one for one in fold.view().spans if one.kind == "subtask")
    assert span.duration_ms == 5_000
    row = next(one for one in talk.view().entries if isinstance(one, ToolEntry))
    assert row.duration_ms == 5_000 and row.subtask is not None and row.subtask.waited_ms == 60_000


def test_a_permission_that_is_asked_again_after_a_crash_is_one() -> None:
    def asked(request: str) -> PermissionRequested:
        return PermissionRequested(
            request_id=RequestId(request),
            call_id=CallId("c1"),
            tool="t",
            verb="v",
            target="x",
            effects=(),
            digest="d",
            preview=(),
            choices=(),
        )

    view = told(Approvals(), asked("p1"), asked("p2"))
    assert [request.request_id for request in view.permissions] == ["p2"]
    assert told(Approvals(), asked("p1"), finished("c1", "interrupted")).permissions == ()


def test_changes_of_a_file_add_up_from_its_first_content_to_its_newest() -> None:
    view = told(
        FilesChanged(),
        file_changed("a", None, "1"),
        TurnStarted(turn=2),
        file_changed("a", "1", "2", author="command"),
        file_changed("b", "0", None),
    )
    first = view.files[0]
    assert (first.before, first.after, first.added, first.removed, first.authors, first.last_seq) == (
        None,
        "2",
        4,
        2,
        ("agent", "command"),
        2,
    )
    assert (view.added, view.removed, view.turn_files) == (6, 3, ("a", "b"))


def test_a_file_that_is_again_as_it_was_did_not_change() -> None:
    view = told(
        FilesChanged(),
        file_changed("made", None, "1"),
        file_changed("kept", "0", "1"),
        file_changed("edited", "0", "1"),
        file_changed("made", "1", None),
        file_changed("edited", "1", "0"),
    )
    assert ([one.path for one in view.files], view.added, view.removed, view.last_seq) == (["kept"], 2, 1, 4)


def test_a_file_of_which_only_the_permissions_changed_is_among_the_files() -> None:
    view = told(
        FilesChanged(),
        file_changed("run.sh", "0", "0"),
        file_changed("gone", "0", "0"),
        file_changed("gone", "0", None),
    )
    assert [(one.path, one.only_mode_changed) for one in view.files] == [("run.sh", True), ("gone", False)]


def test_what_a_person_changed_before_the_session_is_not_the_sessions() -> None:
    folders = (FolderChange(path=".venv/", files=2, total=2),)
    by_hand = CheckpointTaken(part=0, commit="c", author="human", unlisted_count=3, folders=folders)
    before = (
        TurnStarted(turn=1),
        file_changed("mine", "0", "1", author="human"),
        file_changed("both", "0", "1", author="human"),
        by_hand,
    )
    view = told(FilesChanged(), *before)
    assert (view.files, view.turn_files, view.folders, view.unlisted_count) == ((), (), (), 0)
    after = (
        file_changed("both", "1", "2"),
        file_changed("both", "2", "3", author="human"),
        file_changed("later", "0", "1", author="human"),
    )
    view = told(FilesChanged(), *before, *after)
    (both,) = view.files
    assert (both.before, both.after, both.authors) == ("1", "3", ("agent", "human"))
    assert (view.turn_files, view.added, view.removed) == (("both",), 4, 2)


def test_a_reverted_hunk_is_not_counted_and_its_revert_is_no_change() -> None:
    by_agent, by_user = file_changed("a.py", "0", "1"), file_changed("a.py", "1", "2", author="human")
    agent = by_agent.model_copy(update={"added": 5, "removed": 3})
    user = by_user.model_copy(update={"added": 1, "removed": 2})
    hunk = RevertedHunk(path="a.py", before="0", after="1", hunk=1)
    move = SessionHeadMoved(to_seq=2, from_seq=1, reason="hunk", files=True, hunk=hunk)
    view = told(FilesChanged(), TurnStarted(turn=1), agent, user, move)
    assert [(file.added, file.removed) for file in view.files] == [(3, 2)]
    assert (view.added, view.removed) == (3, 2)


def restored(*paths: str, kept: tuple[str, ...] = ()) -> CheckpointRestored:
    return CheckpointRestored(source="c", commit="c", paths=paths, skipped_paths=kept)


def moved(to_seq: int, *, files: bool = True) -> SessionHeadMoved:
    return SessionHeadMoved(to_seq=to_seq, from_seq=9, reason="branch", files=files)


def test_the_figures_name_no_file_that_only_a_person_changed() -> None:
    mine, ours = (file_changed("a", before, "9", author="human") for before in ("0", "1"))
    view = told(Metrics(), TurnStarted(turn=1), mine, file_changed("b", None, "1"))
    assert view.files_changed == ("b",)
    assert told(Metrics(), TurnStarted(turn=1), file_changed("a", "0", "1"), ours).files_changed == ("a",)


def test_the_figures_name_the_files_that_stand_otherwise_after_going_back_and_forth() -> None:
    done = (
        TurnStarted(turn=1),
        file_changed("new", None, "1"),
        file_changed("ran", "0", "1", author="command"),
    )
    assert told(Metrics(), *done, file_changed("run.sh", "0", "0")).files_changed == ("new", "ran", "run.sh")
    back = (*done, moved(0), restored("new", kept=("ran",)))
    assert told(Metrics(), *back).files_changed == ("ran",)
    alone = (
        file_changed("new", "1", None, author="human"),
        file_changed("ran", "1", "0", author="human"),
        restored("new", "ran"),
    )
    assert told(Metrics(), *done, *alone).files_changed == ()
    forth = (*done, *alone, moved(2), restored("new", "ran"))
    assert told(Metrics(), *forth).files_changed == ("new", "ran")
    assert told(Metrics(), *done, moved(0, files=False)).files_changed == ("new", "ran")


def test_the_figures_name_no_file_that_was_changed_back() -> None:
    back = (file_changed("made", None, "1"), file_changed("kept", "0", "1"), file_changed("made", "1", None))
    assert told(Metrics(), *back).files_changed == ("kept",)
    assert told(Metrics(), *back, file_changed("made", None, "2")).files_changed == ("made", "kept")
    assert told(FilesChanged(), file_changed("made", None, "1"), file_changed("made", "1", None)).added == 0


def test_todos_count_what_is_done_and_name_the_current_one() -> None:
    items = tuple(
        TodoItem(id=str(number), content="x", status=status)  # type: ignore[arg-type]
        for number, status in enumerate(("completed", "verified", "abandoned", "in_progress", "pending"))
    )
    view = told(Todo(), TodoUpdated(items=items), ("h", TodoUpdated(items=())))
    assert (view.done, view.total, view.current, view.items) == (2, 4, 3, items)


def test_each_agent_has_its_own_calls_and_costs() -> None:
    view = told(
        AgentsTree(),
        requested("r1"),
        responded("r1", "x"),
        ("h", SPAWNED),
        ("h", requested("r2")),
        ("h", responded("r2", "y")),
        ("h", called("c2")),
        ("h", AgentFinished(success=False, summary="no", reason="failed")),
    )
    main, helper = view.agents
    assert (main.id, main.parent, main.calls, main.tokens, main.cost_usd) == ("main", None, 1, 110, 0.5)
    assert (helper.parent, helper.delegate_level, helper.calls, helper.state, helper.summary) == (
        "main",
        1,
        2,
        "error",
        "no",
    )


def test_metrics_count_everything_and_name_the_newest_failure() -> None:
    read = FileRead(path="a", digest="1", size=1, first_line=1, last_line=9, complete=True)
    fold = Metrics()
    view = told(
        fold,
        TurnStarted(turn=1),
        STEP,
        requested("r1"),
        responded("r1", "I try", tool_call("c1")),
        read,
        read,
        called("c1"),
        finished("c1", "failed", text="12345"),
        file_changed("a", "1", "2"),
        ModelFailed(request_id=RequestId("r2"), fault="auth", message="m", usage=Usage(input_tokens=5)),
        responded("r3", "Done.", first_part=3),
        TurnFinished(turn=1, reason="part_limit"),
    )
    assert (view.events, view.turns, view.iterations, view.parts) == (12, 1, 1, 4)
    assert (view.model_calls, view.model_failures, view.input_tokens, view.cost_usd) == (3, 1, 205, 1.0)
    assert (view.tools, view.failed_tools, view.repeated_reads, view.output_chars) == (
        {"run_command": 1},
        1,
        1,
        5,
    )
    assert (view.seconds_to_first_edit, view.final_answer) == (8.0, "Done.")
    assert (view.failure, view.last_turn_end) == ("budget", "part_limit")
    assert view.kinds["file.read"] == 2


def test_a_branch_leaves_out_what_was_reverted_and_steps_over_holes() -> None:
    story = Story()
    found: list[Envelope] = [story(TurnStarted(turn=number)) for number in range(6)]
    moved = story(SessionHeadMoved(to_seq=2, from_seq=3, reason="revert")).model_copy(update={"parent": 2})
    found += [moved, story(TurnStarted(turn=9))]
    assert [record.seq for record in current_branch(found)] == [0, 1, 2, 6, 7]
    damaged = [record for record in found if record.seq not in (1, 7)]
    assert [record.seq for record in current_branch(damaged)] == [0, 2, 6]
    assert current_branch([]) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"reach": "once"}, "allowed by you (once)"),
        ({"reach": "session"}, "allowed by you (session)"),
        ({"reach": "always"}, "allowed by you (always, in this project)"),
        ({"reach": "everywhere"}, "allowed by you (always, in every project)"),
        ({"decision": "deny"}, "denied by you"),
        ({"decision": "deny", "decided_by": "rule", "rule_id": "ask.writes"}, "denied by ask.writes"),
        ({"decided_by": "rule", "rule_id": "internal"}, "allowed: it affects only this session"),
    ],
)
def test_the_trace_says_who_decided_and_where_a_rule_applies(changes: dict[str, str], expected: str) -> None:
    assert decided_by(decision("c1", **changes)) == expected
