"""Generated folders in the log of checkpoints: counted, not listed; restored like every other file."""

from pathlib import Path

import pytest

from tests.engine.harness import Bench, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
    FolderChange,
)

MAKE = "mkdir -p .venv/lib target; for i in $(seq 250); do echo $i > .venv/lib/m$i.py; done; echo x > target/a; echo y > z.txt"


def taken(bench: Bench) -> list[CheckpointTaken]:
    return bench.of(CheckpointTaken)


@pytest.mark.slow
async def test_the_files_of_a_generated_folder_are_counted_and_never_push_own_files_out(
    tmp_path: Path,
) -> None:
    again = shell("for i in $(seq 10); do echo new > .venv/lib/m$i.py; done; rm .venv/lib/m11.py")
    async with told(tmp_path, shell(MAKE), again, say("Done.")) as bench:
        await turn(bench, "go")
        assert [(one.paths, one.unlisted_count, one.folders) for one in taken(bench)[1:]] == [
            (("target/a", "z.txt"), 0, (FolderChange(path=".venv/", files=250, total=250),)),
            ((), 0, (FolderChange(path=".venv/", files=11, total=250),)),
        ]
        changed = [one.path for one in bench.of(FileChanged)]
        assert changed == ["target/a", "z.txt"], "no Cargo.toml is beside it"


async def test_undo_restores_them_and_counts_them_in_plan_and_outcome(tmp_path: Path) -> None:
    async with told(tmp_path, shell(MAKE), say("Done.")) as bench:
        (tmp_path / "workspace" / "Cargo.toml").write_text("")
        start = bench.recorder.state.seq
        await turn(bench, "go")
        folders = (
            FolderChange(path=".venv/", files=250, removed=250),
            FolderChange(path="target/", files=1, removed=1),
        )
        await go(bench, PlanRevert(to_seq=start))
        planned = bench.of(CheckpointPlanned)[-1]
        assert ([one.path for one in planned.changes], planned.unlisted_count) == (["z.txt"], 0)
        assert planned.folders == folders
        await go(bench, Undo())
        assert files(tmp_path) == {"Cargo.toml": ""}
        restored = bench.of(CheckpointRestored)[-1]
        assert (restored.paths, restored.unlisted_count, restored.removed_count) == (("z.txt",), 0, 1)
        assert restored.folders == folders
        await go(bench, Redo())
        assert len(files(tmp_path)) == 253


async def test_restored_files_are_named_before_removed_files(tmp_path: Path) -> None:
    command = shell("echo a > a.txt; echo b > b.txt; echo changed > z.txt")
    async with told(tmp_path, command, say("Done.")) as bench:
        (tmp_path / "workspace" / "z.txt").write_text("first\n")
        await turn(bench, "go")
        await go(bench, Undo())
        restored = bench.of(CheckpointRestored)[-1]
        assert (restored.paths, restored.removed_count) == (("z.txt", "a.txt", "b.txt"), 2)


@pytest.mark.slow
async def test_a_move_of_the_conversation_alone_keeps_their_count_and_a_redo_does_not_double_it(
    tmp_path: Path,
) -> None:
    def counted() -> object:
        records = bench.recorder.records_after(-1)
        return fold(FilesChanged(), (one for one in records if isinstance(one, Envelope))).folders

    again = shell("for i in $(seq 10); do echo new > .venv/lib/m$i.py; done")
    async with told(tmp_path, shell(MAKE), say("Done."), again, say("Done.")) as bench:
        await turn(bench, "go")
        start = bench.recorder.state.seq
        await turn(bench, "again")
        assert taken(bench)[-1].folders == (FolderChange(path=".venv/", files=10, total=250),)
        before = counted()
        await go(bench, Revert(to_seq=start, files=False))
        assert taken(bench)[-1].folders == (FolderChange(path=".venv/", files=10, total=10),)
        assert (taken(bench)[-1].author, taken(bench)[-1].first_author) == ("human", "agent")
        assert counted() == before == ((".venv/", 250),)
        await go(bench, Redo())
        assert counted() == before


@pytest.mark.slow
async def test_files_that_the_user_changed_there_are_kept_until_the_folder_is_named(tmp_path: Path) -> None:
    async with told(tmp_path, shell(MAKE), say("Done.")) as bench:
        start = bench.recorder.state.seq
        await turn(bench, "go")
        for number in range(1, 31):
            (tmp_path / "workspace" / ".venv" / "lib" / f"m{number}.py").write_text("mine")
        await go(bench, Undo())
        assert len(files(tmp_path)) == 30
        restored = bench.of(CheckpointRestored)[-1]
        assert restored.skipped_paths == ()
        assert restored.folders == (FolderChange(path=".venv/", files=220, removed=220, conflicts=30),)
        assert taken(bench)[-1].folders == (FolderChange(path=".venv/", files=30, total=250),), "by the user"
        await go(bench, Revert(to_seq=start, conversation=False, overwrite=(".venv/",)))
        assert files(tmp_path) == {}


async def test_what_the_agents_own_tool_writes_there_is_named(tmp_path: Path) -> None:
    async with told(tmp_path, write("node_modules/a.js", "x"), say("Done.")) as bench:
        await turn(bench, "go")
        assert [(one.paths, one.folders) for one in taken(bench)[1:]] == [(("node_modules/a.js",), ())]
