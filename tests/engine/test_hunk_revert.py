"""Reverting one hunk of a recorded change: recorded, undoable, and never over lines that the user changed since."""

from pathlib import Path

import pytest

from tests.engine.harness import Bench, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.protocol.commands import PlanRevert, Redo, RevertHunk, RunUserShell, SubmitPrompt, Undo
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    FileChanged,
)
from tui_agent.protocol.events.session import CommandRejected, SessionHeadMoved
from tui_agent.protocol.events.turn import UserShellFinished, UserShellStarted
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.stored_text import BlobText

LINES = [f"line {number}" for number in range(1, 31)]
OLD = "".join(f"{line}\n" for line in LINES)
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
ONLY_FIRST = OLD.replace("line 3\n", "LINE 3\n")


def rewrite(text: str, path: str = "a.txt") -> object:
    """An answer that overwrites a file by a command."""
    return shell(f"printf '{text}' > {path}".replace("\n", "\\\\n"))


def place(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "a.txt"


def hunk(bench: Bench, index: int, path: str = "a.txt") -> RevertHunk:
    """The command for one hunk of the newest change of a file by the agent or its commands."""
    changes = bench.of(FileChanged)
    change = next(one for one in reversed(changes) if one.path == path and one.author != "human")
    return RevertHunk(path=path, before=change.before, after=change.after, hunk=index)


def undo_target(bench: Bench) -> int:
    """The event to which an undo moves now."""
    target = bench.recorder.branches.undo_to
    assert target is not None
    return target


async def reject(bench: Bench, command: RevertHunk) -> tuple[str, str]:
    """Submit a command that is rejected; the reason and the hint."""
    count = bench.kinds().count("command.rejected")
    bench.submit(command)
    await bench.until("command.rejected", count + 1)
    found = bench.of(CommandRejected)[-1]
    return found.reason, found.hint


async def begin(bench: Bench, tmp_path: Path) -> None:
    place(tmp_path).write_text(OLD)
    await turn(bench, "change it")
    assert place(tmp_path).read_text() == NEW


async def test_one_hunk_is_reverted_recorded_and_restored_by_redo(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done.")) as bench:
        await begin(bench, tmp_path)
        seq = bench.recorder.state.seq
        await go(bench, hunk(bench, 1))
        assert place(tmp_path).read_text() == ONLY_FIRST
        kinds = [event.payload.kind for event in bench.events if event.seq > seq]
        assert [kind for kind in kinds if kind != "agent.state_changed"] == [
            "checkpoint.restore_started", "file.changed", "session.head_moved", "checkpoint.restored",
        ]  # fmt: skip
        moved, restored = bench.of(SessionHeadMoved)[-1], bench.of(CheckpointRestored)[-1]
        assert isinstance(moved, SessionHeadMoved) and isinstance(restored, CheckpointRestored)
        assert (moved.reason, moved.files) == ("hunk", True)
        assert (restored.paths, restored.skipped_paths) == (("a.txt",), ())
        assert isinstance(bench.of(CheckpointRestoreStarted)[-1], CheckpointRestoreStarted)
        await go(bench, Redo())
        assert place(tmp_path).read_text() == NEW
        assert len([one for one in bench.recorder.messages() if isinstance(one, UserMessage)]) == 1


@pytest.mark.slow
async def test_redo_of_a_hunk_keeps_a_command_of_the_user_and_its_long_output(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done."), say("Seen.")) as bench:
        await begin(bench, tmp_path)
        await go(bench, hunk(bench, 1))
        await go(bench, RunUserShell(command="seq 100000"))
        started, finished = bench.of(UserShellStarted), bench.of(UserShellFinished)
        assert isinstance(finished[-1].full_output, BlobText)
        await go(bench, Redo())
        assert place(tmp_path).read_text() == NEW
        assert bench.of(UserShellStarted) == started * 2 and bench.of(UserShellFinished) == finished * 2
        await turn(bench, "go on")
        assert str(bench.model.requests[-1].messages).count("The user ran a command: seq 100000") == 1


async def test_undo_after_a_reverted_hunk_undoes_the_whole_turn_without_asking(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done.")) as bench:
        await begin(bench, tmp_path)
        await go(bench, hunk(bench, 0))
        await go(bench, Undo())
        assert place(tmp_path).read_text() == OLD
        await go(bench, Redo())
        assert place(tmp_path).read_text() == NEW.replace("LINE 3", "line 3")


@pytest.mark.slow
async def test_a_hunk_reverted_after_another_turn_stays_when_that_turn_is_undone(tmp_path: Path) -> None:
    """The revert is the user's change, like an edit in an editor, and has a redo of its own."""
    answers = (rewrite(NEW), say("A."), write("b.txt", "two"), say("B."))
    async with told(tmp_path, *answers) as bench:
        await begin(bench, tmp_path)
        await turn(bench, "add b.txt")
        await go(bench, hunk(bench, 1))
        await go(bench, Undo())
        assert files(tmp_path) == {"a.txt": ONLY_FIRST}
        restored = bench.of(CheckpointRestored)[-1]
        assert (restored.paths, restored.skipped_paths) == (("b.txt",), ())
        await go(bench, Redo())
        assert files(tmp_path) == {"a.txt": ONLY_FIRST, "b.txt": "two"}
        await go(bench, Redo())
        assert files(tmp_path) == {"a.txt": NEW, "b.txt": "two"}
        assert [moved.redone for moved in bench.of(SessionHeadMoved)] == [
            None, None, "undo", "hunk",
        ]  # fmt: skip
        assert [moved.restored_turns for moved in bench.of(SessionHeadMoved)] == [0, 0, 1, 0]


@pytest.mark.slow
async def test_a_hunk_reverted_after_a_turn_without_changes_stays_when_that_turn_is_undone(
    tmp_path: Path,
) -> None:
    async with told(tmp_path, rewrite(NEW), say("A."), say("B.")) as bench:
        await begin(bench, tmp_path)
        await turn(bench, "only talk")
        await go(bench, hunk(bench, 1))
        await go(bench, Undo())
        assert place(tmp_path).read_text() == ONLY_FIRST
        await go(bench, Redo())
        await go(bench, Redo())
        assert place(tmp_path).read_text() == NEW


async def test_undo_asks_about_a_file_of_its_turn_in_which_the_user_reverted_an_older_turns_hunk(
    tmp_path: Path,
) -> None:
    answers = (rewrite(NEW), say("A."), shell("echo more >> a.txt"), say("B."))
    async with told(tmp_path, *answers) as bench:
        await begin(bench, tmp_path)
        older = hunk(bench, 1)
        await turn(bench, "add a line")
        await go(bench, older)
        bench.submit(PlanRevert(to_seq=undo_target(bench)))
        await bench.until("checkpoint.planned")
        planned = bench.of(CheckpointPlanned)[-1]
        assert [(change.path, change.conflict) for change in planned.changes] == [
            ("a.txt", "also changed by you or another session")
        ]
        await go(bench, Undo())
        assert place(tmp_path).read_text() == ONLY_FIRST + "more\n"
        restored = bench.of(CheckpointRestored)[-1]
        assert (restored.paths, restored.skipped_paths) == ((), ("a.txt",))


@pytest.mark.slow
async def test_the_users_later_lines_stay_and_redo_asks_about_them(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done.")) as bench:
        await begin(bench, tmp_path)
        place(tmp_path).write_text("mine\n" + NEW)
        await go(bench, hunk(bench, 1))
        assert place(tmp_path).read_text() == "mine\n" + ONLY_FIRST
        place(tmp_path).write_text("mine too\n" + ONLY_FIRST)
        await go(bench, Redo())
        assert place(tmp_path).read_text() == "mine too\n" + ONLY_FIRST
        restored = bench.of(CheckpointRestored)[-1]
        assert restored.skipped_paths == ("a.txt",)


async def test_a_hunk_whose_lines_changed_is_refused_by_name(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done.")) as bench:
        await begin(bench, tmp_path)
        for mine in (NEW.replace("LINE 20", "mine"), NEW.replace("LINE 20\n", "")):
            place(tmp_path).write_text(mine)
            assert await reject(bench, hunk(bench, 1)) == (
                "a.txt was changed at line 20 after this change.",
                "Nothing was reverted. Edit the lines by hand, or use /rewind and choose “files only”.",
            )
            assert place(tmp_path).read_text() == mine
        place(tmp_path).write_text(ONLY_FIRST)
        assert await reject(bench, hunk(bench, 1)) == (
            "a.txt no longer contains this change.", "Nothing was reverted.",
        )  # fmt: skip
        place(tmp_path).unlink()
        assert await reject(bench, hunk(bench, 1)) == ("a.txt no longer exists.", "Nothing was reverted.")
        assert await reject(bench, hunk(bench, 7)) == (
            "a.txt cannot be reverted in part: this change was not found.", "Nothing was changed.",
        )  # fmt: skip
        assert not bench.of(SessionHeadMoved)


@pytest.mark.slow
async def test_lines_that_the_user_changed_beside_a_hunk_are_kept(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done.")) as bench:
        await begin(bench, tmp_path)
        mine = NEW.replace("line 18", "mine").replace("LINE 20\n", "above\nLINE 20\nbelow\n")
        place(tmp_path).write_text(mine)
        await go(bench, hunk(bench, 1))
        assert place(tmp_path).read_text() == mine.replace("LINE 20", "line 20")


async def test_the_hunk_of_a_created_file_removes_it_and_of_a_removed_one_brings_it_back(
    tmp_path: Path,
) -> None:
    root = tmp_path / "workspace"
    async with told(tmp_path, shell("rm run.sh; echo one > new/b.txt"), say("Done.")) as bench:
        (root / "new").mkdir()
        (root / "run.sh").write_text("#!/bin/sh\n")
        (root / "run.sh").chmod(0o750)
        await turn(bench, "go")
        assert files(tmp_path) == {"new/b.txt": "one\n"}
        await go(bench, hunk(bench, 0, "new/b.txt"))
        await go(bench, hunk(bench, 0, "run.sh"))
        assert files(tmp_path) == {"run.sh": "#!/bin/sh\n"}
        assert (root / "run.sh").stat().st_mode & 0o777 == 0o750


async def test_secrets_binary_files_and_links_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    script = "printf 'x\\\\0y' > a.bin; echo other > keys.txt; rm t.txt; ln -s keys.txt t.txt; printf 'ee\\\\351y\\\\n' > l.txt"
    async with told(tmp_path, shell(script), say("Done.")) as bench:
        (root / "a.bin").write_bytes(b"x\0")
        (root / "l.txt").write_bytes("éé".encode() + b"\xe8x\n")
        (root / "keys.txt").write_text("password = 'hunter2hunter2xyzQ9'\nghp_" + "a1B2" * 9 + "\n")
        (root / "t.txt").write_text("text\n")
        await turn(bench, "go")
        reasons = {
            path: (await reject(bench, hunk(bench, 0, path)))[0]
            for path in ("a.bin", "keys.txt", "l.txt", "t.txt")
        }
    inexact = "cannot be reverted in part: these lines hold a secret or are not text."
    assert reasons == {
        "a.bin": "a.bin cannot be reverted in part: binary file.",
        "keys.txt": f"keys.txt {inexact}",
        "l.txt": f"l.txt {inexact}",
        "t.txt": "t.txt is a link.",
    }


async def test_a_hunk_with_an_added_secret_is_refused_without_blaming_the_user(tmp_path: Path) -> None:
    async with told(tmp_path, shell(f"echo ghp_{'a1B2' * 9} >> a.txt"), say("Done.")) as bench:
        place(tmp_path).write_text(OLD)
        await turn(bench, "go")
        reason, _ = await reject(bench, hunk(bench, 0))
    assert reason == "a.txt cannot be reverted in part: these lines hold a secret or are not text."


@pytest.mark.slow_variants
@pytest.mark.parametrize("codec", ["utf-16", "latin-1"])
async def test_a_hunk_of_a_file_in_another_encoding_is_reverted_in_that_encoding(
    tmp_path: Path, codec: str
) -> None:
    old, new = OLD.replace("line 2\n", "wörld\n"), NEW.replace("line 2\n", "wörld\n")
    octal = "".join(f"\\\\{byte:03o}" for byte in new.encode(codec))
    async with told(tmp_path, shell(f"printf '{octal}' > a.txt"), say("Done.")) as bench:
        place(tmp_path).write_bytes(old.encode(codec))
        await turn(bench, "go")
        assert place(tmp_path).read_bytes() == new.encode(codec)
        await go(bench, hunk(bench, 0))
        await go(bench, hunk(bench, 1))
        assert place(tmp_path).read_bytes() == old.encode(codec)


async def test_no_hunk_is_reverted_while_a_turn_runs(tmp_path: Path) -> None:
    async with told(tmp_path, rewrite(NEW), say("Done."), write("b.txt", "two"), shell("sleep 30")) as bench:
        await begin(bench, tmp_path)
        command = hunk(bench, 1)
        count = bench.kinds().count("turn.started")
        bench.submit(SubmitPrompt(text="more"))
        await bench.until("turn.started", count + 1)
        assert await reject(bench, command) == (
            "A turn is running. You can undo or redo afterwards.", "Stop it or wait.",
        )  # fmt: skip


def session_hunk(bench: Bench, index: int) -> RevertHunk:
    """The command for one hunk of the session's changes to its only changed file."""
    (file,) = fold(FilesChanged(), current_branch(bench.events)).files
    return RevertHunk(
        path=file.path, before=file.before, after=file.after, hunk=index, user_changes=file.user_changes
    )


async def test_a_hunk_is_reverted_without_the_lines_of_the_user_between_two_turns(tmp_path: Path) -> None:
    answers = (write("b.txt", "a\\nb\\n"), say("A."), shell("sed -i s/b/bb/ b.txt"), say("B."))
    file = tmp_path / "workspace" / "b.txt"
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "create it")
        file.write_text("a\nb\nmine\n")
        await turn(bench, "change it")
        await go(bench, session_hunk(bench, 0))
        assert file.read_text() == "mine\n"
        await go(bench, Redo())
        assert file.read_text() == "a\nbb\nmine\n"
        file.write_text("a\nbb\n")
        await go(bench, session_hunk(bench, 0))
        assert not file.exists(), "nothing of it is the user's"


@pytest.mark.slow
async def test_a_hunk_in_which_the_user_changed_the_sessions_lines_between_two_turns_is_refused(
    tmp_path: Path,
) -> None:
    answers = (rewrite(NEW), say("A."), shell("echo more >> a.txt"), say("B."))
    async with told(tmp_path, *answers) as bench:
        await begin(bench, tmp_path)
        mine = NEW.replace("LINE 3\n", "").replace("LINE 20", "mine")
        place(tmp_path).write_text(mine)
        await turn(bench, "add a line")
        for index, line in ((0, 3), (1, 19)):
            reason, _ = await reject(bench, session_hunk(bench, index))
            assert reason == f"a.txt was changed at line {line} after this change."
        await go(bench, session_hunk(bench, 2))
        assert place(tmp_path).read_text() == mine


@pytest.mark.slow
async def test_lines_that_the_user_put_back_are_not_in_a_hunk(tmp_path: Path) -> None:
    answers = (rewrite(NEW), say("A."), shell("echo more >> a.txt"), say("B."))
    async with told(tmp_path, *answers) as bench:
        await begin(bench, tmp_path)
        place(tmp_path).write_text(NEW.replace("LINE 3", "line 3").replace("line 12\n", "mine\n"))
        await turn(bench, "add a line")
        await go(bench, session_hunk(bench, 0))
        assert place(tmp_path).read_text() == OLD.replace("line 12", "mine") + "more\n"
        await go(bench, session_hunk(bench, 0))
        assert place(tmp_path).read_text() == OLD.replace("line 12", "mine")
