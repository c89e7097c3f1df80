"""Templates for the files of a new plugin, one set for each kind of plugin.

Invariant: each template works and passes its test unchanged.
"""

import json
import sys
from pathlib import Path
from typing import Final

_MANIFEST: Final = """\
name = "{name}"
version = "0.1.0"
api = 1
description = "{description}"
"""
_CONFTEST: Final = 'pytest_plugins = ["tui_agent.testing"]\n'

_TOOL: Final = '''\
"""Counts words. To make a plugin of your own, replace the function."""

from pathlib import Path

from tui_agent.plugin_api import ToolContext, tool


@tool(reads="path")
async def {name}(ctx: ToolContext, path: Path) -> str:
    """Count the words of a text file."""
    file = await ctx.env.read(str(path))
    return f"{{len(file.text.split())}} words"
'''
_TOOL_TEST: Final = """\
def test_it_counts_words(plugin_session):
    (plugin_session.workspace / "a.txt").write_text("two words")
    result = plugin_session.call("{name}", path="a.txt")
    assert (result.status, result.text) == ("ok", "2 words")
"""

_COMMAND: Final = '''\
"""Adds the command /{name}. To make a plugin of your own, replace the function."""

from tui_agent.plugin_api import SessionStateView, command


@command("/{name}", arguments="[DAY]")
async def {name}(text: str, state: SessionStateView) -> str:
    """Report on what was done."""
    return f"Summarise what was done {{text or 'today'}} in this repository, in five lines."
'''
_COMMAND_TEST: Final = """\
def test_it_asks_for_a_report(plugin_session):
    events = plugin_session.run([{{"text": "Nothing yet."}}], "/{name} on Monday")
    (message,) = [event.payload for event in events if event.payload.kind == "user.message"]
    assert message.text.startswith("Summarise what was done on Monday")
"""

_PANE: Final = '''\
"""The pane {name}: counts the tool calls. Replace the fold and the function with your own."""

from tui_agent.plugin_api import Envelope, pane


class Calls:
    def __init__(self) -> None:
        self.calls = 0

    def apply(self, event: Envelope) -> None:
        self.calls += event.payload.kind == "tool.called"

    def view(self) -> int:
        return self.calls


@pane(Calls)
def {name}(calls: int) -> str:
    return f"{{calls}} tool calls"
'''
_PANE_TEST: Final = """\
def test_it_counts_the_tool_calls(plugin_session):
    plugin_session.call("list_directory", path=".")
    assert plugin_session.pane("{name}") == ["  1 tool calls"]
"""

_SERVER: Final = '''\
"""An MCP server that counts words. Replace the function with your own, and add others."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("{name}")


@server.tool()
def {name}(text: str) -> str:
    """Count the words of a text."""
    return f"{{len(text.split())}} words"


if __name__ == "__main__":
    server.run()
'''
_SERVER_TEST: Final = """\
from server import {name}


def test_it_counts_words():
    assert {name}("two words") == "2 words"
"""

_KINDS: Final = {
    "tool": ("Counts the words of a file.", "__init__.py", _TOOL, _TOOL_TEST),
    "command": ("Asks for a report.", "__init__.py", _COMMAND, _COMMAND_TEST),
    "pane": ("Shows the number of tool calls in a pane.", "folds.py", _PANE, _PANE_TEST),
}
KINDS: Final = (*_KINDS, "mcp")
"""The kinds of things that a new plugin can add."""


def describe_new_plugin(name: str, kind: str, folder: Path) -> str:
    """Return a text about the created files and what to do next."""
    if kind == "mcp":
        return (
            f"Created {folder}, an MCP server with one tool and its test. Add the server to your config.toml:\n\n"
            f"[mcp.{name}]\ncommand = {json.dumps(sys.executable)}\n"
            f"args = [{json.dumps(str(folder / 'server.py'))}]\n\n"
            f"Then check the server: tui-agent mcp check {name}"
        )
    return (
        f"Created {folder}, a plugin with one {kind} and its test. To check the plugin: tui-agent plugins check {folder}\n"
        f"To try the plugin: tui-agent --plugin-dir {folder}"
    )


def plugin_files(name: str, kind: str) -> dict[str, str]:
    """Return a map from each file name of a new plugin to the file's content."""
    if kind == "mcp":
        return {"server.py": _SERVER.format(name=name), f"test_{name}.py": _SERVER_TEST.format(name=name)}
    description, module, code, test = _KINDS[kind]
    manifest = _MANIFEST.format(name=name, description=description)
    return {
        "plugin.toml": manifest + (f'panes = ["{name}"]\n' if kind == "pane" else ""),
        module: code.format(name=name),
        "tests/conftest.py": _CONFTEST,
        f"tests/test_{name}.py": test.format(name=name),
    }
