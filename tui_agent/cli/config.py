"""Show settings and where they come from, show where files are stored, or edit the configuration."""

import argparse
import json
import os
import shlex
import subprocess

from tui_agent.cli.console.output import say, say_json, say_json_lines, table
from tui_agent.cli.console.shared_options import (
    EVERYTHING,
    Parser,
    Verbs,
    add_flag,
    ignored_file_notices,
    load_context,
)
from tui_agent.config.settings.settings import Config
from tui_agent.config.system_programs import find_system_program
from tui_agent.config.user_choices import APP_CHOICES, FILE_NAME
from tui_agent.errors import UsageError

EXAMPLES = """\
examples:
  tui-agent config show
  tui-agent config show --model fast --json
  tui-agent config path
  tui-agent config edit
"""

FIRST_LINES = """\
# Settings of tui-agent. Every key and its meaning: docs/configuration.md, or: tui-agent config show --all
#
# model = "fast"
# policy = "ask"                       # plan, ask, accept-edits, bypass
#
# [models.fast]
# provider = "openai-chat"             # or openai-responses, litellm, or a vendor's name
# model = "name-of-the-model"
# base_url = "http://127.0.0.1:8000/v1"
# api_key_env = "MY_KEY"               # the variable that holds the key; never the key itself
"""


def configure(parser: Parser) -> None:
    """Add the subcommands of `config`."""
    verbs = Verbs(parser, EXAMPLES)
    show = verbs.add("show", show_config, "list settings and where they come from", groups=EVERYTHING)
    add_flag(show, "--all", "also list settings that have their default value")
    verbs.add("path", show_paths, "show where files are stored")
    verbs.add("edit", edit_config, "open your configuration in $EDITOR")


def flatten_settings(value: object, key: str = "") -> list[tuple[str, object]]:
    """Convert nested tables to pairs of a dotted name and a value, such as `("models.fast.provider", "openai-chat")`.

    A list of tables becomes one pair for each table, such as `("hook.0", {…})`.
    """
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [(f"{key}.{number}", item) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return [(key, value)]
    return [
        leaf
        for name, inner in value.items()
        for leaf in flatten_settings(inner, f"{key}.{name}" if key else name)
    ]


def show_config(arguments: argparse.Namespace) -> None:
    """Print the app's effective settings, each with the layer that set it."""
    config = load_context(arguments, interactive=True, client="app").config
    values = flatten_settings(config.model_dump(mode="json"))
    settings = [(key, value, _describe_origin(config, key)) for key, value in values]
    if arguments.json:
        say_json_lines({"key": key, "value": value, "origin": origin} for key, value, origin in settings)
        return
    shown = [entry for entry in settings if arguments.all or entry[2] != "default"]
    rows = [[key, json.dumps(value, ensure_ascii=False), origin] for key, value, origin in shown]
    if rows:
        table(rows, ["setting", "value", "from"])
    if not arguments.all:
        say(describe_hidden(len(settings) - len(shown)))
    for notice in ignored_file_notices(config):
        say(notice)


def describe_hidden(count: int) -> str:
    """Return a remark about the `count` settings that are not listed because they have their default value."""
    subject = "1 more setting has its" if count == 1 else f"{count} more settings have their"
    return f"{subject} default value. To list {'it' if count == 1 else 'them'}, add --all."


def _describe_origin(config: Config, key: str) -> str:
    origin = config.origin(key)
    is_app_only = key in APP_CHOICES and origin.endswith(FILE_NAME)
    return f"{origin} (in the app only)" if is_app_only else origin


def show_paths(arguments: argparse.Namespace) -> None:
    """Print the locations of tui-agent's files and folders."""
    config = load_context(arguments, interactive=True).config
    locations = file_locations(config)
    if arguments.json:
        say_json(locations)
    else:
        rows = [
            (name, path, "" if os.path.lexists(path) else "(not found)") for name, path in locations.items()
        ]
        table(rows, ["what", "where", ""])


def file_locations(config: Config) -> dict[str, str]:
    """Return the paths of tui-agent's files and folders by purpose, such as `sessions` or `policy rules`."""
    paths = config.paths
    return {
        "configuration": str(paths.user_config),
        "project configuration": str(paths.project_config),
        "sessions": str(config.data_dir / "sessions"),
        "remembered choices": str(config.data_dir / FILE_NAME),
        "caches": str(config.cache_dir),
        "keys": str(paths.secrets),
        "plugins": str(paths.config_dir / "plugins"),
        "themes": str(paths.config_dir / "themes"),
        "policy rules": str(paths.config_dir / "policy.toml"),
        "trusted folders": str(paths.trust),
    }


def edit_config(arguments: argparse.Namespace) -> None:
    """Open the user's configuration file in an editor, then check the file."""
    path = load_context(arguments, interactive=True).config.paths.user_config
    installed = (find_system_program(program, os.environ) for program in ("nano", "vi"))
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(None, installed), "")
    if not editor:
        raise UsageError("No editor found.", hint=f"Set EDITOR, or edit {path} yourself.")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FIRST_LINES, encoding="utf-8")
    process = subprocess.run([*shlex.split(editor), str(path)], check=False)
    if process.returncode:
        raise UsageError(f"{editor} ended with status {process.returncode}.", hint=f"The file is {path}.")
    load_context(arguments, interactive=True)
    say(f"{path} is valid.")
