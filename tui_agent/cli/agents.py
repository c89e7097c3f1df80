"""L7: The agents of the hub: who can be given a task."""

import argparse

from tui_agent import wiring
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say_json, table
from tui_agent.ground import ground
from tui_agent.plugin_host.loader import PluginHost

EXAMPLES = """\
examples:
  tui-agent agents list
  tui-agent --agent default
"""
BUILT_IN = ("default", "asks a model, runs the tools that it calls")


def configure(parser: Parser) -> None:
    """The verb below `agents`."""
    verbs = parser.add_subparsers(required=True, metavar="list")
    add_verb(
        verbs,
        "list",
        list_agents,
        help="the agents and who brings them",
        examples=EXAMPLES,
        groups=("place", "extensions"),
    )


def list_agents(arguments: argparse.Namespace) -> int:
    """Print the built-in agent and those of plugins."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    loaded = PluginHost(wiring.plugin_places(base), base.config.plugins_disabled).load()
    rows = [[*BUILT_IN, "tui-agent"]]
    rows += [[offered.name, offered.description, offered.owner] for offered in loaded.agents]
    if arguments.json:
        for name, description, owner in rows:
            say_json(
                {
                    "name": name,
                    "description": description,
                    "owner": owner,
                    "chosen": name == base.config.agent,
                }
            )
    else:
        table(rows, ["name", "what it does", "from"])
    return 0
