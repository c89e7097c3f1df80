"""Files that change while a command runs: whose change it is, and what an undo does with them."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, call, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tui_agent.engine.checkpoints import revert_plan
from tui_agent.errors import StoreUnusable
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged, describe_other_authors
from tui_agent.policy.decision.call_classes import READ_ONLY
from tui_agent.ports.log import OtherChange
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.commands import PlanRevert, Redo, SubmitPrompt, Undo
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, FileChanged
from tui_agent.protocol.events.session import ErrorRaised


def allow_as_read_only(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return Decision("allow", "reads.command", "it only reads", classes=(READ_ONLY,))


@pytest.fixture
def every_command_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revert_plan, "LONG_COMMAND_S", 0.0)


@pytest.fixture
def no_command_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes more than two seconds for a short command."""
    monkeypatch.setattr(revert_plan, "LONG_COMMAND_S", 60.0)


async def test_changes_during_a_command_that_only_reads_are_the_users(tmp_path: Path) -> None:
    """The policy says that the command only reads, so its file stands for one that the user wrote meanwhile."""
    answers = [shell("echo mine > user.txt"), say("A."), say("B.")]
    async with told(tmp_path, *answers, policy=allow_as_read_only) as bench:
        await turn(bench, "first")
        assert bench.of(FileChanged) == []
        await go(bench, Undo())
        assert files(tmp_path) == {"user.txt": "mine\n"}
        assert {(change.path, change.author) for change in bench.of(FileChanged)} == {("user.txt", "human")}


@pytest.mark.usefixtures("every_command_is_long")
async def test_an_undo_asks_about_files_that_changed_while_a_long_command_ran(tmp_path: Path) -> None:
    script = "echo made > made.txt; echo more >> edited.txt"
    async with told(tmp_path, write("edited.txt", "one"), shell(script), say("A.")) as bench:
        await turn(bench, "first")
        bench.submit(PlanRevert(to_seq=bench.recorder.branches.undo_to or 0))
        await bench.until("checkpoint.planned")
        planned = {change.path: change for change in bench.of(CheckpointPlanned)[-1].changes}
        assert {path: change.uncertain for path, change in planned.items()} == {
            "edited.txt": False,
            "made.txt": True,
        }
        reason = planned["made.txt"].conflict
        assert reason.startswith(f"changed while `{script[:15]}") and reason.endswith("s)")
        assert planned["edited.txt"].conflict == ""
        await go(bench, Undo())
        assert files(tmp_path) == {"made.txt": "made\n"}
        assert bench.of(CheckpointRestored)[-1].skipped_reasons == {"made.txt": reason}
        await go(bench, Redo())
        assert files(tmp_path) == {"made.txt": "made\n", "edited.txt": "onemore\n"}


@pytest.mark.usefixtures("every_command_is_long")
async def test_files_that_the_user_ticked_are_undone_and_redone_in_one_step(tmp_path: Path) -> None:
    async with told(tmp_path, shell("echo made > made.txt; echo mine > user.txt"), say("A.")) as bench:
        await turn(bench, "first")
        await go(bench, Undo(overwrite=("made.txt",)))
        assert files(tmp_path) == {"user.txt": "mine\n"}
        await go(bench, Redo())
        assert files(tmp_path) == {"made.txt": "made\n", "user.txt": "mine\n"}


@pytest.mark.usefixtures("no_command_is_long")
async def test_an_undo_after_a_short_command_does_not_ask(tmp_path: Path) -> None:
    async with told(tmp_path, shell("echo made > made.txt"), say("A.")) as bench:
        await turn(bench, "first")
        await go(bench, Undo())
        assert files(tmp_path) == {}


@asynccontextmanager
async def work_beside(tmp_path: Path, other: object) -> AsyncIterator[Bench]:
    """Run a command in one session while another session works in the same folder; at the end, undo the first one's
    turn."""
    wait = "while [ ! -e go ]; do sleep 0.02; done"
    async with told(tmp_path, shell(wait), say("A."), session="ses_first") as bench:
        bench.submit(SubmitPrompt(text="first"))
        await bench.until("tool.started")
        async with told(tmp_path, other, say("B."), session="ses_second") as beside:
            await turn(beside, "Write b")
        await anyio.Path(tmp_path / "workspace" / "go").touch()
        await bench.until("turn.finished")
        yield bench
        await go(bench, Undo())


@pytest.mark.usefixtures("no_command_is_long")
async def test_an_undo_leaves_alone_what_another_session_wrote_meanwhile(tmp_path: Path) -> None:
    async with work_beside(tmp_path, write("b.txt", "theirs")) as bench:
        assert [file.path for file in fold(FilesChanged(), bench.events).files] == ["go"]
    assert files(tmp_path) == {"b.txt": "theirs"}
    restored = bench.of(CheckpointRestored)[-1]
    assert (restored.paths, restored.skipped_paths) == (("go",), ("b.txt",))
    assert restored.skipped_reasons == {"b.txt": "changed by the session “Write b”"}


@pytest.mark.usefixtures("no_command_is_long")
async def test_an_undo_leaves_alone_what_a_command_of_another_session_wrote_too(tmp_path: Path) -> None:
    async with work_beside(tmp_path, shell("echo theirs > b.txt")) as bench:
        pass
    assert files(tmp_path) == {"b.txt": "theirs\n"}
    assert bench.of(CheckpointRestored)[-1].skipped_reasons == {
        "b.txt": "changed while a command of the session “Write b” also ran"
    }


@pytest.mark.slow_variants
@pytest.mark.parametrize("is_users_too", [False, True])
async def test_a_change_by_another_session_between_two_turns_names_the_session(
    is_users_too: bool, tmp_path: Path
) -> None:
    answers = [write("b.txt", "one"), say("A."), shell("true"), say("A."), shell("true"), say("A.")]
    async with told(tmp_path, *answers, session="ses_first") as bench:
        await turn(bench, "first")
        if is_users_too:
            (tmp_path / "workspace" / "b.txt").write_text("mine")
            await turn(bench, "look")
        old = "mine" if is_users_too else "one"
        arguments = f'{{"path": "b.txt", "old_text": "{old}", "new_text": "theirs"}}'
        edit = call(("edit_file", arguments))
        async with told(tmp_path, edit, say("B."), session="ses_second") as beside:
            await turn(beside, "Write b")
        await turn(bench, "look")
        by_others = [change for change in bench.of(FileChanged) if change.author == "human"]
        assert [change.other_session for change in by_others] == [*[""] * is_users_too, "Write b"]
        [file] = fold(FilesChanged(), bench.events).files
        session = "the session “Write b”"
        assert describe_other_authors(file.other_authors) == (
            f"also changed by {session}{' and by you or another session' if is_users_too else ''}"
        )
        bench.submit(PlanRevert(to_seq=0))
        planned = await bench.until_payload(CheckpointPlanned)
        [conflict] = [change.conflict for change in planned.changes if change.path == "b.txt"]
        assert conflict == (
            "also changed by you or another session" if is_users_too else f"changed by {session}"
        )


async def test_a_change_that_another_session_undid_is_not_called_only_the_users(tmp_path: Path) -> None:
    """The log of the other session does not name the file's content after its undo."""
    answers = [write("b.txt", "one"), say("A."), shell("true"), say("A."), shell("true"), say("A.")]
    edit = call(("edit_file", '{"path": "b.txt", "old_text": "one", "new_text": "theirs"}'))
    async with told(tmp_path, *answers, session="ses_first") as bench:
        await turn(bench, "first")
        async with told(tmp_path, edit, say("B."), session="ses_second") as beside:
            await turn(beside, "Write b")
            await turn(bench, "look")
            await go(beside, Undo())
        await turn(bench, "look")
        [file] = fold(FilesChanged(), bench.events).files
        assert describe_other_authors(file.other_authors) == (
            "also changed by the session “Write b” and by you or another session"
        )
        bench.submit(PlanRevert(to_seq=0))
        planned = await bench.until_payload(CheckpointPlanned)
        assert [change.conflict for change in planned.changes] == ["also changed by you or another session"]


def fail_to_list(workspace: str, since: float) -> Iterable[OtherChange]:
    raise StoreUnusable("The sessions cannot be listed.", hint="Check the folder.")


@pytest.mark.slow
async def test_if_the_other_sessions_cannot_be_read_a_commands_files_are_named_and_not_only_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace").mkdir()
    answers = [shell("echo made > made.txt"), say("A.")]
    async with told(tmp_path, *answers, find_changes_by_others=fail_to_list) as bench:
        await turn(bench, "first")
        assert bench.troubles == []
        [error] = bench.of(ErrorRaised)
        assert error.message == (
            "Another session may have changed files here too: made.txt. The sessions cannot be listed."
        )
        assert [(change.path, change.author) for change in bench.of(FileChanged)] == [("made.txt", "human")]
    async with told(tmp_path) as bench:
        await go(bench, Undo())
        assert files(tmp_path) == {"made.txt": "made\n"}
        assert [*bench.of(CheckpointRestored)[-1].skipped_reasons] == ["made.txt"]
