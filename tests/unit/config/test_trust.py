"""Trust in a folder's own files: bound to the place and the content, and to what was read, not to what stands there."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tui_agent.config.paths import Paths, find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_files import MAX_BYTES, MAX_FILES, ProjectFiles, read_project_files
from tui_agent.config.project.trust import load_projects
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.settings import Config
from tui_agent.errors import ConfigError
from tui_agent.plugin_host.plugin_folders import copy_plugins


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a setting, a plugin and a `.env`."""
    made = tmp_path / "work" / "shop"
    (made / ".tui_agent" / "plugins").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / ".tui_agent" / "config.toml").write_text('model = "own"\n')
    (made / ".tui_agent" / "plugins" / "extra.py").write_text("def register(api): pass\n")
    (made / ".env").write_text("SHOP=1\n")
    return made


@pytest.fixture
def paths(folder: Path, environ: dict[str, str]) -> Paths:
    return find_paths(folder, environ)


def config(folder: Path, environ: dict[str, str], **more: object) -> Config:
    return load_config(SessionOptions(cwd=folder, **more), environ)  # type: ignore[arg-type]


def trusted(folder: Path, paths: Paths) -> ProjectFiles:
    found = read_project_files(folder)
    trust.save_decision(found, "trusted", paths)
    return found


def test_a_new_folder_is_open_and_each_decision_holds_until_a_byte_changes(
    folder: Path, paths: Paths
) -> None:
    assert trust.trust_state(read_project_files(folder), paths) == "open"
    trust.save_decision(read_project_files(folder), "without", paths)
    assert trust.trust_state(read_project_files(folder), paths) == "without"
    trusted(folder, paths)
    assert trust.trust_state(read_project_files(folder), paths) == "trusted"
    (folder / ".env").write_text("SHOP=2\n")
    assert trust.trust_state(read_project_files(folder), paths) == "open"
    (folder / ".env").write_text("SHOP=1\n")
    assert trust.trust_state(read_project_files(folder), paths) == "trusted"
    assert trust.remove_decision(folder, paths) and not trust.remove_decision(folder, paths)
    assert trust.trust_state(read_project_files(folder), paths) == "open"


def test_what_changed_since_is_marked(folder: Path, paths: Paths) -> None:
    assert trust.compare_files(read_project_files(folder), paths) == {}
    trusted(folder, paths)
    (folder / ".env").write_text("SHOP=2\n")
    (folder / ".tui_agent" / "config.toml").unlink()
    (folder / ".mcp.json").write_text("{}")
    assert trust.compare_files(read_project_files(folder), paths) == {
        ".env": "changed",
        ".tui_agent/config.toml": "gone",
        ".mcp.json": "new",
    }


def test_a_copy_a_moved_folder_and_a_folder_inside_are_asked_about_by_themselves(
    folder: Path, paths: Paths, environ: dict[str, str]
) -> None:
    trusted(folder, paths)
    shutil.copytree(folder, folder.parent / "copy")
    assert trust.trust_state(read_project_files(folder.parent / "copy"), paths) == "open"
    inner = folder / "packages" / "one"
    (inner / ".tui_agent").mkdir(parents=True)
    (inner / ".tui_agent" / "config.toml").write_text('model = "inner"\n')
    assert config(inner, environ).project is None and config(inner, environ).model == ""
    worktree = folder / "tree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    (worktree / ".env").write_text("SHOP=1\n")
    assert [one.trust_state for one in load_projects(SessionOptions(cwd=worktree), environ)] == ["open"]
    folder.rename(folder.parent / "moved")
    assert trust.trust_state(read_project_files(folder.parent / "moved"), paths) == "open"


def test_a_link_to_a_trusted_folder_is_that_folder(folder: Path, paths: Paths, tmp_path: Path) -> None:
    trusted(folder, paths)
    (tmp_path / "shortcut").symlink_to(folder)
    assert trust.trust_state(read_project_files(tmp_path / "shortcut"), paths) == "trusted"


def make_in_the_way(kind: str, path: Path) -> None:
    match kind:
        case "link":
            path.symlink_to("/etc/passwd")
        case "pipe":
            os.mkfifo(path)
        case "huge":
            with path.open("wb") as file:
                file.truncate(MAX_BYTES + 1)
        case "many":
            path.mkdir()
            for number in range(MAX_FILES + 1):
                (path / str(number)).touch()
        case "deep":
            path.joinpath(*"abcdefghijklmnop").mkdir(parents=True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("link", "is a link to /etc/passwd"),
        ("pipe", "is a pipe"),
        ("huge", "is too large"),
        pytest.param("many", "limit of 2000 files", marks=pytest.mark.slow),
        ("deep", "nested too deeply"),
    ],
)
def test_what_cannot_be_bound_to_content_cannot_be_trusted_but_gone_without(
    kind: str, said: str, folder: Path, paths: Paths, environ: dict[str, str]
) -> None:
    make_in_the_way(kind, folder / ".tui_agent" / "odd")
    assert said in read_project_files(folder).fault
    with pytest.raises(ConfigError, match=said):
        trust.save_decision(read_project_files(folder), "trusted", paths)
    assert config(folder, environ, trusted_once=(read_project_files(folder).key,)).project is None
    trust.save_decision(read_project_files(folder), "without", paths)
    assert trust.trust_state(read_project_files(folder), paths) == "without"


def test_the_projects_folder_itself_may_be_no_link(folder: Path, tmp_path: Path) -> None:
    (folder / ".tui_agent").rename(tmp_path / "elsewhere")
    (folder / ".tui_agent").symlink_to(tmp_path / "elsewhere")
    assert read_project_files(folder).fault == f".tui_agent is a link to {tmp_path / 'elsewhere'}"


def test_an_environment_called_dotenv_is_no_file_to_ask_about(folder: Path) -> None:
    (folder / ".env").unlink()
    (folder / ".env").mkdir()
    assert ".env" not in read_project_files(folder).digests


def test_compiled_files_are_neither_asked_about_nor_loaded(folder: Path, tmp_path: Path) -> None:
    plugins = folder / ".tui_agent" / "plugins"
    (plugins / "__pycache__").mkdir()
    (plugins / "__pycache__" / "extra.cpython-311.pyc").write_bytes(b"evil")
    (plugins / "hidden.pyc").write_bytes(b"evil")
    place = copy_plugins(read_project_files(folder), tmp_path / "copies")
    assert place is not None
    assert [path.name for path in place.rglob("*")] == ["extra.py"]


def test_a_damaged_list_trusts_nothing(folder: Path, paths: Paths) -> None:
    trusted(folder, paths)
    assert paths.trust.stat().st_mode & 0o077 == 0
    half = json.dumps({"folders": {str(folder): {"decision": "trusted"}}})
    for damaged in ("", "[]", half, '{"folders": []}'):
        paths.trust.write_text(damaged)
        assert trust.trust_state(read_project_files(folder), paths) == "open"


def test_trust_for_one_run_is_for_the_content_of_its_start(folder: Path, environ: dict[str, str]) -> None:
    once = (read_project_files(folder).key,)
    assert config(folder, environ, trusted_once=once).model == "own"
    (folder / ".tui_agent" / "config.toml").write_text('model = "later"\n')
    assert config(folder, environ, trusted_once=once).model == ""
    assert not find_paths(folder, environ).trust.exists()


def test_going_on_without_them_leaves_nothing_undecided(folder: Path, environ: dict[str, str]) -> None:
    assert [one.folder for one in config(folder, environ).undecided_projects] == [folder]
    without = config(folder, environ, ignore_project=True)
    assert (without.undecided_projects, without.project, without.model) == ((), None, "")
    assert len(without.ignored_files) == 3


def test_what_is_used_is_what_was_read_when_it_was_held_against_the_decision(
    folder: Path, paths: Paths, environ: dict[str, str], tmp_path: Path
) -> None:
    """A file that is swapped between the check and its use is not what is used."""
    trusted(folder, paths)
    found = config(folder, environ).project
    (folder / ".tui_agent" / "plugins" / "extra.py").write_text("raise SystemExit('swapped')\n")
    (folder / ".tui_agent" / "config.toml").write_text('model = "swapped"\n')
    assert found is not None and found.read_own("config.toml") == 'model = "own"\n'
    place = copy_plugins(found, tmp_path / "copies")
    assert place is not None and (place / "extra.py").read_text() == "def register(api): pass\n"


def test_a_copy_that_was_changed_is_made_anew(folder: Path, tmp_path: Path) -> None:
    found, root = read_project_files(folder), tmp_path / "copies"
    place = copy_plugins(found, root)
    assert place is not None
    (place / "extra.py").write_text("changed\n")
    (place / "more.py").symlink_to("/etc/passwd")
    again = copy_plugins(found, root)
    assert again == place and [path.name for path in place.iterdir()] == ["extra.py"]
    assert (place / "extra.py").read_text() == "def register(api): pass\n"
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ('plugin_dirs = ["./tools"]\n', r"a project cannot set plugin_dirs.*\.tui_agent/plugins/"),
        ('notes_dir = "notes"\n', "a project cannot set notes_dir"),
        ('[sandbox]\nmode = "off"\n', r"a project cannot set \[sandbox\]"),
        ('[redaction]\nallow = ["/.*/"]\n', r"a project cannot set \[redaction\]"),
    ],
)
def test_a_project_with_settings_that_only_the_user_has_is_neither_trusted_nor_used(
    folder: Path, paths: Paths, environ: dict[str, str], settings: str, refused: str
) -> None:
    (folder / ".tui_agent" / "config.toml").write_text(settings)
    with pytest.raises(ConfigError, match=f"cannot be trusted: {refused}"):
        trusted(folder, paths)
    assert trust.trust_state(read_project_files(folder), paths) == "open"
    with pytest.raises(ConfigError, match=f"config.toml: {refused}"):
        config(folder, environ, trusted_once=(read_project_files(folder).key,))
    trust.save_decision(read_project_files(folder), "without", paths)
    assert config(folder, environ).project is None


def test_a_trusted_env_file_does_not_say_where_the_list_of_trusted_folders_lies(
    folder: Path, paths: Paths, environ: dict[str, str]
) -> None:
    inner = folder / "docs"
    inner.mkdir()
    (inner / ".env").write_text(f"XDG_CONFIG_HOME={inner / 'cfg'}\nTUI_AGENT_HOME={inner / 'data'}\n")
    elsewhere = find_paths(inner, {"XDG_CONFIG_HOME": str(inner / "cfg"), **environ})
    trust.save_decision(read_project_files(folder), "trusted", elsewhere)
    trust.save_decision(read_project_files(inner), "trusted", paths)
    found = config(inner, environ)
    assert (found.paths.config_dir, found.project) == (paths.config_dir, None)
    assert found.data_dir == inner / "data"
