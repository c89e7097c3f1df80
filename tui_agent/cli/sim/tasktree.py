"""Let a model turn a task's text into a tree of goals and details, or check such a tree. The tree is printed as JSON."""

import argparse
import json
import sys
from pathlib import Path

import anyio

from tui_agent.cli.console.output import say_text
from tui_agent.cli.console.shared_options import Parser, add_groups, add_option, session_options
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError, UsageError
from tui_agent.simulation.mode_settings import load_orchestrated
from tui_agent.simulation.model_caller import ModelCaller, build_caller
from tui_agent.simulation.orchestration import ask_for_tree
from tui_agent.simulation.task_tree import TaskNode, read_task_tree

EXAMPLES = """\
examples:
  tui-agent tasktree "Port report.pl to Python; keep the output" -m fast
  tui-agent tasktree --file task.md > tree.json
  tui-agent tasktree --check tree.json

A tree is an object with id, description and children, or a list of objects with id, description and parent.
"""


def configure(parser: Parser) -> None:
    """Add the options of `tasktree`."""
    parser.add_argument(
        "instruction", metavar="INSTRUCTION", nargs="?", help="the task, or - for standard input"
    )
    add_option(parser, "--file FILE", "the file with the task", type=Path)
    add_option(parser, "--check FILE", "check the tree in this JSON file; needs no model", type=Path)
    add_option(parser, "--config FILE", "settings to use instead of the bundled orchestrated.yaml", type=Path)
    add_groups(parser, ("folders", "model"))


def run(arguments: argparse.Namespace) -> None:
    """Print the tree. Raise `ConfigError` if the tree is not valid."""
    if arguments.check is not None:
        if arguments.instruction or arguments.file:
            raise UsageError("--check takes no task.", hint="Remove the task, or remove --check.")
        _print_tree(read_task_tree(arguments.check))
        return
    task = _read_task(arguments)
    template = load_orchestrated(arguments.config).orchestrator.tree_template
    caller = build_caller(session_options(arguments, client="headless", interactive=False))
    _print_tree(anyio.run(_ask, caller, task, template))


async def _ask(caller: ModelCaller, task: str, template: str) -> TaskNode:
    try:
        return await ask_for_tree(caller, task, template)
    finally:
        await caller.aclose()


def _read_task(arguments: argparse.Namespace) -> str:
    if bool(arguments.instruction) == bool(arguments.file):
        raise UsageError("Give the task, or a file with --file.", hint="See: tui-agent tasktree --help")
    if arguments.file is not None:
        text = read_small(arguments.file)
        if text is None:
            raise ConfigError(f"{arguments.file} was not found.")
    else:
        text = sys.stdin.read() if arguments.instruction == "-" else arguments.instruction
    if not text.strip():
        raise UsageError("The instruction is empty.")
    return str(text)


def _print_tree(root: TaskNode) -> None:
    say_text(json.dumps(root.model_dump(), indent=2, ensure_ascii=False) + "\n")
