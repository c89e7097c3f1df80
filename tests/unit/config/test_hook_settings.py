"""Hooks in configuration files: both files count, mistakes are named, an untrusted project has none."""

from pathlib import Path

import pytest

from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.errors import ConfigError

USER = '[[hook]]\nevent = "before_tool"\nmatcher = "write_file|edit_file"\ncommand = "./mine"\n'
PROJECT = '[[hook]]\nevent = "after_turn"\ncommand = "./theirs"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "config" / "tui-agent").mkdir(parents=True)
    (tmp_path / "work" / ".tui_agent").mkdir(parents=True)
    return tmp_path


def loaded(place: Path, user: str, project: str = "", *, trusted: bool = True):
    (place / "config" / "tui-agent" / "config.toml").write_text(user)
    if project:
        (place / "work" / ".tui_agent" / "config.toml").write_text(project)
    once = (read_project_files(place / "work").key,) if trusted else ()
    environ = {"XDG_CONFIG_HOME": str(place / "config"), "HOME": str(place)}
    return load_config(SessionOptions(cwd=place / "work", trusted_once=once), environ)


def test_a_projects_hooks_stand_behind_the_users(place):
    config = loaded(place, USER, PROJECT)
    assert [(one.command, whose) for one, whose in config.hooks] == [
        ("./mine", "user"),
        ("./theirs", "project"),
    ]
    assert config.origin("hook.0").endswith("config/tui-agent/config.toml")


def test_a_project_that_is_not_trusted_has_no_hooks(place):
    config = loaded(place, USER, PROJECT, trusted=False)
    assert [one.command for one, _ in config.hooks] == ["./mine"]


def test_an_empty_list_of_a_projects_takes_no_hook_away(place):
    assert [one.command for one, _ in loaded(place, USER, "hook = []\n").hooks] == ["./mine"]


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [
        ("", "anything", True),
        ("*", "anything", True),
        ("write_file|edit_file", "edit_file", True),
        ("write", "write_file", False),
        ("mcp_.*", "mcp_github_push", True),
    ],
)
def test_a_matcher_fits_the_whole_name(place, matcher, tool, fits):
    hook, _ = loaded(place, USER.replace("write_file|edit_file", matcher)).hooks[0]
    assert (hook.pattern is None or hook.pattern.fullmatch(tool) is not None) is fits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[hook]]\nevent = "before_tol"\ncommand = "x"\n', "before_tol"),
        ('[[hook]]\nevent = "before_tool"\n', "command"),
        ('[[hook]]\nevent = "before_tool"\ncommand = ""\n', "command"),
        ('[[hook]]\nevent = "before_tool"\ncomand = "x"\n', "command"),
        ('[[hook]]\nevent = "before_tool"\ncommand = "x"\nmatcher = "("\n', "pattern"),
        (
            '[[hook]]\nevent = "after_turn"\ncommand = "x"\nmatcher = "write_file"\n',
            "matcher does not work with after_turn",
        ),
        ('[[hook]]\nevent = "after_turn"\ncommand = "x"\ntimeout = 0\n', "timeout"),
        ('[hook]\nevent = "after_turn"\ncommand = "x"\n', "hook"),
        ('hook = "x"\n', "hook"),
    ],
)
def test_a_mistake_is_named_with_its_file(place, text, words):
    with pytest.raises(ConfigError) as fault:
        loaded(place, text)
    assert words in str(fault.value) and "config.toml" in str(fault.value)
