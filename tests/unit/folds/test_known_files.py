"""At which event a fork starts when the event that was asked for is inside a call."""

import pytest

from tests.golden.scribe import SONNET
from tests.unit.folds.test_branches import Story
from tui_agent.folds.session.known_files import find_event_with_known_files
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import RunStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import IterationFinished, TurnFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RunId

CALL = CallId("call_1")


def started(*, writes: bool = True, delegates: bool = False) -> ToolStarted:
    return ToolStarted(call_id=CALL, writes=writes, delegates=delegates)


def changed() -> FileChanged:
    return FileChanged(
        path="a.txt",
        before=None,
        after="1" * 64,
        before_size=0,
        after_size=1,
        mode=None,
        author="agent",
        added=1,
        removed=0,
        call_id=CALL,
    )


def finished(status: str = "ok") -> ToolFinished:
    return ToolFinished.model_validate(
        {"call_id": CALL, "name": "write_file", "status": status, "part": 1, "content": (), "summary": ""}
    )


def checkpoint(call_id: CallId | None = CALL) -> CheckpointTaken:
    return CheckpointTaken(part=1, commit="c" * 40, call_id=call_id)


def iteration_end() -> IterationFinished:
    return IterationFinished(iteration=1, action="calls", duration_ms=1.0)


def turn_end() -> TurnFinished:
    return TurnFinished(turn=1, reason="finished", duration_ms=1.0)


def title() -> SessionTitled:
    return SessionTitled(title="x", titled_by="auto")


def run() -> RunStarted:
    return RunStarted(run_id=RunId("run_2"), pid=2, client="app", product="tui-agent", model=SONNET)


def starts(*payloads: Payload) -> list[int]:
    """Where a fork at each event starts, after a title and the session's first checkpoint (events 0 and 1)."""
    story = Story()
    for payload in (title(), checkpoint(None), *payloads):
        story.add(payload)
    return [find_event_with_known_files(story.events, event.seq) for event in story.events][2:]


def test_inside_a_call_a_fork_starts_after_its_checkpoint() -> None:
    assert starts(title(), started(), changed(), finished(), checkpoint(), title()) == [2, 6, 6, 6, 6, 7]


def test_a_checkpoint_of_changes_without_events_belongs_to_the_call() -> None:
    assert starts(started(), finished(), checkpoint(), iteration_end()) == [4, 4, 4, 5]


def test_a_call_that_changed_nothing_has_no_checkpoint() -> None:
    assert starts(started(), finished(), iteration_end()) == [3, 3, 4]


def test_at_a_call_that_never_ended_a_fork_starts_before_it() -> None:
    assert starts(started(), changed()) == [1, 1]
    assert starts(started(), changed(), run(), finished("lost"), turn_end(), checkpoint(None), title()) == [
        *(1, 1, 1, 1),
        *(6, 7, 8),
    ]


def test_a_call_whose_checkpoint_failed_is_left_out_but_later_events_keep_their_place() -> None:
    assert starts(started(), changed(), finished(), iteration_end(), title()) == [1, 1, 1, 5, 6]


@pytest.mark.parametrize("start", [started(writes=False), started(delegates=True)])
def test_inside_a_call_that_changes_no_files_itself_a_fork_starts_there(start: ToolStarted) -> None:
    assert starts(start, title(), finished()) == [2, 3, 4]


def test_the_call_is_looked_for_on_the_branch_of_the_event() -> None:
    story = Story()
    for payload in (title(), checkpoint(None), started(), changed()):
        story.add(payload)
    moved = story.move(1)
    story.add(title())
    assert find_event_with_known_files(story.events, 3) == 1, "the result would be on the other branch"
    assert find_event_with_known_files(story.events, moved + 1) == moved + 1
