"""What lies in the working folder is not started because of its name, whatever `PATH` says."""

from pathlib import Path

import pytest

from tui_agent.ports.environment import ExecSpec
from tui_agent.tui.terminal.terminal import Terminal, editor_command
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox import detection


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs of common names, each of which leaves a mark; it is where we are, and first in `PATH`."""
    made = tmp_path / "work"
    made.mkdir()
    for name in ("bash", "rg", "ls", "bwrap", "true", "xclip", "nano", "vim", "vi"):
        (made / name).write_text(f"#!/bin/sh\n: > {tmp_path}/mark-{name}\n")
        (made / name).chmod(0o755)
    monkeypatch.chdir(made)
    monkeypatch.setenv("PATH", f".::relative:{made}:/usr/bin:/bin")
    return made


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.glob("mark-*"))


async def test_neither_the_shell_nor_the_search_program_comes_from_the_folder(folder: Path) -> None:
    env = LocalEnvironment(folder)
    try:
        await env.exec(ExecSpec(script="echo hello"), lambda data: None)
        await env.exec(ExecSpec(argv=("rg", "--version")), lambda data: None)
    finally:
        await env.aclose()
    assert marks(folder) == []


async def test_no_command_finds_a_program_by_a_relative_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", ".::relative:/usr/bin:/bin")
    env = LocalEnvironment(folder)
    told = bytearray()
    try:
        await env.exec(ExecSpec(script='ls; echo "$PATH"'), told.extend)
        await env.exec(ExecSpec(argv=("ls",)), lambda data: None)
    finally:
        await env.aclose()
    assert told.decode().splitlines()[-1] == "/usr/bin:/bin" and marks(folder) == []


def test_what_confines_commands_does_not_come_from_the_folder(folder: Path) -> None:
    assert detection._find_system_program("bwrap") != str(folder / "bwrap")
    assert detection._find_system_program("true") in ("/usr/bin/true", "/bin/true")


def test_neither_the_clipboard_nor_the_editor_is_the_folders(folder: Path) -> None:
    written: list[str] = []
    assert Terminal(written.append, {"TERM": "xterm", "DISPLAY": ":0"}).copy("text")
    [editor] = editor_command({"PATH": f".:{folder}:/usr/bin:/bin"})
    assert Path(editor).is_absolute() and not Path(editor).is_relative_to(folder)
    assert marks(folder) == []


async def test_names_that_lead_into_the_workspace_are_told(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace / "bin", outside):
        folder.mkdir(parents=True)
    for program in (workspace / "bin/git", workspace / "hidden", outside / "rg"):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (workspace / "bin/wc").write_text("not to be started")
    (outside / "ls").symlink_to(workspace / "hidden")
    searched = f"bin:{workspace}/bin:{outside}:/usr/bin:/bin"
    env = LocalEnvironment(workspace, environ={"PATH": searched})
    assert env.find_workspace_programs(["git", "rg", "ls", "wc", "cat", "nowhere", "cd"]) == {"git", "ls"}
    found = await env.exec(ExecSpec(script="command -v git"), lambda data: None)
    await env.aclose()
    assert found.output.decode() == f"{workspace}/bin/git\n"
