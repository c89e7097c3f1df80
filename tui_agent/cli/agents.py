"""List the agents. Main agents can run a session; delegates can get a task from an agent."""

import argparse
from pathlib import Path

from tui_agent.cli.console.output import say_json, say_json_lines, table, warn
from tui_agent.cli.console.shared_options import Parser, Verbs, ignored_file_notices, load_context
from tui_agent.config.extensions.agent_files import FOLDER
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_LAYOUTS
from tui_agent.engine.agent_programs.program_agent import DESCRIPTIONS
from tui_agent.engine.middleware.subagents import BUNDLED_AGENTS, Subagents
from tui_agent.ports.delegate import Role
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.plugins import agent_folders, build_tool_registry, plugin_host

EXAMPLES = """\
examples:
  tui-agent agents list
  tui-agent --agent default
  tui-agent agents list --json      also lists invalid agent files and other problems
"""
BUILT_IN = ("default", "asks a model and runs the tools that it calls")


def configure(parser: Parser) -> None:
    """Add the subcommand of `agents`."""
    verbs = Verbs(parser, EXAMPLES)
    verbs.add(
        "list",
        list_agents,
        "list agents and where they come from",
        groups=("folders", "extensions", "project"),
    )


def list_agents(arguments: argparse.Namespace) -> None:
    """Print all agents. Warn about invalid agent files, and about tools and models that do not exist."""
    base = load_context(arguments)
    host = plugin_host(base)
    loaded = host.load()
    subagents = Subagents(base.config, agent_folders(host))
    remarks = (
        *subagents.check_roles(
            build_tool_registry(loaded)[0].names(), build_model_factory(base, loaded).resolve
        ),
        *subagents.hidden,
    )
    hub = [
        (*BUILT_IN, "tui-agent"),
        *((name, description, "tui-agent") for name, description in DESCRIPTIONS.items()),
        *((agent.name, agent.description, agent.owner) for agent in loaded.agents),
    ]
    if not arguments.json:
        rows = [[name, "main", description, owner] for name, description, owner in hub]
        rows += [[role.name, "delegate", role.description, _owner(role.source)] for role in subagents.roles]
        table(rows, ["name", "kind", "what it does", "from"])
        for fault in subagents.faults:
            warn(f"{fault.source} is not a valid agent: {fault.message}.")
        for remark in remarks:
            warn(f"{remark.source}: {remark.message}.")
        for notice in ignored_file_notices(base.config, _is_agent_file):
            warn(notice)
        return
    for name, description, owner in hub:
        chosen = name == base.config.agent
        say_json({"name": name, "description": description, "owner": owner, "chosen": chosen, "kind": "hub"})
    say_json_lines(map(_role_object, subagents.roles))
    for kind, entries in (("fault", subagents.faults), ("remark", remarks)):
        say_json_lines({"kind": kind, "source": entry.source, "message": entry.message} for entry in entries)


def _is_agent_file(path: Path) -> bool:
    folders = (f"{PROJECT_FOLDER}/{FOLDER}", *PROJECT_LAYOUTS["agents"])
    return str(path.parent).endswith(tuple(f"/{folder}" for folder in folders))


def _role_object(role: Role) -> dict[str, object]:
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
    return "tui-agent" if Path(source).parent == BUNDLED_AGENTS else source
