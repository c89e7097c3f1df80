"""The plugins: list them, begin one, or check one."""

import argparse
import dataclasses
from pathlib import Path

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json, table
from tui_agent.config.layers import read_toml
from tui_agent.config.user_file import keep_disabled
from tui_agent.errors import UsageError
from tui_agent.plugin_host.check import check_plugin
from tui_agent.plugin_host.discover import Found, discover
from tui_agent.plugin_host.loader import PluginHost
from tui_agent.plugin_host.manifest import usable_name
from tui_agent.wiring.base import ground
from tui_agent.wiring.plugins import plugin_places

EXAMPLES = """\
examples:
  tui-agent plugins list
  tui-agent plugins disable word_count        in your configuration
  tui-agent plugins enable word_count
  tui-agent plugins new word_count            makes ./word_count
  tui-agent plugins check ./word_count
  tui-agent --plugin-dir ./word_count
"""

MANIFEST = """\
name = "{name}"
version = "0.1.0"
api = 1
description = "Counts the words of a file."
"""
ENTRY = '''\
"""Counts words: a plugin to begin with. Replace the tool by your own."""

from pydantic import BaseModel, Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    PluginApi,
    Preview,
    Reads,
    ToolContext,
    ToolResult,
    ToolSpec,
    text_result,
)


class CountArgs(BaseModel):
    """What the model says when it calls the tool."""

    path: str = Field(description="The file, relative to the workspace.")


class CountWords:
    """Counts the words of one file."""

    spec = ToolSpec(
        name="{name}",
        description="Count the words of a text file.",
        args=CountArgs,
        verb="count",
        parallel_safe=True,
    )

    def target(self, args: CountArgs) -> str:
        return args.path

    def effects(self, args: CountArgs) -> tuple[Effect, ...]:
        return (Reads(path=args.path),)

    async def preview(self, args: CountArgs, env: Environment) -> Preview:
        return Preview(blocks=())

    async def run(self, args: CountArgs, ctx: ToolContext) -> ToolResult:
        file = await ctx.env.read(args.path)
        count = len(file.data.decode("utf-8", "replace").split())
        return text_result(f"{{count}} words", summary=f"{{count}} words")


def register(api: PluginApi) -> None:
    """Offer the tool."""
    api.tool(CountWords())
'''


def configure(parser: Parser) -> None:
    """The verbs below `plugins`."""
    verbs = parser.add_subparsers(required=True, metavar="list | new | check | enable | disable")
    both = ("place", "extensions")
    add_verb(
        verbs,
        "list",
        list_plugins,
        help="the plugins that there are; imports none",
        examples=EXAMPLES,
        groups=both,
    )
    new = add_verb(verbs, "new", new_plugin, help="begin a plugin in ./NAME", examples=EXAMPLES)
    new.add_argument("name", metavar="NAME", help="small letters, digits and _")
    for on, verb, about in ((True, "enable", "load a plugin again"), (False, "disable", "load it no longer")):
        switching = add_verb(verbs, verb, switch, help=about, examples=EXAMPLES, groups=both)
        switching.add_argument("name", metavar="NAME", help="as plugins list shows it")
        switching.set_defaults(on=on)
    checking = add_verb(
        verbs, "check", check, help="load a plugin by itself; runs its code", examples=EXAMPLES
    )
    checking.add_argument("path", metavar="PATH", type=Path, help="a plugin's folder or file")


def switch(arguments: argparse.Namespace) -> int:
    """Write into the user's configuration whether a plugin is loaded."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    name: str = arguments.name
    known = sorted({found.name for found in discover(plugin_places(base))})
    path = base.config.paths.user_config
    off = tuple(read_toml(path).get("plugins_disabled", ()))
    if name not in known and name not in off:
        raise UsageError(f"There is no plugin {name!r}.", hint=f"There are: {', '.join(known)}.")
    kept = tuple(each for each in off if each != name)
    keep_disabled(path, kept if arguments.on else (*kept, name))
    state = "on" if arguments.on else "off"
    if arguments.json:
        say_json({"name": name, "state": state, "path": str(path)})
    else:
        say(f"{name} is {state} from the next start on ({path}).")
    return 0


def list_plugins(arguments: argparse.Namespace) -> int:
    """Print a line for each plugin, also for those that are switched off. Imports none of them."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    host = PluginHost(plugin_places(base), base.config.plugins_disabled)
    rows = []
    seen: set[str] = set()
    for found in host.names():
        fault = found.fault or (f"A plugin {found.name} is already there." if found.name in seen else "")
        seen.add(found.name)
        state = "off" if not host.enabled(found.name) else "broken" if fault else "on"
        if arguments.json:
            say_json(as_json(found, state, fault))
        rows.append([found.name, state, found.source, found.version, fault or found.description])
    if not arguments.json:
        table(rows, ["name", "state", "from", "version", "description"])
        say("What one offers, and whether it loads: tui-agent plugins check PATH")
    return 0


def as_json(found: Found, state: str, fault: str) -> dict[str, object]:
    """A plugin as one JSON object."""
    return {
        "name": found.name,
        "state": state,
        "source": found.source,
        "version": found.version,
        "path": str(found.path or found.entry),
        "description": found.description,
        "fault": fault,
    }


def new_plugin(arguments: argparse.Namespace) -> int:
    """Write a small plugin that works."""
    name: str = arguments.name
    if not usable_name(name):
        raise UsageError(
            f"{name!r} cannot be a plugin's name.", hint="Small letters, digits and _, a letter first."
        )
    folder = (arguments.cwd or Path.cwd()) / name
    if folder.exists():
        raise UsageError(f"{folder} is there already.", hint="Take another name, or remove it.")
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text(MANIFEST.format(name=name), encoding="utf-8")
    (folder / "__init__.py").write_text(ENTRY.format(name=name), encoding="utf-8")
    if arguments.json:
        say_json({"name": name, "path": str(folder)})
    else:
        say(f"{folder} is a plugin with one tool. Check it: tui-agent plugins check {folder}")
        say(f"Try it: tui-agent --plugin-dir {folder}")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Print what is wrong with a plugin; exit status 1 if anything is."""
    report = check_plugin(arguments.path.expanduser())
    if arguments.json:
        say_json({"ok": report.ok, **dataclasses.asdict(report)})
        return 0 if report.ok else 1
    say(f"{report.name} {report.version}: {'works' if report.ok else 'does not work'}")
    for offer in report.offers:
        say(f"  offers {offer}")
    for fault in report.faults:
        say(f"  fault: {fault}")
    for note in report.notes:
        say(f"  note: {note}")
    return 0 if report.ok else 1
