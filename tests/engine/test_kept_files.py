"""Undo after a move of the conversation alone: the changes that stayed in the files are not the undone turn's."""

from pathlib import Path

import pytest

from tests.engine.harness import Bench, say
from tests.engine.test_rewind import files, go, said, shell, told, turn, write
from tests.stubs.store import store
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.branch_tree import TurnResultFold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.protocol.commands import Redo, Revert, RunUserShell, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.session.fork_workspace import fork_checkpoints
from tui_agent.store.log_reader import read_records


async def keep_files(bench: Bench, text: str) -> None:
    """Move only the conversation, to before the message with this text."""
    (start,) = (
        event.parent
        for event in bench.events
        if isinstance(event.payload, UserMessageReceived) and event.payload.text == text
    )
    assert start is not None
    await go(bench, Revert(to_seq=start, files=False))


def branch(bench: Bench) -> list[Envelope]:
    """Return the events of the current branch."""
    records = read_records(bench.recorder._log.folder)
    return [record for record in current_branch(records) if isinstance(record, Envelope)]


def counted(bench: Bench) -> dict[str, tuple[int, int, tuple[str, ...]]]:
    """Return the files of /diff and of the footer with their added and removed lines and their authors."""
    files = fold(FilesChanged(), branch(bench)).files
    return {file.path: (file.added, file.removed, file.authors) for file in files}


@pytest.mark.slow
async def test_kept_changes_are_still_counted_until_they_are_undone(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "notes.txt").write_text("old\n")
    edits = [write("a.txt", "one"), shell("echo new >> notes.txt; echo more >> notes.txt")]
    answers = [say("A."), *edits, say("B."), write("c.txt", "three"), say("C.")]
    kept = {"a.txt": (1, 0, ("agent",)), "notes.txt": (2, 0, ("command",))}
    third = {"c.txt": (1, 0, ("agent",))}
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        assert counted(bench) == kept
        await turn(bench, "third")
        assert counted(bench) == kept | third
        await go(bench, Undo())
        assert counted(bench) == kept
        await go(bench, Undo())
        assert (files(tmp_path).keys(), counted(bench)) == ({"a.txt", "notes.txt"}, kept)
        await go(bench, Redo())
        await go(bench, Redo())
        assert counted(bench) == kept | third


async def test_kept_changes_are_counted_once_and_undone_with_their_turn(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), write("a.txt", "one"), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        await go(bench, Undo())
        for _ in range(2):
            await go(bench, Redo())
        assert (said(bench), counted(bench)) == (["first", "second"], {"a.txt": (1, 0, ("agent",))})
        await go(bench, Undo())
        assert (files(tmp_path), counted(bench)) == ({}, {})


async def test_kept_changes_of_a_secret_file_have_its_lines_and_not_those_of_the_placeholder(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".env").write_text("A=1\n")
    script = shell("printf 'B=2\\nC=3\\n' >> .env; printf 'A=1\\nB=2\\n' > new.env")
    async with told(tmp_path, say("A."), script, say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        changed = counted(bench)
        assert changed[".env"] == (2, 0, ("command",))
        await keep_files(bench, "second")
        assert counted(bench) == changed


@pytest.mark.slow
async def test_kept_permissions_are_counted_until_they_are_undone(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "run.sh").write_text("exit\n")
    kept = {"run.sh": (0, 0, ("command",))}
    async with told(tmp_path, say("A."), say("A2."), shell("chmod 755 run.sh"), say("B.")) as bench:
        for text in ("first", "1b", "second"):
            await turn(bench, text)
        await keep_files(bench, "second")
        assert counted(bench) == kept
        await go(bench, Undo())
        assert counted(bench) == kept
        await go(bench, Redo())
        await go(bench, Redo())
        assert (said(bench), counted(bench)) == (["first", "1b", "second"], kept)
        await go(bench, Undo())
        assert counted(bench) == {}


async def test_kept_changes_are_counted_where_files_have_no_checkpoints(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), write("a.txt", "one"), say("B."), store=False) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await go(bench, Undo())
        assert (files(tmp_path), counted(bench)) == ({"a.txt": "one"}, {"a.txt": (1, 0, ("agent",))})
        await go(bench, Redo())
        assert counted(bench) == {"a.txt": (1, 0, ("agent",))}


async def test_kept_changes_are_not_the_result_of_the_message_before(tmp_path: Path) -> None:
    async with told(tmp_path, say("A."), write("a.txt", "one"), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        result = TurnResultFold(0, 0.0, "first", LineCounter(bench.recorder._log.blobs.find))
        for event in branch(bench):
            result.apply(event)
        assert result.result().files == ()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_changes_in_a_file_that_an_undo_kept_are_still_counted(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    recipes = tmp_path / "workspace" / "recipes.py"
    recipes.write_text("a\nb\nc\n")
    answers = [say("A."), shell("echo new > recipes.py"), say("B.")]
    kept = {"recipes.py": (2, 3, ("command", "human"))}
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        recipes.write_text("new\nmine\n")
        await go(bench, Undo())
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("recipes.py",)
        assert (files(tmp_path), counted(bench)) == ({"recipes.py": "new\nmine\n"}, kept)
        await go(bench, Undo())
        assert counted(bench) == kept
        for _ in range(2):
            await go(bench, Redo())
        assert (files(tmp_path), counted(bench).keys()) == ({"recipes.py": "new\nmine\n"}, kept.keys())
        await go(bench, Undo(overwrite=("recipes.py",)))
        assert (files(tmp_path), counted(bench)) == ({"recipes.py": "a\nb\nc\n"}, {})


@pytest.mark.parametrize("is_undo", [True, False])
async def test_lines_of_the_user_in_a_file_that_an_undo_kept_are_not_the_sessions(
    is_undo: bool, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    recipes = tmp_path / "workspace" / "recipes.py"
    recipes.write_text("".join(f"line {number}\n" for number in range(30)))
    answers = [say("A."), shell("sed -i s/line.3$/changed/ recipes.py"), say("B."), say("C.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        recipes.write_text(recipes.read_text().replace("line 20", "mine"))
        if is_undo:
            await go(bench, Undo())
        else:
            await go(bench, RunUserShell(command="true"))
            await keep_files(bench, "second")
        [file] = fold(FilesChanged(), branch(bench)).files
        assert LineCounter(bench.recorder._log.blobs.find).count(file) == (1, 1)
        assert (file.authors, file.other_authors) == (("command", "human"), ("",))
        await go(bench, Redo())
        assert LineCounter(bench.recorder._log.blobs.find).count(file) == (1, 1)


@pytest.mark.parametrize("is_undo", [True, False])
async def test_changes_that_the_session_took_back_itself_are_not_recorded_again(
    is_undo: bool, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    recipes = tmp_path / "workspace" / "recipes.py"
    recipes.write_text("".join(f"line{number}\n" for number in range(30)))
    commands = "sed -i s/line3$/changed/ recipes.py", "sed -i s/changed/line3/ recipes.py"
    answers = [say("A."), *map(shell, commands), say("B."), say("C.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        assert len(bench.of(FileChanged)) == 2
        recipes.write_text(recipes.read_text().replace("line20", "mine"))
        await go(bench, RunUserShell(command="true"))
        earlier = len(bench.of(FileChanged))
        await (go(bench, Undo()) if is_undo else keep_files(bench, "second"))
        kept = bench.of(FileChanged)[earlier:]
        assert [(change.first_author, change.added, change.removed) for change in kept] == [("human", 1, 1)]


def told_model(bench: Bench) -> list[str]:
    """Return the texts of the user's messages and of the engine's notes, as the model sees them."""
    messages = (message for message in bench.model.requests[-1].messages if isinstance(message, UserMessage))
    return [
        str(content.text)
        for message in messages
        for content in message.content
        if isinstance(content, TextContent)
    ]


async def test_the_model_is_told_which_files_went_back_without_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "old.txt").write_text("old")
    answers = [
        write("a.txt", "one"),
        say("A."),
        shell("printf new > old.txt"),
        say("B."),
        say("C."),
        say("D."),
    ]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        await turn(bench, "second")
        await go(bench, Revert(to_seq=start, conversation=False))
        assert told_model(bench) == ["first", "second"], "the note alone is nothing to answer"
        await turn(bench, "third")
        note = "[The user set these files to their versions of another checkpoint, or removed them: old.txt, a.txt.]"
        assert told_model(bench) == ["first", "second", note, "third"]
        await go(bench, Undo())
        await go(bench, Redo())
        await go(bench, Undo())
        await go(bench, Undo())
        await go(bench, Redo())
        await turn(bench, "fourth")
        assert told_model(bench) == ["first", "second", note, "fourth"]


async def test_the_model_is_told_which_files_stayed_when_only_the_conversation_was_reverted(
    tmp_path: Path,
) -> None:
    answers = [
        say("A."),
        write("a.txt", "one"),
        say("B."),
        say("C."),
        write("b.txt", "two"),
        say("D."),
        say("E."),
    ]
    note = "[The user reverted the conversation to this point, but these files keep later changes: a.txt.]"
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        start = bench.recorder.branches.undo_to
        assert start is not None
        await go(bench, Revert(to_seq=start, files=False))
        assert files(tmp_path) == {"a.txt": "one"} and told_model(bench) == ["first", "second"]
        await turn(bench, "third")
        assert told_model(bench) == ["first", note, "third"]
        await turn(bench, "fourth")
        await go(bench, Undo())
        await turn(bench, "fifth")
        assert told_model(bench) == ["first", note, "third", "fifth"], "an undo with the files needs no note"


@pytest.mark.slow
async def test_the_model_is_told_of_a_removed_file_but_not_after_a_redo(tmp_path: Path) -> None:
    async with told(tmp_path, write("a.txt", "one"), say("A."), say("B."), say("C.")) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        await go(bench, Revert(to_seq=start, conversation=False))
        await go(bench, Redo())
        await turn(bench, "second")
        assert told_model(bench) == ["first", "second"]
        await go(bench, Revert(to_seq=start, conversation=False))
        await turn(bench, "third")
        assert told_model(bench)[2:] == ["[The user removed these files: a.txt.]", "third"]


@pytest.mark.slow
async def test_the_model_is_told_which_of_its_changes_a_redo_did_not_bring_back(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("old")
    answers = [shell("printf new > a.txt"), say("A."), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await go(bench, Undo())
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        await go(bench, Redo())
        assert files(tmp_path) == {"a.txt": "mine"}
        await turn(bench, "second")
        note = "[These files have the user's version and may lack your changes: a.txt.]"
        assert told_model(bench) == ["first", note, "second"]


@pytest.mark.slow
async def test_the_model_is_told_that_the_user_then_took_its_version(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("old")
    async with told(tmp_path, shell("printf new > a.txt"), say("A."), say("B.")) as bench:
        await turn(bench, "first")
        await go(bench, Undo())
        (tmp_path / "workspace" / "a.txt").write_text("mine")
        await go(bench, Redo())
        to_seq = bench.recorder.branches.moves[-1].to_seq
        await go(bench, Revert(to_seq=to_seq, conversation=False, overwrite=("a.txt",)))
        assert files(tmp_path) == {"a.txt": "new"}
        await turn(bench, "second")
        assert told_model(bench)[-2:] == ["[These files have your changes again: a.txt.]", "second"]
