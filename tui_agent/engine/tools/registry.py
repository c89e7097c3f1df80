"""The tools of a session, by name, each with the owner that registered it.

Invariant: names are unique; `names` and `schemas` keep the order of registration, so that a request's prefix is
the same from call to call and a provider's cache can serve it.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

from pydantic import BaseModel

from tui_agent.engine.tools.arguments import InvalidArguments, parse_arguments
from tui_agent.engine.tools.schema import json_schema
from tui_agent.engine.tools.tool_names import near
from tui_agent.errors import PluginError
from tui_agent.ports.model import ToolSchema
from tui_agent.ports.tool import Tool
from tui_agent.protocol.base import JsonMap

ArgsT = TypeVar("ArgsT", bound=BaseModel)
AnyTool: TypeAlias = Tool[BaseModel]
"""A tool of whatever arguments. It is only ever called with what `parse` made of its own model."""

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
_VERB = 9


class ToolRegistry:
    """Tools by name."""

    def __init__(self) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._owners: dict[str, str] = {}
        self._schemas: dict[str, ToolSchema] = {}

    def add(self, owner: str, tool: Tool[ArgsT]) -> None:
        """Register a tool. Raises `PluginError` where its name is taken or its spec cannot be offered."""
        spec = tool.spec
        if not _NAME.fullmatch(spec.name):
            raise PluginError(
                f"The tool name {spec.name!r} of {owner} is not usable.",
                hint="Use letters, digits, _ and -, at most 64, beginning with a letter.",
            )
        if spec.name in self._tools:
            raise PluginError(
                f"The tool {spec.name} of {owner} is already offered by {self._owners[spec.name]}.",
                hint="Choose another name, or disable one of the two.",
            )
        if not 0 < len(spec.verb) <= _VERB:
            raise PluginError(f"The verb {spec.verb!r} of tool {spec.name} must have 1 to {_VERB} letters.")
        self._schemas[spec.name] = ToolSchema(spec.name, spec.description, json_schema(spec.args))
        self._tools[spec.name] = cast(AnyTool, tool)
        self._owners[spec.name] = owner

    def get(self, name: str) -> AnyTool | None:
        """The tool of that name, None where there is none (`unknown` says so to the model)."""
        return self._tools.get(name)

    def owner(self, name: str) -> str:
        """Which plugin registered it; empty where nobody did."""
        return self._owners.get(name, "")

    def names(self) -> tuple[str, ...]:
        """All names, in the order of registration."""
        return tuple(self._tools)

    def schemas(self, names: Sequence[str] | None = None) -> tuple[ToolSchema, ...]:
        """What a model is offered: all tools, or those of `names` that exist, in the order of registration."""
        wanted = None if names is None else frozenset(names)
        return tuple(schema for name, schema in self._schemas.items() if wanted is None or name in wanted)

    def parse(self, name: str, arguments: JsonMap) -> BaseModel | InvalidArguments:
        """The arguments of a call as the tool's own model, or a message for the model that asked for it."""
        tool = self._tools.get(name)
        if tool is None:
            return self.unknown(name)
        return parse_arguments(name, tool.spec.args, self._schemas[name].parameters, arguments)

    def unknown(self, name: str) -> InvalidArguments:
        """What a model is told of a name that nobody registered."""
        found = near(name, self._tools)
        if found:
            return InvalidArguments(f"There is no tool {name!r}. Did you mean {' or '.join(found)}?")
        return InvalidArguments(
            f"There is no tool {name!r}. The tools are: {', '.join(self._tools) or 'none'}."
        )
