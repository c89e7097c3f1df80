"""Which stretches of a log are on its branch, and what can be taken back."""

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branches import Branches, BranchesView, is_on_branch, stretches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.session import SessionHeadMoved, SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, SessionId


class Story:
    """Events with their envelopes, as the store would stamp them."""

    def __init__(self) -> None:
        self.events: list[Envelope] = []
        self.fold = Branches()

    def add(self, payload: Payload) -> int:
        seq = len(self.events)
        parent = payload.to_seq if isinstance(payload, SessionHeadMoved) else seq - 1 if seq else None
        event = Envelope(
            v=SCHEMA_VERSION,
            seq=seq,
            time=float(seq),
            session=SessionId("s"),
            agent=MAIN_AGENT,
            parent=parent,
            cause=None,
            payload=payload,
        )
        self.events.append(event)
        self.fold.apply(event)
        return seq

    def say(self, text: str) -> int:
        self.add(SessionTitled(title=text, titled_by="auto"))
        return self.add(UserMessageReceived(text=text))

    def move(self, to_seq: int, reason: str = "revert", *, files: bool = True) -> int:
        return self.add(
            SessionHeadMoved.model_validate(
                {"to_seq": to_seq, "from_seq": len(self.events) - 1, "reason": reason, "files": files}
            )
        )

    def open(self) -> tuple[int | None, int | None]:
        """Where undo and redo would go."""
        return self.view.undo_to, self.view.redo_to

    @property
    def view(self) -> BranchesView:
        return self.fold.view()


@given(st.lists(st.integers(0, 10_000) | st.none(), max_size=60))
def test_the_files_at_an_event_are_those_of_the_newest_checkpoint_on_its_branch(
    script: list[int | None],
) -> None:
    story, commits, taken = Story(), Commits(), dict[int, str]()
    for number, to_seq in enumerate(script):
        if to_seq is None or not story.events:
            seq = story.add(CheckpointTaken(part=number, commit=f"c{number}"))
            taken[seq] = f"c{number}"
        elif to_seq % 3:
            story.add(SessionTitled(title="t", titled_by="auto"))
        else:
            story.move(to_seq % len(story.events))
        commits.apply(story.events[-1])
    for last in range(len(story.events)):
        there = [taken[one.seq] for one in current_branch(story.events[: last + 1]) if one.seq in taken]
        first = next(iter(taken.values()), "")
        assert commits.commit_on(stretches(story.view.moves, last)) == (there[-1] if there else first)


@given(st.lists(st.integers(0, 10_000) | st.none(), max_size=60))
def test_the_stretches_are_the_records_reached_by_parent(script: list[int | None]) -> None:
    story = Story()
    story.say("first")
    for choice in script:
        if choice is None:
            story.say("more")
        else:
            story.move(choice % len(story.events))
    last = len(story.events) - 1
    kept = stretches(story.view.moves, last)
    assert [event.seq for event in current_branch(story.events)] == [
        event.seq for event in story.events if is_on_branch(event.seq, kept)
    ]


def test_undo_goes_back_message_by_message_and_redo_forward_again() -> None:
    story = Story()
    story.say("one")
    two = story.say("two")
    assert story.open() == (two - 1, None)
    before = len(story.events) - 1
    story.move(two - 1, "undo")
    assert story.open() == (0, before), "the first message is next"
    after_first = len(story.events) - 1
    story.move(0, "undo")
    assert story.open() == (None, after_first)
    story.move(after_first, "redo")
    assert story.open() == (0, before)
    story.move(before, "redo")
    assert story.open() == (two - 1, None)


def test_nothing_can_be_redone_once_something_else_was_said() -> None:
    story = Story()
    story.say("one")
    two = story.say("two")
    story.move(two - 1, "undo")
    story.say("another two")
    assert story.view.redo_to is None


def test_turns_that_a_redo_brings_back_are_those_of_its_branch_only() -> None:
    story = Story()
    first = story.say("one")
    story.say("two")
    newest = story.say("three")
    story.move(first, "revert")
    other = story.say("another two")
    here = len(story.events) - 1
    counts = [story.fold.count_restored_turns(to, here) for to in (newest, first, other)]
    assert counts == [2, 0, 0]
    assert story.fold.count_restored_turns(here, newest) == 1


def test_a_checkpoint_of_a_turns_start_counts_from_the_event_before_the_turn() -> None:
    story, commits = Story(), Commits()
    story.add(CheckpointTaken(part=-1, commit="first"))
    first = story.say("one")
    story.add(CheckpointTaken(part=1, commit="after one"))
    second = story.say("two")
    story.add(CheckpointTaken(part=1, commit="by hand", as_of_seq=second - 1))
    story.add(CheckpointTaken(part=2, commit="after two"))
    for event in story.events:
        commits.apply(event)
    found = [commits.commit_on(stretches((), seq)) for seq in (first - 1, second - 2, second - 1, second)]
    assert found == ["first", "after one", "by hand", "by hand"]
    assert commits.commit_on(stretches((), len(story.events) - 1)) == "after two"


def test_a_checkpoint_never_counts_from_before_an_older_one() -> None:
    story, commits = Story(), Commits()
    message = story.say("one")
    story.add(CheckpointTaken(part=0, commit="after a crash"))
    story.add(CheckpointTaken(part=0, commit="by hand", as_of_seq=message - 1))
    for event in story.events:
        commits.apply(event)
    assert commits.seqs == [message + 1, message + 1]
    assert commits.commit_on(stretches((), message + 1)) == "by hand"


def test_the_changes_that_a_move_of_the_conversation_leaves_begin_after_its_turn() -> None:
    story = Story()
    first, second = story.say("first"), story.say("second")
    story.add(SessionTitled(title="done", titled_by="auto"))
    moved = story.move(second - 1, files=False)
    end = story.add(SessionTitled(title="moved", titled_by="auto"))
    assert story.fold.kept_spans(first - 1, end, lambda seq: True) == [(second - 1, end)]
    assert story.fold.kept_spans(moved, end, lambda seq: True) == []
    third = story.say("third")
    assert story.fold.kept_spans(first - 1, third, lambda seq: True) == [(second - 1, third - 1)]


def test_a_move_of_the_conversation_within_its_turn_keeps_nothing_except_in_a_fork() -> None:
    story = Story()
    first = story.say("first")
    story.add(SessionTitled(title="done", titled_by="auto"))
    moved = story.move(first, files=False)
    assert story.fold.kept_spans(first - 1, moved, lambda seq: True) == []
    assert story.fold.kept_spans(first - 1, moved, lambda seq: False) == [(first, moved)]
