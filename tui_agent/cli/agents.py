"""The agents: those of the hub, which can answer in a session, and the named ones, which can be delegated to."""

import argparse
from pathlib import Path

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say_json, table, warn
from tui_agent.config.agent_files import FOLDER
from tui_agent.engine.middleware.subagents import OWN, Subagents
from tui_agent.plugin_host.loader import PluginHost
from tui_agent.ports.delegate import Role
from tui_agent.wiring.base import ground
from tui_agent.wiring.models import model_factory
from tui_agent.wiring.plugins import plugin_places, tools_of

EXAMPLES = """\
examples:
  tui-agent agents list
  tui-agent --agent default
  tui-agent agents list --json      with the files that are no agent, and what else is wrong
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
        groups=("place", "extensions", "project"),
    )


def list_agents(arguments: argparse.Namespace) -> int:
    """Print the built-in agent, those of plugins, and those that can be delegated to; what is none, or names what is not there, is told of."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    loaded = PluginHost(plugin_places(base), base.config.plugins_disabled).load()
    below = Subagents(base.config)
    remarks = (
        *below.remarks(tools_of(loaded)[0].names(), model_factory(base, loaded).resolve),
        *below.hidden,
    )
    hub = [[*BUILT_IN, "tui-agent"]]
    hub += [[offered.name, offered.description, offered.owner] for offered in loaded.agents]
    if not arguments.json:
        rows = [[name, "answers", description, owner] for name, description, owner in hub]
        rows += [[one.name, "delegate", one.description, _owner(one.source)] for one in below.roles]
        table(rows, ["name", "as", "what it does", "from"])
        for fault in below.faults:
            warn(f"{fault.source} is not a valid agent: {fault.message}.")
        for remark in remarks:
            warn(f"{remark.source}: {remark.message}.")
        for path in base.config.ignored:
            if Path(path).parent.name == FOLDER:
                warn(f"Not used, because its folder is not trusted (tui-agent trust): {path}")
        return 0
    for name, description, owner in hub:
        chosen = name == base.config.agent
        say_json({"name": name, "description": description, "owner": owner, "chosen": chosen, "kind": "hub"})
    for one in below.roles:
        say_json(_plain(one))
    for kind, some in (("fault", below.faults), ("remark", remarks)):
        for one_fault in some:
            say_json({"kind": kind, "source": one_fault.source, "message": one_fault.message})
    return 0


def _plain(role: Role) -> dict[str, object]:
    return {
        "name": role.name,
        "description": role.description,
        "owner": _owner(role.source),
        "chosen": False,
        "kind": "delegate",
        "tools": role.tools,
        "model": role.model,
        "max_iterations": role.max_iterations,
        "read_only": role.read_only,
    }


def _owner(source: str) -> str:
    return "tui-agent" if Path(source).parent == OWN else source
