"""Which files are taken for instructions: plain texts of the workspace, and links to these."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.test_instructions import _notes, _put
from tui_agent.context.instructions import InstructionFiles
from tui_agent.workspace.local.environment import LocalEnvironment


def _latin(folder: Path) -> None:
    (folder / "AGENTS.md").write_bytes(b"caf\xe9")


def _huge(folder: Path) -> None:
    (folder / "AGENTS.md").write_bytes(b"x" * 1_000_001)


def _outside(folder: Path) -> None:
    _put(folder.parent / "elsewhere.md", "out")
    (folder / "AGENTS.md").symlink_to("../elsewhere.md")


def _secret(folder: Path) -> None:
    _put(folder / ".env", "KEY=1")
    (folder / "AGENTS.md").symlink_to(".env")


def _folder(folder: Path) -> None:
    (folder / "AGENTS.md").mkdir()


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "AGENTS.md")


@pytest.mark.parametrize("make", [_latin, _huge, _outside, _secret, _folder, _pipe])
async def test_what_is_no_plain_text_of_the_workspace_is_left_out_with_a_note(
    tmp_path: Path, workspace: Path, make: Callable[[Path], None]
) -> None:
    make(workspace)
    paths, notes = await _notes(tmp_path)
    assert paths == []
    assert len(notes) == 1 and notes[0].startswith("AGENTS.md is left out: ")


async def test_a_link_to_another_text_of_the_workspace_is_followed_and_imports_are_not(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "docs" / "guide.md", "@secrets.md\nUse tabs.")
    _put(workspace / "secrets.md", "hidden")
    (workspace / "AGENTS.md").symlink_to("docs/guide.md")
    found = await InstructionFiles(LocalEnvironment(workspace), tmp_path / "config").load()
    assert [one.text for one in found.files] == ["@secrets.md\nUse tabs."]
