"""What holds for all bundled tools together."""

import pytest

from tests.stubs.tool_context import tools_of
from tui_agent.engine.tools.registry import ToolRegistry

PLUGINS = ("files", "search", "shell", "todo", "ask")
NAMES = {
    "files": ["read_file", "write_file", "edit_file", "list_directory", "glob"],
    "search": ["grep"],
    "shell": ["run_command", "read_job_output", "run_tests"],
    "todo": ["write_todos"],
    "ask": ["ask_user", "present_plan"],
}


@pytest.fixture
def registry() -> ToolRegistry:
    registry = ToolRegistry()
    for plugin in PLUGINS:
        for tool in tools_of(plugin).values():
            registry.add(plugin, tool)
    return registry


@pytest.mark.parametrize("plugin", PLUGINS)
def test_each_plugin_offers_its_tools(plugin):
    assert list(tools_of(plugin)) == NAMES[plugin]


def test_every_tool_says_what_it_does_in_few_words(registry):
    for schema in registry.schemas():
        assert 10 < len(schema.description) <= 220, schema.name
        assert "\n" not in schema.description, schema.name


def test_tools_that_only_look_may_run_side_by_side(registry):
    side_by_side = {name for name in registry.names() if registry.get(name).spec.parallel_safe}
    assert side_by_side == {"read_file", "list_directory", "glob", "grep"}
