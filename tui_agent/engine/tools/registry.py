"""The registry of a session's tools by name, each with the plugin that registered it.

Invariant: names are unique, and `names` and `schemas` keep the order of registration.
"""

import re
from collections.abc import Collection, Sequence
from typing import TypeAlias, TypeVar, cast

from pydantic import BaseModel

from tui_agent.engine.plugins.error_guard import GuardedTool, guard_plugin
from tui_agent.engine.tools.arguments import InvalidArguments, check_json_arguments, parse_arguments
from tui_agent.engine.tools.schema import json_schema, sent_schema
from tui_agent.errors import PluginError, ToolCrash
from tui_agent.fast_dataclass import dataclass
from tui_agent.models.tool_call_repair import similar_names
from tui_agent.ports.model import ToolSchema
from tui_agent.ports.tool import Service, Tool
from tui_agent.protocol.effects import Effect, McpCallEffect, RunEffect
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import list_first

MAX_NAMED_TOOLS = 12
"""If the model calls an unknown tool, the message names at most this many tools; the model's request lists all."""
ArgsT = TypeVar("ArgsT", bound=BaseModel)
AnyTool: TypeAlias = Tool[BaseModel]
"""A tool with any type of arguments. Call it only with arguments that `ToolRegistry.parse` returned for it."""


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """An agent's call with its tool and valid arguments."""

    call: ToolCallPart
    tool: GuardedTool
    args: BaseModel
    agent: AgentId
    effects: tuple[Effect, ...]

    @property
    def is_command(self) -> bool:
        """True if the call runs a command."""
        return any(isinstance(effect, RunEffect) for effect in self.effects)

    @property
    def may_change_any_file(self) -> bool:
        """True if the call runs a command or an MCP tool, because these can change any file."""
        return any(isinstance(effect, RunEffect | McpCallEffect) for effect in self.effects)


_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
_MAX_VERB = 9  # the app shows verbs in a column


class ToolRegistry:
    """The tools of a session by name."""

    def __init__(self) -> None:
        self._tools: dict[str, GuardedTool] = {}
        self._owners: dict[str, str] = {}
        self._schemas: dict[str, ToolSchema] = {}

    def add(self, owner: str, tool: Tool[ArgsT]) -> None:
        """Register a tool. Raise `PluginError` if its name is taken or its spec is not valid."""
        spec = tool.spec
        if not _NAME.fullmatch(spec.name):
            raise PluginError(
                f"The tool name {spec.name!r} of {owner} is not valid.",
                hint="Use letters, digits, _ and -, at most 64 characters, starting with a letter.",
            )
        if spec.name in self._tools:
            raise PluginError(
                f"The tool {spec.name} of {owner} is already registered by {self._owners[spec.name]}.",
                hint="Choose another name, or disable one of the two plugins.",
            )
        if not 0 < len(spec.verb) <= _MAX_VERB:
            raise PluginError(
                f"The verb {spec.verb!r} of tool {spec.name} must have 1 to {_MAX_VERB} letters."
            )
        with guard_plugin(f"The schema of the tool {spec.name}", PluginError):
            parameters = json_schema(spec.args) if spec.parameters is None else spec.parameters
        self._schemas[spec.name] = ToolSchema(spec.name, spec.description, sent_schema(parameters))
        self._tools[spec.name] = GuardedTool(owner, cast(AnyTool, tool))
        self._owners[spec.name] = owner

    def get(self, name: str) -> GuardedTool | None:
        """Return the tool with this name; None if there is none."""
        return self._tools.get(name)

    def owner(self, name: str) -> str:
        """Return the plugin that registered a tool; empty if there is no such tool."""
        return self._owners.get(name, "")

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools in the order of registration."""
        return tuple(self._tools)

    def schemas(
        self,
        names: Sequence[str] | None = None,
        *,
        policy: PolicyName | None = None,
        missing: Collection[Service] = (),
    ) -> tuple[ToolSchema, ...]:
        """Return the schemas of the usable tools in the order of registration.

        - `names`: names of the tools to include (None: all).
        - `policy`: the current policy. Tools for another policy are left out.
        - `missing`: services that are not available. Tools that need them are left out.
        """
        chosen = None if names is None else frozenset(names)
        return tuple(
            schema
            for name, schema in self._schemas.items()
            if (chosen is None or name in chosen)
            and self._tools[name].spec.listed
            and self._tools[name].spec.policy in (None, policy)
            and self._tools[name].spec.needs.isdisjoint(missing)
        )

    def parse(self, name: str, arguments: JsonMap) -> BaseModel | InvalidArguments:
        """Return a call's arguments as an instance of the tool's model, or a message about invalid arguments.

        Raise `ToolCrash` if the tool's own check of its arguments fails.
        """
        tool = self._tools.get(name)
        if tool is None:
            return self.unknown_tool_message(name)
        if tool.spec.parameters is not None:
            return check_json_arguments(name, tool.spec.parameters, arguments)
        label = f"The tool {name} (plugin {self._owners[name]}), in `{tool.spec.args.__name__}`,"
        with guard_plugin(label, ToolCrash):
            return parse_arguments(name, tool.spec.args, json_schema(tool.spec.args), arguments)

    def unknown_tool_message(self, name: str, offered: Collection[str] | None = None) -> InvalidArguments:
        """Return a message that the tool `name` does not exist, and that lists similar tools or, failing that, some
        tools.

        `offered`: names of the tools that the model can use now (None: all tools). Only these tools are named, and
        tools with similar names that are not offered to any model.
        """
        listed = [known for known, tool in self._tools.items() if tool.spec.listed]
        named = [known for known in listed if offered is None or known in offered]
        similar = similar_names(name, [*named, *(self._tools.keys() - listed)])
        if similar:
            return InvalidArguments(f"There is no tool {name!r}. Did you mean {' or '.join(similar)}?")
        return InvalidArguments(
            f"There is no tool {name!r}. The tools are: {list_first(named, MAX_NAMED_TOOLS) or 'none'}."
        )
