"""Two branches side by side: where they part, what each came to, and which files end otherwise."""

import json
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest

from tests.stubs.golden import golden
from tests.stubs.story import decision, file_changed, ran_tests, requested
from tests.stubs.two_ways import CAUSE, ENTRY, FORK, MAIN, TEST_ENTRY, TEST_REPORT, two_ways
from tui_agent.folds.comparison.compared_branch import (
    MAX_BEATS,
    Branch,
    Side,
    build_side,
    list_beats,
    working_ms,
)
from tui_agent.folds.comparison.fold import Comparison, FileDifference, compare
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branch_tree import name_branch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointTaken, FolderChange
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.session import ForkChange, SessionForked, SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import (
    IterationStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserSteered,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, SessionId
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import read_records
from tui_agent.tui.screens.compare.figures import build_figures


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    store, _ = two_ways(tmp_path_factory.mktemp("two"))
    return compare(*(_read(store.folder(name)) for name in (MAIN, FORK)))


def _read(folder: Path) -> Branch:
    records = read_records(folder)
    return Branch(folder.name, current_branch(records), open_blobs(folder).find, name_branch(records))


def log(*payloads: Payload, session: str = "ses_a", first: int = 0, at: float = 100.0) -> list[Record]:
    """Events a second apart."""
    return [
        Envelope(
            v=1,
            seq=first + number,
            time=at + number,
            session=SessionId(session),
            agent=MAIN_AGENT,
            parent=first + number - 1 if first + number else None,
            cause=None,
            payload=payload,
        )
        for number, payload in enumerate(payloads)
    ]


def answered(text: str = "Done.", first_part: int = 0) -> ModelResponded:
    return ModelResponded(
        request_id=RequestId("r"),
        first_part=first_part,
        parts=(TextPart(text=text),),
        finish="stop",
        usage=Usage(input_tokens=10, output_tokens=2),
        cost_usd=0.5,
        duration_ms=1.0,
    )


def came_to(*payloads: Payload) -> Side:
    return build_side(Branch("ses_a", log(TurnStarted(turn=1), *payloads)), 0)


# -- where they part -----------------------------------------------------------------------------------------------


def test_a_fork_parts_from_its_parent_at_the_event_that_it_was_forked_from(compared: Comparison) -> None:
    assert compared.fork_point is not None
    assert compared.fork_point.seq == 8
    assert compared.fork_point.after == CAUSE
    assert (compared.left.name, compared.right.name) == ("main", "fork at 8")


def test_two_forks_of_one_parent_share_what_they_took_over(tmp_path: Path) -> None:
    store, at = two_ways(tmp_path)
    store.fork(MAIN, at, "ses_other", ForkChange(context_mode="none"))
    found = compare(_read(store.folder(FORK)), _read(store.folder("ses_other")))
    assert found.fork_point is not None
    assert found.fork_point.seq == at
    assert (found.left.name, found.right.name) == ("fork at 8, ses_000000night0002", "fork at 8, ses_other")
    assert found.right.change_text == "context none"


def test_a_fork_whose_parent_was_removed_still_shares_its_events_with_another_fork(tmp_path: Path) -> None:
    store, at = two_ways(tmp_path)
    store.fork(MAIN, at, "ses_other")
    store.remove(MAIN)
    found = compare(_read(store.folder(FORK)), _read(store.folder("ses_other")))
    assert found.fork_point is not None
    assert found.fork_point.seq == at


def test_two_branches_of_one_log_part_where_the_head_was_moved_to() -> None:
    shared = log(UserMessageReceived(text="go"), TurnStarted(turn=1), TurnFinished(turn=1, reason="finished"))
    first = log(UserMessageReceived(text="this way"), first=3, at=103.0)
    moved = log(SessionHeadMoved(to_seq=2, from_seq=3, reason="branch"), first=4, at=104.0)
    found = compare(
        Branch("ses_a", [*shared, *first], name=name_branch([*shared, *first])),
        Branch("ses_a", [*shared, *moved], name=name_branch([*shared, *first, *moved])),
    )
    assert found.fork_point is not None
    assert (found.fork_point.seq, found.fork_point.after) == (2, "go")
    assert (found.left.name, found.right.name) == ("main", "branch at 2")


def test_branches_that_part_after_a_steering_message_name_it() -> None:
    start = log(UserMessageReceived(text="go"), TurnStarted(turn=1), UserSteered(text="only a.txt"))
    left, right = (Branch("ses_a", [*start, *log(answered(text), first=3)]) for text in ("one", "two"))
    compared = compare(left, right)
    assert compared.fork_point is not None
    assert (compared.fork_point.seq, compared.fork_point.after) == (2, "only a.txt")


def test_a_session_that_was_moved_to_and_fro_later_is_still_the_main_one(tmp_path: Path) -> None:
    store, _ = two_ways(tmp_path)
    again = store.open(MAIN)
    again.append(SessionHeadMoved(to_seq=again.last_seq, from_seq=again.last_seq, reason="redo"))
    again.close()
    assert compare(_read(store.folder(MAIN)), _read(store.folder(FORK))).left.name == "main"


def test_sessions_that_share_nothing_are_compared_as_a_whole(tmp_path: Path) -> None:
    store, _ = two_ways(tmp_path)
    found = compare(_read(store.folder(MAIN)), Branch("ses_golden", golden("night_shift")))
    assert found.fork_point is None
    assert found.left.iterations == 4
    assert found.right.iterations == 9


def test_pieces_of_an_answer_that_one_log_no_longer_gives_are_no_difference() -> None:
    records = golden("night_shift")
    without = [one for one in records if isinstance(one, Envelope) and one.payload.kind != "model.delta"]
    found = compare(Branch("a", records), Branch("a", without))
    assert found.fork_point is not None
    assert found.fork_point.seq == records[-1].seq


# -- what each came to ---------------------------------------------------------------------------------------------


def test_the_figures_are_those_after_the_fork_point(compared: Comparison) -> None:
    left, right = compared.left, compared.right
    assert (round(left.duration_ms), round(right.duration_ms)) == (24_000, 74_000)
    assert (left.cost_usd, right.cost_usd) == (pytest.approx(0.031), 0.0)
    assert (left.iterations, right.iterations) == (3, 9)
    assert (left.tokens_in, left.tokens_out) == (121_000, 1_400)
    assert (right.tokens_in, right.tokens_out) == (254_000, 2_900)
    assert (left.asked_count, left.denied_count, right.asked_count, right.denied_count) == (2, 0, 3, 1)
    assert (left.added, left.removed, right.added, right.removed) == (20, 2, 9, 3)
    assert left.tools == {"edit_file": 2, "run_tests": 2, "write_file": 1}


def test_what_the_model_is_comes_from_the_end_of_each_branch(compared: Comparison) -> None:
    assert (compared.left.model, compared.left.effort, compared.left.local) == (
        "claude-sonnet-4-5",
        "high",
        False,
    )
    assert (compared.right.model, compared.right.effort, compared.right.local) == (
        "qwen3-coder:30b",
        "",
        True,
    )
    assert compared.right.changed == {"model": "qwen3-coder:30b"}


def test_the_hour_between_the_two_is_no_work(compared: Comparison) -> None:
    assert compared.right.duration_ms < 80_000


def test_a_branch_of_which_nothing_came_has_no_answer(tmp_path: Path) -> None:
    store, at = two_ways(tmp_path)
    store.fork(MAIN, at, "ses_new")
    right = compare(_read(store.folder(MAIN)), _read(store.folder("ses_new"))).right
    assert (right.outcome.state, right.outcome.label) == ("none", "no answer")
    assert (right.answer, right.duration_ms, right.parts, right.files) == ("", 0.0, 0, ())


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        ([answered(), TurnFinished(turn=1, reason="finished")], "done", "done"),
        ([ran_tests(32, 0), TurnFinished(turn=1, reason="finished")], "done", "done, 32 tests pass"),
        ([ran_tests(1, 0), TurnFinished(turn=1, reason="finished")], "done", "done, 1 test passes"),
        (
            [ran_tests(3, 2), TurnFinished(turn=1, reason="finished")],
            "failed",
            "2 tests fail, turn finished",
        ),
        (
            [ran_tests(3, 1), ran_tests(4, 0), TurnFinished(turn=1, reason="finished")],
            "done",
            "done, 4 tests pass",
        ),
        ([TurnFinished(turn=1, reason="interrupted")], "stopped", "stopped"),
        ([ran_tests(3, 1), TurnFinished(turn=1, reason="interrupted")], "stopped", "stopped, 1 test fails"),
        ([TurnFinished(turn=1, reason="denied")], "denied", "denied"),
        ([TurnFinished(turn=1, reason="cost_limit")], "stopped", "stopped at the cost limit"),
        ([TurnFinished(turn=1, reason="model_error")], "failed", "the model failed"),
        ([TurnFinished(turn=1, reason="finished"), TurnStarted(turn=2)], "open", "has not ended"),
        ([], "open", "has not ended"),
    ],
)
def test_the_outcome_is_told_in_words(said: list[Payload], state: str, words: str) -> None:
    outcome = came_to(*said).outcome
    assert (outcome.state, outcome.label) == (state, words)


def test_a_branch_with_only_a_compaction_has_no_answer() -> None:
    model = ModelInfo(profile="", provider="", model="m")
    request = ModelRequested(
        request_id=RequestId("r"),
        iteration=3,
        local_iteration=1,
        model=model,
        tools=(),
        messages=1,
        max_tokens=100,
        purpose="compaction",
    )
    before = log(TurnStarted(turn=1), TurnFinished(turn=1, reason="finished"))
    side = build_side(Branch("ses_a", [*before, *log(request, first=2)]), len(before))
    assert (side.outcome.state, side.outcome.label, side.iterations) == ("none", "no answer", 0)


def test_the_answer_is_whole_wherever_it_is_kept(compared: Comparison, tmp_path: Path) -> None:
    assert compared.left.answer.endswith("week 13 shows +15.5 h")
    store, _ = two_ways(tmp_path)
    log_ = store.open(MAIN)
    log_.append(answered("x" * 20_000))
    log_.close()
    assert compare(_read(store.folder(FORK)), _read(store.folder(MAIN))).right.answer == "x" * 20_000


def test_tests_that_fail_at_the_end_are_named() -> None:
    assert came_to(ran_tests(1, 1, "test_a"), ran_tests(1, 1, "test_b")).failures == ("test_b",)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (ForkChange(model="other"), ""),
        (ForkChange(context_mode="none"), "context none"),
        (ForkChange(call_id=CallId("c"), result="nothing"), "another result of run pytest -q"),
        (ForkChange(message="Do the\nother thing"), 'another message: "Do the other thing"'),
    ],
)
def test_what_the_fork_changed_is_told_where_the_model_line_does_not(changed: ForkChange, words: str) -> None:
    called = ToolCalled(
        call_id=CallId("c"), name="run_tests", arguments={}, iteration=1, verb="run", target="pytest -q"
    )
    forked = SessionForked(parent_session=SessionId("ses_p"), at_seq=1, parent_crc="0", changes=changed)
    assert came_to(called, forked).change_text == words


# -- over time -----------------------------------------------------------------------------------------------------


def test_the_last_beat_holds_the_figures_of_the_whole(compared: Comparison) -> None:
    for one in (compared.left, compared.right):
        last = one.timeline[-1]
        assert last.at_ms == one.duration_ms
        assert (last.iterations, last.tokens_in, last.tokens_out) == (
            one.iterations,
            one.tokens_in,
            one.tokens_out,
        )
        assert (last.asked, last.denied, last.files) == (one.asked_count, one.denied_count, len(one.files))


def test_iterations_of_delegates_are_not_counted_as_in_the_row_at_the_turns_end() -> None:
    main = log(TurnStarted(turn=1), IterationStarted(iteration=1, local_iteration=1), requested("r1"))
    helper = log(
        IterationStarted(iteration=2, local_iteration=1, delegate_level=1),
        requested("r2").model_copy(update={"iteration": 2}),
        first=3,
    )
    helper = [event.model_copy(update={"agent": AgentId("helper-2")}) for event in helper]
    side = build_side(Branch("ses_a", [*main, *helper]), 0)
    assert (side.iterations, side.timeline[-1].iterations) == (1, 1)


def test_figures_only_grow_and_time_does_not_go_back(compared: Comparison) -> None:
    for one in (compared.left, compared.right):
        plain = [
            (beat.at_ms, beat.iterations, beat.tokens_in, beat.asked, beat.denied) for beat in one.timeline
        ]
        assert all(all(a <= b for a, b in zip(x, y, strict=True)) for x, y in pairwise(plain))


def test_marks_stand_where_something_happened(compared: Comparison) -> None:
    marks = [
        beat.kind for beat in compared.right.timeline if beat.kind in ("files", "error", "denied", "you")
    ]
    assert marks == ["files", "error", "error", "files", "denied", "error", "error", "error"]


def test_a_turn_that_runs_at_the_fork_point_goes_on_with_the_time_after_it() -> None:
    records = log(TurnStarted(turn=1), answered(), TurnFinished(turn=1, reason="finished"), answered())
    events = [one for one in records if isinstance(one, Envelope)]
    assert working_ms(events[1:], 100.0, True) == 2_000.0
    assert working_ms(events[1:], 100.0, False) == 0.0


def test_a_file_that_changed_twice_is_compared_and_the_users_denials_are_counted_apart() -> None:
    texts = {"1": b"a\n", "2": b"b\n"}
    changes = file_changed("a", None, "1", added=1, removed=0), file_changed("a", "1", "2", added=1)
    denials = decision("c1", decision="deny"), decision("c2", decision="deny", decided_by="rule")
    found = build_side(Branch("ses_a", log(TurnStarted(turn=1), *changes, *denials), texts.get), 0)
    assert [(beat.added, beat.removed) for beat in found.timeline[:2]] == [(1, 0), (1, 0)]
    assert (found.denied_count, found.user_denied_count) == (2, 1)
    (asked,) = (row.left.text for row in build_figures(found, found) if row.label == "Asked you")
    assert asked == "never, 1 denied, policy denied 1"


def test_very_many_beats_are_thinned_and_the_last_stays() -> None:
    events = [one for one in log(TurnStarted(turn=1), *[answered()] * 9_000) if isinstance(one, Envelope)]
    found = list_beats(events, None, False)
    assert len(found) <= MAX_BEATS
    assert found[-1].seq == 9_000


# -- files ---------------------------------------------------------------------------------------------------------


def test_files_that_end_otherwise_have_the_hunks_of_both(compared: Comparison) -> None:
    assert [one.path for one in compared.differences] == [ENTRY, TEST_ENTRY, TEST_REPORT]
    entry, test_entry, _ = compared.differences
    assert "+            end += timedelta(days=1)" in entry.left
    assert "+        return abs(self.end - self.start)" in entry.right
    assert test_entry.left
    assert not test_entry.right


def test_a_content_that_is_gone_is_said_and_the_file_still_differs(tmp_path: Path) -> None:
    store, _ = two_ways(tmp_path)
    left, right = (Branch(name, current_branch(store.read(name))) for name in (MAIN, FORK))
    found = compare(left, right)
    assert [one.path for one in found.differences] == [ENTRY, TEST_ENTRY, TEST_REPORT]
    assert found.differences[0].left_note == "content not stored"
    assert (found.left.added, found.left.removed) == (20, 2)


def test_the_same_end_on_both_sides_is_no_difference(tmp_path: Path) -> None:
    store, _ = two_ways(tmp_path)
    left = _read(store.folder(MAIN))
    same = Branch(FORK, [*left.records, *log(UserMessageReceived(text="x"), first=999)], left.text)
    assert compare(left, same).differences == ()


def test_a_comparison_is_plain_json(compared: Comparison) -> None:
    assert json.loads(json.dumps(asdict(compared)))["right"]["outcome"]["state"] == "failed"


def test_a_reason_has_words_for_every_end() -> None:
    for reason in TurnEnd.__args__:  # type: ignore[attr-defined]
        assert came_to(TurnFinished(turn=1, reason=reason)).outcome.label


def test_a_generated_folder_is_one_difference_with_the_numbers_of_both() -> None:
    def branch(name: str, *folders: FolderChange) -> Branch:
        taken = CheckpointTaken(part=0, commit="c" * 40, author="command", folders=folders)
        return Branch(name, log(TurnStarted(turn=1), taken))

    left = branch(
        "a", FolderChange(path=".venv/", files=2_570, total=2_570), FolderChange(path="b/", files=1, total=1)
    )
    right = branch(
        "b", FolderChange(path=".venv/", files=3, total=3), FolderChange(path="b/", files=1, total=1)
    )
    found = compare(left, right)
    assert found.differences == (
        FileDifference(".venv/", left_note="2,570 generated files", right_note="3 generated files"),
    )
    assert compare(left, branch("c")).differences[0].right_note == ""
