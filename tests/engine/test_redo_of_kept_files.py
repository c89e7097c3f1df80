"""A redo after an undo that kept a file, because the user changed the file between two turns."""

from pathlib import Path

from tests.engine.harness import say
from tests.engine.test_rewind import go, shell, told, turn
from tui_agent.protocol.commands import Redo, Undo
from tui_agent.protocol.events.files import CheckpointRestored

ANSWERS = [shell("sed -i s/^1$/A/ f.txt"), say("A."), shell("sed -i s/^11$/B/ f.txt"), say("B.")]
"""The agent changes the first line in one turn, and the last line in the next."""


def file_of_eleven_lines(folder: Path) -> Path:
    path = folder / "workspace" / "f.txt"
    path.parent.mkdir()
    path.write_text("".join(f"{number}\n" for number in range(1, 12)))
    return path


async def test_a_redo_restores_a_change_to_a_file_that_only_the_undo_before_kept(tmp_path: Path) -> None:
    path = file_of_eleven_lines(tmp_path)
    async with told(tmp_path, *ANSWERS) as bench:
        await turn(bench, "first")
        path.write_text(path.read_text().replace("6\n", "mine\n"))
        before_second = path.read_text()
        await turn(bench, "second")
        after_second = path.read_text()
        assert "B\n" in after_second
        await go(bench, Undo())
        assert path.read_text() == before_second
        await go(bench, Undo())
        assert path.read_text() == before_second  # kept, because the user changed the file too
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("f.txt",)
        await go(bench, Redo())
        assert path.read_text() == before_second
        await go(bench, Redo())
        assert path.read_text() == after_second


async def test_a_redo_keeps_a_file_that_the_user_changed_after_the_undo(tmp_path: Path) -> None:
    path = file_of_eleven_lines(tmp_path)
    async with told(tmp_path, *ANSWERS) as bench:
        await turn(bench, "first")
        path.write_text(path.read_text().replace("6\n", "mine\n"))
        await turn(bench, "second")
        await go(bench, Undo())
        await go(bench, Undo())
        changed = path.read_text().replace("7\n", "mine too\n")
        path.write_text(changed)
        await go(bench, Redo())
        await go(bench, Redo())
        assert path.read_text() == changed
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("f.txt",)
