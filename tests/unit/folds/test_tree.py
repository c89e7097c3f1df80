"""The branches of one log as a tree: which records are on which, what was said there, and what came of it."""

from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.story import called, file_changed, ran_tests
from tests.unit.folds.test_branches import Story
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branch_tree import TreeView, branch_tree, name_branch
from tui_agent.folds.session.branches import is_on_branch, stretches
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import (
    IterationStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import TextPart, Usage

SCRIPTS = st.lists(st.integers(0, 10_000) | st.none(), max_size=60)


def told(script: list[int | None]) -> Story:
    """A log in which something is said, or the head goes to an event."""
    story = Story()
    story.say("first")
    for choice in script:
        if choice is None:
            story.say("more")
        else:
            story.move(choice % len(story.events))
    return story


@given(SCRIPTS)
def test_the_path_of_each_branch_is_what_the_stretches_say_for_its_end(script: list[int | None]) -> None:
    story = told(script)
    for one in branch_tree(story.events).branches:
        kept = stretches(story.view.moves, one.last)
        assert [event.seq for event in story.events if is_on_branch(event.seq, one.path)] == [
            event.seq for event in story.events if is_on_branch(event.seq, kept)
        ]


@given(SCRIPTS)
def test_every_record_begins_with_one_branch_and_the_head_stands_at_the_end_of_one(
    script: list[int | None],
) -> None:
    story = told(script)
    view = branch_tree(story.events)
    for event in story.events:
        count = sum(is_on_branch(event.seq, one.own) for one in view.branches)
        assert count == 1 or (count == 0 and isinstance(event.payload, SessionHeadMoved))
    here = view.branches[view.current if view.current is not None else -1]
    assert here.last == len(story.events) - 1
    assert sum(one.current for one in view.branches) == 1
    assert [event.seq for event in current_branch(story.events)] == [
        event.seq for event in story.events if is_on_branch(event.seq, here.path)
    ]


def shown_branches(view: TreeView) -> list[int]:
    return [index for index in range(len(view.branches)) if view.is_worth_showing(index)]


@given(SCRIPTS)
def test_a_branch_leaves_its_parent_where_it_says_and_is_drawn_below_it(script: list[int | None]) -> None:
    story = told(script)
    view = branch_tree(story.events)
    shown = shown_branches(view)
    assert view.current in shown
    for at, one in enumerate(view.branches):
        if one.parent is None or one.at_seq is None:
            assert at == 0 and one.depth == 0
            continue
        above = view.branches[one.parent]
        is_left = not any(is_on_branch(one.at_seq, other.own) for other in view.branches)
        assert (is_on_branch(one.at_seq, above.own) or is_left) and one.at_seq < one.first
        assert one.depth == above.depth + 1
        if at in shown:
            assert one.parent in shown and one.parent < at


@given(SCRIPTS)
def test_each_message_is_told_once_on_the_branch_on_which_it_was_said(script: list[int | None]) -> None:
    story = told(script)
    view = branch_tree(story.events)
    messages = [event.seq for event in story.events if event.payload.kind == "user.message"]
    assert sorted(said.seq for one in view.branches for said in one.turns) == messages
    for one in view.branches:
        assert all(is_on_branch(said.seq, one.own) and said.last_seq <= one.last for said in one.turns)


def turn(
    story: Story, text: str, answer: str, reason: TurnEnd = "finished", failed: int | None = None
) -> int:
    seq = story.say(text)
    story.add(TurnStarted(turn=seq))
    story.add(
        FileChanged(
            path="a.py",
            before=None,
            after="f" * 64,
            before_size=0,
            after_size=9,
            mode=None,
            author="agent",
            added=3,
            removed=0,
        )
    )
    if failed is not None:
        story.add(
            TestFinished(
                framework="pytest", command="pytest", passed=4, failed=failed, skipped=0, exit_code=1
            )
        )
    story.add(
        ModelResponded(
            request_id=RequestId(f"r{seq}"),
            first_part=seq,
            parts=(TextPart(text=answer),),
            finish="stop",
            usage=Usage(),
            cost_usd=0.25,
            duration_ms=1.0,
        )
    )
    story.add(TurnFinished(turn=seq, reason=reason))
    return seq


def view_of(story: Story) -> TreeView:
    return branch_tree(story.events)


def test_iterations_of_delegates_are_not_counted_as_in_the_row_at_the_turns_end() -> None:
    story = Story()
    story.say("look")
    story.add(IterationStarted(iteration=1, local_iteration=1))
    story.add(IterationStarted(iteration=2, local_iteration=1, delegate_level=1))
    assert view_of(story).branches[0].turns[0].iterations == 1


def test_a_message_is_told_with_what_came_of_it() -> None:
    story = Story()
    turn(story, "fix it", "Fixed.", failed=0)
    turn(story, "and this", "Well.", failed=2)
    turn(story, "stop", "half", reason="interrupted")
    first, second, third = view_of(story).branches[0].turns
    assert (first.text, first.answer, first.outcome.label) == ("fix it", "Fixed.", "done, 4 tests pass")
    assert first.files == (("a.py", 3, 0),) and first.cost_usd == 0.25
    assert (second.outcome.state, second.outcome.label) == ("failed", "2 tests fail, turn finished")
    assert (third.outcome.state, third.outcome.label) == ("stopped", "stopped")
    assert third.last_seq == len(story.events) - 1


def test_a_failed_test_of_a_message_is_stale_after_an_edit() -> None:
    story = Story()
    story.say("fix it")
    story.add(TurnStarted(turn=1))
    story.add(ran_tests(3, 1))
    story.add(called("c1", "edit", "a.py"))
    story.add(file_changed("a.py", call="c1"))
    story.add(TurnFinished(turn=1, reason="interrupted"))
    (result,) = view_of(story).branches[0].turns
    assert (result.outcome.state, result.outcome.label) == ("stopped", "stopped, 1 test failed before 1 edit")
    assert result.stale_tests == "before 1 edit"


def test_a_message_with_a_long_paste_is_named_by_its_own_words() -> None:
    story = Story()
    story.add(UserMessageReceived(text="pasted\n" * 60 + "what is this?", own_words="what is this?"))
    assert view_of(story).branches[0].turns[0].text == "what is this?"


def test_an_undo_that_was_taken_back_leaves_no_branch_to_show() -> None:
    story = Story()
    turn(story, "one", "1")
    end = turn(story, "two", "2")
    story.move(end - 1, "undo")
    assert shown_branches(view_of(story)) == [0, 1], "the head stands there"
    story.move(len(story.events) - 2, "redo")
    view = view_of(story)
    assert shown_branches(view) == [0] and view.current == 0
    turn(story, "three", "3")
    assert [one.text for one in view_of(story).branches[0].turns] == ["one", "two", "three"]


def test_a_reverted_change_that_was_redone_makes_no_branch() -> None:
    """R in /diff, /redo, and the next message: the conversation is one line, and the files count once."""
    story = Story()
    turn(story, "one", "1")
    end = len(story.events) - 1
    story.add(file_changed(path="a.py", before="f" * 64, after="e" * 64, author="human", added=0, removed=3))
    story.move(end + 1, "hunk")
    story.move(end, "redo")
    turn(story, "two", "2")
    view = view_of(story)
    (only,) = view.shown_branches()
    assert (only.name, [said.text for said in only.turns]) == ("main", ["one", "two"])
    assert only.turns[0].files == (("a.py", 3, 0),)
    assert name_branch(story.events) == "main"


def test_a_move_into_the_middle_of_a_turn_makes_a_branch_with_its_own_name() -> None:
    story = Story()
    middle = turn(story, "one", "1")
    story.move(middle, "revert")
    turn(story, "two", "2")
    assert [branch.name for branch in view_of(story).shown_branches()] == ["main", f"branch at {middle}"]
    assert name_branch(story.events) == f"branch at {middle}"
    assert name_branch(story.events[: middle + 1]) == "main"


def test_a_turn_that_goes_on_without_a_message_is_told_too() -> None:
    story = Story()
    first = turn(story, "one", "1")
    story.move(first, "revert")
    story.add(TurnStarted(turn=9))
    (said,) = view_of(story).branches[1].turns
    assert (said.text, said.outcome.state) == ("", "open")


def test_what_a_fork_takes_over_is_not_told_again() -> None:
    story = Story()
    turn(story, "one", "1")
    at = len(story.events) - 1
    turn(story, "two", "2")
    (only,) = branch_tree(story.events, after=at).branches
    assert [one.text for one in only.turns] == ["two"]


def test_a_file_that_changed_twice_is_compared() -> None:
    story = Story()
    for before, after, removed in ((None, "1", 0), ("1", "2", 1)):
        story.say("go")
        story.add(file_changed(before=before, after=after, added=1, removed=removed))
    (branch,) = branch_tree(story.events, text={"1": b"a\n", "2": b"b\n"}.get).branches
    assert branch.files == (("a", 1, 0),)
    assert [turn.files for turn in branch.turns] == [(("a", 1, 0),), (("a", 1, 1),)]
