"""The `[sandbox]` table: the user's own, and nobody else's."""

from pathlib import Path

import pytest

from tui_agent.config.paths import find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.errors import ConfigError


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_it_is_on_where_it_works_and_the_user_may_open_more_or_switch_it_off(tmp_path: Path) -> None:
    environ, options = {"HOME": str(tmp_path / "home")}, SessionOptions(cwd=tmp_path)
    assert load_config(options, environ).sandbox.mode == "auto"
    written(
        tmp_path / "home/.config/tui-agent/config.toml",
        '[sandbox]\nmode = "off"\nwritable = ["/srv/cache"]\n',
    )
    found = load_config(options, environ).sandbox
    assert (found.mode, found.writable) == ("off", (Path("/srv/cache"),))


@pytest.mark.parametrize(
    "table", ['[sandbox]\nmode = "off"\n', '[sandbox]\nwritable = ["/"]\n', "sandbox = {}\n"]
)
def test_a_trusted_project_cannot_open_what_confines_its_commands(tmp_path: Path, table: str) -> None:
    project, environ = tmp_path / "project", {"HOME": str(tmp_path / "home")}
    written(project / ".tui_agent/config.toml", table)
    with pytest.raises(ConfigError, match=r"a project cannot set \[sandbox\]"):
        trust.save_decision(read_project_files(project), "trusted", find_paths(project, environ))
    with pytest.raises(ConfigError, match=r"a project cannot set \[sandbox\]"):
        load_config(SessionOptions(cwd=project, trusted_once=(read_project_files(project).key,)), environ)


def test_a_misspelt_key_is_named_with_its_line(tmp_path: Path) -> None:
    written(tmp_path / "home/.config/tui-agent/config.toml", '[sandbox]\nmod = "off"\n')
    with pytest.raises(ConfigError, match=r"line 2: unknown key 'sandbox.mod'. Did you mean 'mode'\?"):
        load_config(SessionOptions(cwd=tmp_path), {"HOME": str(tmp_path / "home")})
