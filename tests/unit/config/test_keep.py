"""What the user asked to keep is in the file afterwards, and nothing else of it has changed."""

import stat
import tomllib
from pathlib import Path

import pytest

from tui_agent.config.settings.config_toml_edits import save_plugin_names, save_readable_files, save_value
from tui_agent.config.settings.layers import parse_config
from tui_agent.errors import ConfigError

HELD = """\
# mine
policy = "plan"
model = "old"   # for now

[models.old]
model = "a/b"   # keep me
"""


def test_a_file_that_is_not_there_is_made_with_this_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "tui-agent" / "config.toml"
    save_plugin_names(path, "plugins_disabled", ("notes", "map"))
    assert path.read_text() == 'plugins_disabled = ["notes", "map"]\n'


def test_everything_else_stays_as_the_user_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(HELD)
    path.chmod(0o640)
    save_plugin_names(path, "plugins_disabled", ('odd "name"',))
    text = path.read_text()
    assert tomllib.loads(text) == {**tomllib.loads(HELD), "plugins_disabled": ['odd "name"']}
    assert "# mine" in text and "# for now" in text and "# keep me" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    save_plugin_names(path, "plugins_disabled", ("x",))
    assert path.read_text().count("plugins_disabled") == 1
    save_plugin_names(path, "plugins_disabled", ())
    assert path.read_text() == HELD


def test_a_file_behind_a_link_is_changed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("")
    (tmp_path / "config.toml").symlink_to("dotfiles")
    save_plugin_names(tmp_path / "config.toml", "plugins_disabled", ("m",))
    assert (tmp_path / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles").read_text() == 'plugins_disabled = ["m"]\n'


@pytest.mark.parametrize(
    "text", ["model = \n", "a = 1\na = 2\n", "[plugins_disabled]\nx = 1\n[plugins_disabled]\n"]
)
def test_what_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        save_plugin_names(path, "plugins_disabled", ("m",))
    assert refused.value.hint == 'Write the line yourself: plugins_disabled = ["m"]'
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[sandbox]\nreadable = ["/w/.env"]\n'),
        (HELD, f'{HELD}\n[sandbox]\nreadable = ["/w/.env"]\n'),
        (
            '[sandbox] # mine\nmode = "auto"\n[context]\nkeep = 0.3\n',
            '[sandbox] # mine\nmode = "auto"\nreadable = ["/w/.env"]\n[context]\nkeep = 0.3\n',
        ),
        (
            '[sandbox]\nreadable = [".env.test"]\nmode = "auto"',
            '[sandbox]\nreadable = [".env.test", "/w/.env"]\nmode = "auto"',
        ),
        ('sandbox.mode = "off" # x\n', 'sandbox.mode = "off" # x\nsandbox.readable = ["/w/.env"]\n'),
        ('[sandbox]\nreadable = [\n".a"]\n', '[sandbox]\nreadable = [".a", "/w/.env"]\n'),
        ('[sandbox]\nreadable = ["/w/.env"]\n', '[sandbox]\nreadable = ["/w/.env"]\n'),
    ],
)
def test_a_file_that_commands_may_read_is_added_to_those_that_they_may(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    save_readable_files(path, ["/w/.env"])
    assert path.read_text() == after


def test_a_path_is_kept_as_itself_and_not_as_a_pattern(tmp_path: Path) -> None:
    save_readable_files(tmp_path / "config.toml", ["/w [1]/.env"])
    assert (tmp_path / "config.toml").read_text() == '[sandbox]\nreadable = ["/w [[]1]/.env"]\n'


def test_files_are_not_added_where_that_cannot_be_done_safely(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("sandbox = 3\n")
    with pytest.raises(ConfigError, match="could not be changed safely"):
        save_readable_files(path, ["/w/.env"])
    assert path.read_text() == "sandbox = 3\n"


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        (("theme",), "day", "# a\ntheme = 'night' # b\nvim = true\n", '# a\ntheme = "day" # b\nvim = true\n'),
        (("vim",), True, "[keys]\nstop = 'f9' # c\n", "vim = true\n\n[keys]\nstop = 'f9' # c\n"),
        (("context", "keep"), 0.3, "[context] # d\nkeep = 0.2 # e\n", "[context] # d\nkeep = 0.3 # e\n"),
        (("context", "keep"), None, "[context] # d\nkeep = 0.2 # e\n", "[context] # d\n"),
        (("context", "keep"), None, "vim = true\n", "vim = true\n"),
    ],
)
def test_a_setting_is_changed_and_every_comment_stays(
    tmp_path: Path, key: tuple[str, ...], value: str | bool | float | None, before: str, after: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    save_value(path, key, value, parse_config)
    assert path.read_text() == after


COMMENTED = """\
# my settings

# about the sandbox
[sandbox]
mode = "on"

# about the context,
# in two lines
[context]
keep = 0.2
"""


@pytest.mark.parametrize(
    ("key", "line", "above"),
    [
        (("sandbox", "network"), "network = true", "\n\n# about the context,\n# in two lines\n[context]"),
        (("vim",), "vim = true", "\n\n# about the sandbox\n[sandbox]"),
        (("context", "x"), "x = true", "\n"),
    ],
)
def test_a_comment_stays_directly_above_its_table(
    tmp_path: Path, key: tuple[str, ...], line: str, above: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    save_value(path, key, True)
    text = path.read_text()
    assert f"\n{line}{above}" in text
    assert "".join(text.replace(line, "").split()) == "".join(COMMENTED.split())


@pytest.mark.parametrize("text", ["# about a\n[a]\nx = 1\n", "[b]\n# about a\n[a]\n"])
def test_a_key_is_written_above_a_comment_without_an_empty_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    save_value(path, ("b", "y") if "[b]" in text else ("y",), 2)
    assert path.read_text() in ("y = 2\n\n# about a\n[a]\nx = 1\n", "[b]\ny = 2\n# about a\n[a]\n")


def test_a_value_that_is_not_valid_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[context]\nkeep = 0.2\n")
    with pytest.raises(ConfigError, match=r"config.toml, line 2: 'context.keep' is 7"):
        save_value(path, ("context", "keep"), 7, parse_config)
    assert path.read_text() == "[context]\nkeep = 0.2\n"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"config.toml cannot be written: Not a directory\."):
        save_value(tmp_path / "file" / "tui-agent" / "config.toml", ("vim",), True)
