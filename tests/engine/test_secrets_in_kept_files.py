"""The record of files that an undo keeps: a line with a secret that did not change is not a changed line."""

import json
import shlex
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, say
from tests.engine.test_kept_files import branch, counted, keep_files
from tests.engine.test_rewind import files, go, told, turn
from tui_agent.folds.comparison.net_changes import net_file_changes
from tui_agent.protocol.commands import Redo, Revert, Undo
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged

KEYS = ["".join(("gh", "p_", f"Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh{end}J")) for end in (7, 8, 9)]
HIDDEN = "[redacted: github token]"
MIDDLE = "\n" * 12
TEXT = f'KEY = "{KEYS[0]}"{MIDDLE}name = "x"\n'


def shell(command: str) -> object:
    return call(("run_command", json.dumps({"command": command})))


def edit(old: str, new: str) -> object:
    return shell(f"sed -i {shlex.quote(f's/{old}/{new}/')} a.py")


def hunks(bench: Bench) -> str:
    """Return the hunks of /diff."""
    (change,) = net_file_changes(branch(bench), bench.recorder._log.blobs.find)
    return change.hunks


def place(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir(exist_ok=True)
    return tmp_path / "workspace" / "a.py"


async def test_an_undo_that_keeps_a_file_does_not_report_its_secret_as_changed(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_text(TEXT)
    async with told(tmp_path, say("A."), edit("name", "title"), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        path.write_text(path.read_text() + "# mine\n")
        await go(bench, Undo())
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("a.py",)
        kept = [
            (change.first_author, change.added, change.removed, change.hidden_changes)
            for change in bench.of(FileChanged)[-2:]
        ]
        assert kept == [("command", 1, 1, ()), ("human", 1, 0, ())]
        assert counted(bench) == {"a.py": (2, 1, ("command", "human"))}
        assert HIDDEN not in hunks(bench)
        # The user's next edit is compared with the file as the undo left it.
        path.write_text(path.read_text() + "# more\n")
        await go(bench, Undo())
        assert HIDDEN not in hunks(bench)
        assert [event.hidden_changes for event in bench.of(FileChanged)] == [()] * len(bench.of(FileChanged))
        await go(bench, Redo())
        await go(bench, Redo())
        assert HIDDEN not in hunks(bench)


async def test_an_undo_that_keeps_a_file_reports_a_secret_that_did_change(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_text(TEXT)
    async with told(tmp_path, say("A."), edit("name", "title"), say("B.")) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        path.write_text(path.read_text().replace(KEYS[0], KEYS[1]))
        await go(bench, Undo())
        change = bench.of(FileChanged)[-1]
        assert (change.added, change.removed, len(change.hidden_changes)) == (1, 1, 1)
        assert f'+KEY = "{HIDDEN}" [a hidden value differs]' in hunks(bench)


@pytest.mark.slow
async def test_a_redo_that_keeps_a_file_does_not_report_its_secret_as_changed(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_text(TEXT)
    answers = [edit("name", "title"), say("A."), edit("title", "label"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await go(bench, Undo())
        path.write_text(path.read_text() + "# mine\n")
        await go(bench, Redo())
        assert bench.of(CheckpointRestored)[-1].skipped_paths == ("a.py",)
        assert HIDDEN not in hunks(bench)
        change = bench.of(FileChanged)[-1]
        assert (change.author, change.added, change.removed, change.hidden_changes) == ("human", 2, 1, ())


async def test_kept_changes_of_several_edits_report_a_secret_that_an_earlier_one_changed(
    tmp_path: Path,
) -> None:
    path = place(tmp_path)
    path.write_text(TEXT)
    answers = [say("A."), edit(KEYS[0], KEYS[1]), edit("name", "title"), say("B.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "first")
        await turn(bench, "second")
        await keep_files(bench, "second")
        change = bench.of(FileChanged)[-1]
        assert (change.author, len(change.hidden_changes)) == ("human", 1)
        assert f'+KEY = "{HIDDEN}" [a hidden value differs]' in hunks(bench)


async def test_files_restored_alone_keep_no_phantom_of_a_secret(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_text(TEXT)
    async with told(tmp_path, edit("name", "title"), say("A.")) as bench:
        await turn(bench, "first")
        start = bench.recorder.branches.undo_to
        assert start is not None
        await go(bench, Revert(to_seq=start, conversation=False))
        assert files(tmp_path) == {"a.py": TEXT}
        await go(bench, Redo())
        assert HIDDEN not in hunks(bench)
