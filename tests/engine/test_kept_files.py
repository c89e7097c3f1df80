"""Undo after a move of the conversation alone: the changes that stayed in the files are not the undone turn's."""

from pathlib import Path

from tests.engine.harness import Bench, say
from tests.engine.test_rewind import files, go, said, shell, told, turn, write
from tests.stubs.store import store
from tui_agent.protocol.commands import Redo, Revert, Undo
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.session.fork_workspace import fork_checkpoints


async def keep_files(bench: Bench, text: str) -> None:
    """Move only the conversation, to before the message with this text."""
    (start,) = (
        event.parent
        for event in bench.events
        if isinstance(event.payload, UserMessageReceived) and event.payload.text == text
    )
    assert start is not None
    await go(bench, Revert(to_seq=start, files=False))


async def test_an_undo_of_a_question_leaves_the_kept_changes_of_a_later_turn(tmp_path: Path) -> None:
    answers = [say("A."), write("notes.txt", "kept"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({"notes.txt": "kept"}, [])
        assert not bench.of(SessionHeadMoved)[-1].files
        await go(bench, Redo())
        assert (files(tmp_path), said(bench)) == ({"notes.txt": "kept"}, ["first"])
        await go(bench, Redo())
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({}, ["first"]), "the turn is on the branch again"


async def test_an_undo_restores_the_files_of_its_turn_and_leaves_the_kept_ones(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "notes.txt").write_text("old")
    answers = [write("a.txt", "one"), say("A."), shell("printf kept > notes.txt"), say("B.")]
    async with told(tmp_path, *answers, write("c.txt", "three"), say("C.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        await turn(bench, "third")
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "one", "notes.txt": "kept"}
        await go(bench, Undo())
        assert (files(tmp_path), said(bench)) == ({"notes.txt": "kept"}, [])
        await go(bench, Redo())
        await go(bench, Redo())
        assert files(tmp_path) == {"a.txt": "one", "notes.txt": "kept", "c.txt": "three"}


async def test_a_file_of_the_undone_turn_with_kept_changes_is_restored_only_on_request(
    tmp_path: Path,
) -> None:
    answers = [write("a.txt", "one"), say("A."), shell("printf two > a.txt"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": "two"}
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("a.txt",)
        await go(bench, Redo())
        await go(bench, Undo(overwrite=("a.txt",)))
        assert files(tmp_path) == {}


async def test_an_undo_in_a_resumed_session_leaves_the_kept_changes(tmp_path: Path) -> None:
    answers = [say("A."), write("notes.txt", "kept"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
    async with told(tmp_path) as again:
        await go(again, Undo())
        assert (files(tmp_path), said(again)) == ({"notes.txt": "kept"}, [])


async def test_an_undo_of_two_turns_whose_changes_cancel_out_asks_for_nothing(tmp_path: Path) -> None:
    answers = [
        write("a.txt", "one"),
        say("A."),
        shell("echo two > a.txt"),
        say("B."),
        shell("printf one > a.txt"),
    ]
    async with told(tmp_path, *answers, say("C.")) as bench:
        for text in ("first", "second", "third"):
            await turn(bench, text)
        await keep_files(bench, "second")
        await go(bench, Undo())
        assert files(tmp_path) == {}


async def test_an_undo_in_a_fork_leaves_the_kept_changes(tmp_path: Path) -> None:
    answers = [write("a.txt", "one"), say("A."), write("notes.txt", "kept"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        last = bench.recorder.state.seq
    sessions = store(tmp_path)
    sessions.fork("ses_test", last, "ses_fork")
    fork_checkpoints(sessions.folder("ses_test"), sessions.folder("ses_fork"))
    async with told(tmp_path, session="ses_fork") as fork:
        await go(fork, Undo())
        assert (files(tmp_path), said(fork)) == ({"notes.txt": "kept"}, [])
