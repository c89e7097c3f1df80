"""Exports are saved in the user's documents, downloads or, if those do not suit, the data folder; never in a repository."""

from pathlib import Path

import pytest

from tui_agent.config.settings.export_folder import default_export_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with documents, downloads and a project."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DOCUMENTS_DIR", raising=False)
    monkeypatch.delenv("XDG_DOWNLOAD_DIR", raising=False)
    for name in ("Documents", "Downloads", "project"):
        (tmp_path / name).mkdir()
    return tmp_path


def make_repository(folder: Path) -> None:
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def test_documents_come_first_under_the_name_that_the_user_gave_them(home: Path) -> None:
    assert default_export_folder(home / "data", home / "project") == home / "Documents"
    (home / ".config").mkdir()
    (home / ".config" / "user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="$HOME/Dokumente"\n')
    (home / "Dokumente").mkdir()
    assert default_export_folder(home / "data", home / "project") == home / "Dokumente"


def test_a_folder_in_a_repository_or_in_the_workspace_is_not_used(home: Path) -> None:
    make_repository(home / "Documents")
    assert default_export_folder(home / "data", home / "project") == home / "Downloads"
    assert default_export_folder(home / "data", home / "Downloads") == home / "data" / "exports"


def test_a_home_that_is_a_repository_leaves_the_data_folder(home: Path) -> None:
    make_repository(home)
    assert default_export_folder(home / "data", home / "project") == home / "data" / "exports"
    assert (home / "data" / "exports").stat().st_mode & 0o777 == 0o700
