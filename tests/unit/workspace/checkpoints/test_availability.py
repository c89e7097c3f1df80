"""Where there are no checkpoints, and that this is said."""

from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, workspace
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.checkpoint_limits import find_git
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


async def test_the_home_folder_and_those_above_it_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "me"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for refused in (home, tmp_path / "people", Path("/")):
        made = GitCheckpoints(refused, tmp_path / "store.git")
        assert "home folder" in made.unavailable_reason
        assert await made.begin("") is None
        with pytest.raises(CheckpointError, match="home folder"):
            await made.find_changes()
    (tmp_path / "link").symlink_to(home)
    assert GitCheckpoints(tmp_path / "link", tmp_path / "store.git").unavailable_reason
    assert not GitCheckpoints(home / "project", tmp_path / "store.git").unavailable_reason
    assert not (tmp_path / "store.git").exists()


def test_without_git_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (
        "git was not found" in GitCheckpoints(workspace(tmp_path), tmp_path / "store.git").unavailable_reason
    )


def test_a_git_in_the_workspace_is_not_the_git_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "bin" / "git"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted.parent}:.")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert find_git(tmp_path) is None
    assert find_git(tmp_path / "elsewhere") == str(planted)


def test_a_git_in_the_folder_that_a_store_is_looked_at_from_is_not_the_git_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `tui-agent sessions verify` does, to which the session's own folder is all that there is."""
    for folder in ("repository/bin", "tools"):
        planted = tmp_path / folder / "git"
        planted.parent.mkdir(parents=True)
        planted.write_text("#!/bin/sh\n")
        planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/repository/bin:{tmp_path}/tools")
    monkeypatch.chdir(tmp_path / "repository")
    assert find_git(tmp_path / "session") == f"{tmp_path}/tools/git"
    monkeypatch.setenv("HOME", str(tmp_path / "repository"))
    assert find_git(tmp_path / "session") == f"{tmp_path}/repository/bin/git"


async def test_before_the_first_checkpoint_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        await GitCheckpoints(workspace(tmp_path), tmp_path / "store.git").find_changes()


@pytest.mark.parametrize("inside", [".", "data/sessions"])
def test_a_workspace_that_holds_the_sessions_is_refused(tmp_path: Path, inside: str) -> None:
    folder = workspace(tmp_path)
    sessions = folder / inside
    sessions.mkdir(parents=True, exist_ok=True)
    made = GitCheckpoints(folder, sessions / "ses_1" / "checkpoints.git", sessions=sessions)
    assert "contains the folder with the saved sessions" in made.unavailable_reason
    assert "--data-dir" in made.unavailable_reason
    (tmp_path / "link").symlink_to(folder)
    assert GitCheckpoints(tmp_path / "link", tmp_path / "store.git", sessions=sessions).unavailable_reason
    assert not GitCheckpoints(
        folder, tmp_path / "x" / "store.git", sessions=tmp_path / "x"
    ).unavailable_reason


async def test_the_store_and_its_settings_are_the_users_alone(tmp_path: Path) -> None:
    made = await begun(workspace(tmp_path))
    assert made.head
    store = tmp_path / "checkpoints.git"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (store, store / "config", store / "HEAD")}
    assert modes == {"checkpoints.git": 0o700, "config": 0o600, "HEAD": 0o600}
