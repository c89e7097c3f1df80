"""The tool that searches the tools of an MCP server, for a server with very many tools."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import BaseModel, Field
from pydantic_core import to_json

from tui_agent.mcp.offered_tools import RemoteTool
from tui_agent.ports.environment import Environment
from tui_agent.ports.tool import Preview, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.effects import Effect, InternalEffect
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.unicode_text import clip_line, format_count

MAX_SEARCH_RESULTS = 10
_WORD = re.compile(r"[a-z0-9]+")


class SearchArguments(BaseModel):
    """The arguments of the search tool."""

    query: str = Field(description="Words that say what the tool does.")


class ToolSearch:
    """A tool that searches the tools of one server.

    `reveal`: called with the names of the found tools.
    """

    def __init__(
        self,
        name: str,
        server: str,
        tools: Mapping[str, RemoteTool],
        reveal: Callable[[Iterable[str]], None],
    ) -> None:
        self._server = server
        self._tools = tools
        self._reveal = reveal
        self.spec = ToolSpec(
            name,
            f"Search the {format_count(len(tools), 'tool')} of the MCP server {server}. Then call the tools found.",
            SearchArguments,
            "find",
            timeout=10.0,
        )

    def target(self, args: SearchArguments) -> str:
        """Return the query, shortened to one line."""
        return clip_line(args.query, 100)

    def effects(self, args: SearchArguments) -> tuple[Effect, ...]:
        """Return the call's only effect: the session's list of tools changes."""
        return (InternalEffect(subject=f"the tools of {self._server}"),)

    async def preview(self, args: SearchArguments, env: Environment) -> Preview:
        """Return an empty preview, because a search needs no approval."""
        return Preview(())

    async def run(self, args: SearchArguments, ctx: ToolContext) -> ToolResult:
        """Return the tools that fit best, each with its arguments."""
        names = find_tools(args.query, self._tools)
        self._reveal(names)
        lines = [
            f"{name}: {self._tools[name].description}\narguments: {to_json(self._tools[name].schema).decode()}"
            for name in names
        ]
        text = "\n\n".join(lines) or "No tool matches. Use other words."
        return ToolResult(
            ok=True, content=(TextContent(text=text),), summary=format_count(len(names), "tool")
        )


def find_tools(query: str, tools: Mapping[str, RemoteTool]) -> Sequence[str]:
    """Return the names of the tools that fit the query best, at most `MAX_SEARCH_RESULTS`."""
    words = set(_WORD.findall(query.lower()))
    scores: dict[str, int] = {}
    for name, tool in tools.items():
        in_name = words & set(_WORD.findall(tool.name.lower()))
        in_text = words & set(_WORD.findall(tool.description.lower()))
        score = 3 * len(in_name) + len(in_text)
        if score:
            scores[name] = score
    return sorted(scores, key=lambda name: -scores[name])[:MAX_SEARCH_RESULTS]
