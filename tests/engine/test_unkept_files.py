"""Files that were there before the session changed them and that no checkpoint held: never removed unasked."""

import errno
import os
from pathlib import Path

import pytest

from tests.engine.harness import call, say
from tests.engine.test_rewind import files, go, shell, told, turn, write
from tui_agent.engine.tools.tool_runner import paths_in_workspace
from tui_agent.protocol.commands import Redo, Revert, Undo
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished


async def test_an_ignored_file_that_the_agent_edits_is_put_back_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    before = {".gitignore": "*.env\n", ".env": "secret"}
    for name, text in before.items():
        (folder / name).write_text(text)
    (folder / ".env").chmod(0o600)
    replace = call(("write_file", '{"path": ".env", "content": "other", "overwrite": true}'))
    read = call(("read_file", '{"path": ".env"}'))
    async with told(tmp_path, read, replace, write("x.env", "new"), say("Done.")) as bench:
        await turn(bench, "go")
        assert files(tmp_path) == {**before, ".env": "other", "x.env": "new"}
        await go(bench, Undo())
        assert files(tmp_path) == before
        await go(bench, Redo())
        assert files(tmp_path) == {**before, ".env": "other", "x.env": "new"}
        await go(bench, Undo())
    assert files(tmp_path) == before
    assert (folder / ".env").stat().st_mode & 0o7777 == 0o600


@pytest.mark.slow
async def test_files_that_a_command_brings_to_light_are_not_removed_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    before = {".gitignore": "data\n*.db\n", "data/one": "1", "x.db": "db"}
    for name, text in before.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    async with told(tmp_path, shell("rm .gitignore; echo new > made"), say("Done.")) as bench:
        await turn(bench, "go")
        await go(bench, Undo())
    assert files(tmp_path) == before


@pytest.mark.slow
async def test_what_was_too_large_or_in_a_repository_of_its_own_is_not_removed_unasked(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "workspace"
    (folder / "sub" / ".git").mkdir(parents=True)
    (folder / "sub" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (folder / "sub" / ".git" / name).mkdir()
    (folder / "sub" / "file").write_text("mine")
    (folder / "large").write_bytes(b"l" * 6_000_000)
    script = "rm -rf sub/.git; echo short > large; echo new > made"
    async with told(tmp_path, shell(script), say("Done.")) as bench:
        await turn(bench, "go")
        to_seq = bench.recorder.branches.undo_to
        assert to_seq is not None
        await go(bench, Undo())
        assert files(tmp_path) == {"large": "short\n", "sub/file": "mine"}
        restored = bench.of(CheckpointRestored)
        assert restored[-1].skipped_paths == ("large", "sub/file")
        await go(bench, Revert(to_seq=to_seq, conversation=False, overwrite=("large",)))
        assert files(tmp_path) == {"sub/file": "mine"}


def test_only_paths_in_the_workspace_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    paths = [
        "a",
        "./b/../c",
        str(tmp_path / "in" / "d"),
        "../e",
        "/etc/passwd",
        "link/f",
        "link/in/g",
        ".",
        "n\0",
        "\udc80",
    ]
    assert paths_in_workspace(str(tmp_path / "in"), paths) == ["a", "c", "d", "g", "\udc80"]


def test_a_path_is_where_it_led_when_it_was_judged_and_is_not_followed_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "d").symlink_to(tmp_path)
    judged = {"d/a": str(tmp_path / "in" / "d" / "a"), "d/b": str(tmp_path / "b")}
    assert paths_in_workspace(str(tmp_path / "in"), ["d/a", "d/b"], judged) == ["d/a"]


async def test_a_folder_that_turns_into_a_link_while_its_path_is_followed_costs_the_call_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system says then: `readlink` is given what is no link any more."""
    real = os.path.realpath

    def turned(path: str, **said: bool) -> str:
        if str(path).endswith(("/d", "/d/a")):
            raise OSError(errno.EINVAL, "Invalid argument", path)
        return real(path, **said)

    monkeypatch.setattr("os.path.realpath", turned)
    assert paths_in_workspace(str(tmp_path), ["d/a", "b"]) == ["b"]
    async with told(tmp_path, write("d/a", "x"), write("b", "x"), say("Done.")) as bench:
        await turn(bench, "go")
        ended = [one.status for one in bench.of(ToolFinished)]
        assert ended == ["failed", "ok"]
        assert [one.reason for one in bench.of(TurnFinished)] == ["finished"]
