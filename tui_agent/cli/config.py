"""The settings: show them and where each comes from, tell where the files lie, or open one in an editor."""

import argparse
import json
import os
import shlex
import subprocess

from tui_agent.cli.options import EVERYTHING, Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json, table
from tui_agent.config.programs import find_outside
from tui_agent.config.settings import Config
from tui_agent.errors import UsageError
from tui_agent.wiring.base import ground

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
    """The verbs below `config`."""
    verbs = parser.add_subparsers(required=True, metavar="show | path | edit")
    show = add_verb(
        verbs,
        "show",
        show_config,
        help="every setting and where it comes from",
        examples=EXAMPLES,
        groups=EVERYTHING,
    )
    show.add_argument("--all", action="store_true", help="those that nobody has set too, with their meaning")
    add_verb(verbs, "path", show_paths, help="where the files lie", examples=EXAMPLES)
    add_verb(verbs, "edit", edit, help="open the user's configuration in $EDITOR", examples=EXAMPLES)


def leaves(value: object, key: str = "") -> list[tuple[str, object]]:
    """Dotted names and values of everything that is no table; tables in a list are named by their number."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [(f"{key}.{number}", one) for number, one in enumerate(value)]
    if not isinstance(value, dict):
        return [(key, value)]
    return [leaf for name, inner in value.items() for leaf in leaves(inner, f"{key}.{name}" if key else name)]


def show_config(arguments: argparse.Namespace) -> int:
    """Print the effective settings."""
    config = ground(session_options(arguments, client="headless", interactive=True)).config
    found = [(key, value, config.origin(key)) for key, value in leaves(config.model_dump(mode="json"))]
    if arguments.json:
        for key, value, origin in found:
            say_json({"key": key, "value": value, "origin": origin})
        return 0
    shown = [entry for entry in found if arguments.all or entry[2] != "default"]
    rows = [[key, json.dumps(value, ensure_ascii=False), origin] for key, value, origin in shown]
    if rows:
        table(rows, ["setting", "value", "from"])
    if not arguments.all:
        say(f"{len(found) - len(shown)} more have their defaults: --all shows them.")
    for path in config.ignored:
        say(f"Not used, because its folder is not trusted (tui-agent trust): {path}")
    return 0


def show_paths(arguments: argparse.Namespace) -> int:
    """Print where everything lies."""
    config = ground(session_options(arguments, client="headless", interactive=True)).config
    found = places(config)
    if arguments.json:
        say_json(found)
    else:
        table(
            [[name, path, "" if os.path.lexists(path) else "(not there)"] for name, path in found.items()],
            ["what", "where", ""],
        )
    return 0


def places(config: Config) -> dict[str, str]:
    """The files and folders of this user and project by what they are for."""
    paths = config.paths
    return {
        "configuration": str(paths.user_config),
        "project configuration": str(paths.project_config),
        "sessions": str(config.data_dir / "sessions"),
        "caches": str(config.cache_dir),
        "keys": str(paths.secrets),
        "plugins": str(paths.config_dir / "plugins"),
        "themes": str(paths.config_dir / "themes"),
        "policy rules": str(paths.config_dir / "policy.toml"),
        "trusted folders": str(paths.trust),
    }


def edit(arguments: argparse.Namespace) -> int:
    """Open the user's file, made with a few commented lines where it is absent, and check it afterwards."""
    options = session_options(arguments, client="headless", interactive=True)
    path = ground(options).config.paths.user_config
    known = (find_outside(one, os.environ) for one in ("nano", "vi"))
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(None, known), "")
    if not editor:
        raise UsageError("There is no editor.", hint=f"Set EDITOR, or edit {path} yourself.")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FIRST_LINES, encoding="utf-8")
    done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    if done.returncode:
        raise UsageError(f"{editor} ended with {done.returncode}.", hint=f"The file: {path}")
    ground(options)
    say(f"{path} is right.")
    return 0
