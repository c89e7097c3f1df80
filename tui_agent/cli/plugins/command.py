"""List, create, check, enable or disable plugins."""

import argparse
import dataclasses
from collections.abc import Sequence
from keyword import iskeyword
from pathlib import Path

from tui_agent.cli.console.output import say, say_json, say_result, table
from tui_agent.cli.console.shared_options import Parser, Verbs, add_option, load_context
from tui_agent.cli.plugins.templates import KINDS, describe_new_plugin, plugin_files
from tui_agent.cli.plugins.trial import (
    check_mcp_server,
    is_mcp_server,
    run_tests,
    try_panes,
    try_themes,
    try_tool,
)
from tui_agent.config.settings.config_toml_edits import save_plugin_names
from tui_agent.config.settings.layers import read_toml
from tui_agent.errors import UsageError
from tui_agent.plugin_host.discover import FoundPlugin, discover, is_valid_name
from tui_agent.plugin_host.load_records import LoadRecords
from tui_agent.plugin_host.plugin_check import NAME_TAKEN, bundled_names, check_plugin, taken_names
from tui_agent.plugin_host.plugin_folders import plugin_places
from tui_agent.tui.keys_and_commands import TYPED
from tui_agent.wiring.plugins import load_records_folder, plugin_host

EXAMPLES = """\
examples:
  tui-agent plugins list
  tui-agent plugins disable word_count        in your configuration
  tui-agent plugins enable word_count
  tui-agent plugins new word_count            creates ./word_count
  tui-agent plugins check ./word_count
  tui-agent --plugin-dir ./word_count
"""


def configure(parser: Parser) -> None:
    """Add the subcommands of `plugins`."""
    verbs = Verbs(parser, EXAMPLES)
    groups = ("folders", "extensions")
    verbs.add("list", list_plugins, "list the plugins without importing them", groups=groups)
    new = verbs.add("new", new_plugin, "create a plugin in ./NAME")
    new.add_argument("name", metavar="NAME", help="the plugin's name: lower-case letters, digits and _")
    add_option(new, "--kind", "what the plugin adds (default: tool)", choices=KINDS, default="tool")
    for on, verb, summary in (
        (True, "enable", "enable a plugin, in open sessions too"),
        (False, "disable", "disable a plugin, in open sessions too"),
    ):
        toggle = verbs.add(verb, set_enabled, summary, groups=groups)
        toggle.add_argument("name", metavar="NAME", help="a name from plugins list")
        toggle.set_defaults(on=on)
    checker = verbs.add(
        "check",
        check_command,
        "run the code of a plugin or an MCP server, and report problems",
    )
    checker.add_argument(
        "path", metavar="PATH", type=Path, help="a plugin's folder or file, or an MCP server's folder"
    )


def set_enabled(arguments: argparse.Namespace) -> None:
    """Enable or disable a plugin in the user's configuration file."""
    base = load_context(arguments)
    name: str = arguments.name
    plugins = {plugin.name: plugin for plugin in discover(plugin_places(base.config, base.options))}
    path = base.config.paths.user_config
    settings = read_toml(path)
    disabled, enabled = (settings.get(key, []) for key in ("plugins_disabled", "plugins_enabled"))
    if name not in plugins and name not in (*disabled, *enabled):
        raise UsageError(f"Unknown plugin {name!r}.", hint=f"Available: {', '.join(sorted(plugins))}.")
    is_on_by_default = name not in plugins or plugins[name].enabled
    disabled = [entry for entry in disabled if entry != name]
    enabled = [entry for entry in enabled if entry != name]
    if arguments.on and not is_on_by_default:
        enabled.append(name)
    elif not arguments.on and is_on_by_default:
        disabled.append(name)
    save_plugin_names(path, "plugins_disabled", disabled)
    save_plugin_names(path, "plugins_enabled", enabled)
    if arguments.on:
        LoadRecords(load_records_folder(base)).try_again(name)
    state = "on" if arguments.on else "off"
    say_result(
        {"name": name, "state": state, "path": str(path)},
        f"{name} is now {state}, in open sessions too ({path}).",
        as_json=arguments.json,
    )


def list_plugins(arguments: argparse.Namespace) -> None:
    """Print a line for each plugin, including disabled ones, without importing any."""
    base = load_context(arguments)
    host = plugin_host(base)
    rows = []
    names: set[str] = set()
    for plugin in host.list_plugins():
        is_on = host.is_enabled(plugin)
        duplicate = f"Another plugin is already named {plugin.name}." if plugin.name in names else ""
        fault = plugin.fault or duplicate or host.find_left_out_reason(plugin)
        if is_on:
            names.add(plugin.name)
        state = "off" if not is_on else "broken" if fault else "on"
        if arguments.json:
            say_json(as_json(plugin, state, fault))
        rows.append([plugin.name, state, plugin.source, plugin.version, fault or plugin.description])
    if not arguments.json:
        table(rows, ["name", "state", "from", "version", "description"])
        say("To see a plugin's tools and problems: tui-agent plugins check PATH")


def as_json(plugin: FoundPlugin, state: str, fault: str) -> dict[str, object]:
    return {
        "name": plugin.name,
        "state": state,
        "source": plugin.source,
        "version": plugin.version,
        "path": str(plugin.path or plugin.entry),
        "description": plugin.description,
        "fault": fault,
    }


def new_plugin(arguments: argparse.Namespace) -> None:
    """Create a folder with a small plugin that works."""
    name: str = arguments.name
    if not is_valid_name(name):
        raise UsageError(
            f"{name!r} is not a valid plugin name.",
            hint="Use lower-case letters, digits and _, starting with a letter.",
        )
    if iskeyword(name):
        raise UsageError(f"{name!r} is a Python keyword.", hint="Choose another name.")
    if arguments.kind != "mcp" and name in bundled_names():
        raise UsageError(NAME_TAKEN.format(name), hint=f"Choose another name, such as my_{name}.")
    offers = (f"{arguments.kind}:{name}",)
    for fault in (*_taken_commands(offers), *taken_names(name, offers)):
        raise UsageError(fault, hint=f"Choose another name, such as my_{name}.")
    folder = (arguments.cwd or Path.cwd()) / name
    if folder.exists():
        raise UsageError(f"{folder} already exists.", hint="Choose another name, or remove the folder.")
    folder.mkdir(parents=True)
    for file, text in plugin_files(name, arguments.kind).items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    say_result(
        {"name": name, "path": str(folder)},
        describe_new_plugin(name, arguments.kind, folder),
        as_json=arguments.json,
    )


def _taken_commands(offers: Sequence[str]) -> list[str]:
    """Return a warning for each slash command in `offers` that the app itself already has."""
    commands = [f"/{offer.removeprefix('command:')}" for offer in offers if offer.startswith("command:")]
    return [
        f"The app has its own command {name} and would never run the plugin's."
        for name in commands
        if name in TYPED
    ]


def check_command(arguments: argparse.Namespace) -> int:
    """Print a plugin's faults; return 1 if there are any."""
    path = arguments.path.expanduser()
    is_server, tested = is_mcp_server(path), ""
    report = check_mcp_server(path) if is_server else check_plugin(path, try_tool)
    report = dataclasses.replace(report, faults=(*report.faults, *_taken_commands(report.offers)))
    if report.ok:
        *tests, tested = run_tests(path)
        for faults, notes in (*(() if is_server else (try_themes(path), try_panes(path))), tests):
            report = dataclasses.replace(
                report, faults=(*report.faults, *faults), notes=(*report.notes, *notes)
            )
    if arguments.json:
        say_json({"ok": report.ok, **dataclasses.asdict(report), "tests": tested})
        return 0 if report.ok else 1
    say(f"{f'{report.name} {report.version}'.strip()}: {'ok' if report.ok else 'has problems'}")
    if tested:
        say(f"  tests: {tested}")
    for label, lines in (("offers", report.offers), ("problem:", report.faults), ("note:", report.notes)):
        for line in lines:
            say(f"  {label} {line}")
    return 0 if report.ok else 1
