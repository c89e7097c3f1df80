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


@pytest.mark.parametrize(
    ("plugin", "name", "argument", "most"),
    [
        ("git", "git_log", "limit", 500),
        ("notebook", "run_cell", "timeout", 3600),
        ("repomap", "repo_map", "max_tokens", 8000),
        ("search", "grep", "context", 20),
        ("search", "grep", "max_results", 500),
        ("shell", "read_job_output", "wait", 60),
        ("shell", "run_command", "timeout", 3600),
        ("shell", "run_tests", "timeout", 3600),
        ("subagent", "spawn_subtask", "max_tokens", 65_536),
    ],
)
def test_a_number_above_the_maximum_is_lowered(plugin, name, argument, most):
    registry = ToolRegistry()
    registry.add(plugin, tools_of(plugin)[name])
    needed = {"code": "1", "pattern": "a", "job_id": "job-1", "command": "ls", "prompt": "a"}
    fields = registry.get(name).spec.args.model_fields
    given = {key: value for key, value in needed.items() if key in fields}
    for number in (most, most + 30, 10**9):
        assert getattr(registry.parse(name, {**given, argument: number}), argument) == most
