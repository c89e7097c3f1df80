"""What the tools cost a request: docs/tools.md says it."""

import json

from tests.stubs.tool_context import PLUGINS, tools_of
from tui_agent.engine.tools.schema import json_schema

PLUGINS_WITH_TOOLS = "ask files notes repomap search shell skills subagent todo".split()  # noqa: SIM905


def test_names_descriptions_and_schemas_of_all_tools_together_are_as_small_as_told() -> None:
    told = [
        {"name": name, "description": tool.spec.description, "parameters": json_schema(tool.spec.args)}
        for plugin in PLUGINS_WITH_TOOLS
        if (PLUGINS / plugin).is_dir()
        for name, tool in tools_of(plugin).items()
    ]
    schemas = sum(len(json.dumps(one["parameters"], separators=(",", ":"))) for one in told)
    assert len(told) >= 15
    assert schemas < 4_000
    assert sum(len(json.dumps(one, separators=(",", ":"))) for one in told) < 6_000
