"""Any checkpoint brings back files and tasks as they were, and a fork takes the tasks along and goes its own way."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Command, Redo, Revert
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.settings import AgentState
from tui_agent.session.headless_turn import run_turn
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

OLD, FORK = "ses_0000000000000001", "ses_0000000000000002"
SCRIPT = """\
answers:
  - calls:
      - write_todos: {todos: [{content: one, status: in_progress}, {content: two, status: pending}]}
      - write_file: {path: a.txt, content: first}
  - calls:
      - write_todos: {todos: [{content: one, status: completed}, {content: two, status: in_progress}]}
      - edit_file: {path: a.txt, old_text: first, new_text: second}
  - calls:
      - write_file: {path: b.txt, content: more}
      - write_todos: {todos: [{content: one, status: completed}, {content: two, status: completed}]}
  - text: Done.
  - calls:
      - write_todos: {todos: [{content: three, status: in_progress}]}
  - text: Another one.
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return SessionOptions(
        cwd=tmp_path / "work",
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        model=f"scripted:{tmp_path / 'script.yaml'}",
        policy="bypass",
        session=OLD,
    )


async def turn(options: SessionOptions, text: str) -> None:
    async with open_session(options) as opened:
        await run_turn(opened, text, lambda record: None)


def events(options: SessionOptions, session_id: str) -> list[Record]:
    return read_records(load_startup_context(options).store.folder(session_id))


def todos(records: Sequence[Record], seq: int) -> list[tuple[str, str]]:
    """The tasks at an event."""
    state = fold(SessionState(), current_branch([record for record in records if record.seq <= seq]))
    return [(item.content, item.status) for item in state.todo]


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


async def carried_out(opened: Session, command: Command) -> None:
    """The command, to its end."""
    follower = opened.follow()
    cause = opened.submit(command)
    while True:
        for record in await follower.next_batch():
            assert not (isinstance(record, Envelope) and record.payload.kind == "command.rejected"), record
            if isinstance(record, Envelope) and record.cause == cause:
                match record.payload:
                    case AgentStateChanged(state=AgentState.IDLE):
                        follower.close()
                        return


@pytest.mark.slow
async def test_every_checkpoint_brings_files_and_tasks_back_and_every_way_back_can_be_undone(
    options: SessionOptions,
) -> None:
    await turn(options, "go")
    whole, final = events(options, OLD), files(options.cwd)
    taken = [
        one.seq for one in whole if isinstance(one, Envelope) and isinstance(one.payload, CheckpointTaken)
    ]
    wanted = [{}, {"a.txt": "first"}, {"a.txt": "second"}, {"a.txt": "second", "b.txt": "more"}]
    assert len(taken) == len(wanted)
    async with open_session(options) as opened:
        for seq, there in zip(taken, wanted, strict=True):
            await carried_out(opened, Revert(to_seq=seq))
            now = events(options, OLD)
            assert files(options.cwd) == there
            assert todos(now, now[-1].seq) == todos(whole, seq)
            await carried_out(opened, Redo())
            now = events(options, OLD)
            assert files(options.cwd) == final
            assert todos(now, now[-1].seq) == [("one", "completed"), ("two", "completed")]


async def test_a_fork_has_the_tasks_of_its_event_and_both_go_on_apart(options: SessionOptions) -> None:
    await turn(options, "go")
    before = events(options, OLD)
    at = next(one.seq for one in before if isinstance(one, Envelope) and one.payload.kind == "turn.finished")
    load_startup_context(options).store.fork(OLD, at, FORK)
    assert todos(events(options, FORK), at) == [("one", "completed"), ("two", "completed")]
    await turn(replace(options, session=FORK), "another")
    forked = events(options, FORK)
    assert todos(forked, forked[-1].seq) == [("three", "in_progress")]
    assert events(options, OLD) == before
    await turn(options, "another")
    after = events(options, OLD)
    assert todos(after, after[-1].seq) == [("three", "in_progress")]
    assert events(options, FORK) == forked
