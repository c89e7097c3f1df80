"""A session's checkpoints: where each was taken, and what each changed path had become by then."""

from tests.stubs.story import file_changed
from tests.unit.folds.test_branches import Story
from tui_agent.folds.projection import fold
from tui_agent.folds.session.checkpoints import Checkpoints
from tui_agent.protocol.events.files import Author, CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.turn import TurnStarted


def taken(part: int, *paths: str, author: Author = "agent") -> CheckpointTaken:
    return CheckpointTaken(part=part, commit=f"{part:040}", author=author, paths=paths)


def test_each_checkpoint_holds_what_changed_since_the_one_before() -> None:
    story = Story()
    story.say("go")
    story.add(taken(-1, author="human"))
    story.add(TurnStarted(turn=1))
    story.add(file_changed("a.py", "b" * 64, "a" * 64, added=3, removed=1))
    story.add(file_changed("a.py", after="a" * 64, added=2, removed=0))
    first = story.add(taken(4, "a.py"))
    story.add(file_changed("b.py", after="a" * 64, author="command", added=1, removed=0))
    second = story.add(taken(5, "b.py", "big.bin", author="command"))
    found, edited, ran = fold(Checkpoints(), story.events)
    assert (found.part, found.files, found.turn) == (-1, (), 0)
    (a,) = edited.files
    assert (edited.seq, edited.part, edited.turn) == (first, 4, 1)
    assert (a.path, a.added, a.removed, a.before, a.after) == ("a.py", 5, 1, "b" * 64, "a" * 64)
    assert (ran.seq, ran.author, [one.path for one in ran.files]) == (second, "command", ["b.py", "big.bin"])
    assert (ran.files[1].added, ran.files[1].before) == (0, None)


def test_what_was_left_is_on_another_branch_and_what_was_put_back_is_told() -> None:
    story = Story()
    start = story.say("go")
    story.add(file_changed("a.py", after="a" * 64, added=3, removed=1))
    story.add(taken(4, "a.py"))
    story.move(start)
    story.add(CheckpointRestored(source="0" * 40, commit="1" * 40, paths=("a.py",)))
    left, back = fold(Checkpoints(), story.events)
    assert (left.on_branch, left.restored) == (False, False)
    assert (back.on_branch, back.restored, [one.path for one in back.files]) == (True, True, ["a.py"])
    assert (back.part, back.files[0].added) == (4, 0), "it is the newest part, and no line was written anew"
