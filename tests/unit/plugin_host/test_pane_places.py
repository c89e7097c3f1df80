"""Where the panes of a session are: never in a project that is not trusted, and then only as the trusted copy."""

from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.project.trust import save_decision
from tui_agent.config.session_options import SessionOptions
from tui_agent.plugin_host.plugin_folders import find_panes


def plugin(folder: Path, *panes: str) -> Path:
    """Write a plugin with these panes."""
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text(f"panes = {list(panes)}")
    (folder / "folds.py").write_text("raise SystemExit  # never imported here\n")
    return folder


def test_a_project_offers_its_panes_once_it_is_trusted_and_from_the_copy(tmp_path: Path) -> None:
    project, environ = (
        tmp_path / "project",
        {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    (project / ".git").mkdir(parents=True)
    plugin(project / ".tui_agent" / "plugins" / "theirs", "secrets", "mine")
    mine = plugin(tmp_path / "config" / "tui-agent" / "plugins" / "own", "mine")
    options = SessionOptions(cwd=project, data_dir=tmp_path / "data")
    panes = find_panes(options, environ)
    assert {name: place.folder for name, place in panes.items() if name != "tests"} == {"mine": mine}
    paths = find_paths(project, environ, tmp_path / "data")
    save_decision(read_project_files(project), "trusted", paths)
    panes = find_panes(options, environ)
    assert (panes["mine"].folder, panes["secrets"].plugin) == (mine, "theirs")
    assert panes["secrets"].folder.is_relative_to(paths.trusted_copies)
    assert set(
        find_panes(SessionOptions(cwd=project, data_dir=tmp_path / "data", no_plugins=True), environ)
    ) == {"tests"}
