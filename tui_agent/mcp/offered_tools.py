"""The tools of an MCP server: their names for the model, and their calls."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from pydantic_core import to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment
from tui_agent.ports.log import Blobs
from tui_agent.ports.tool import AskUser, JsonArguments, Preview, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.display_blocks import JsonBlock
from tui_agent.protocol.effects import Effect, McpCallEffect
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import clip_line, reveal_invisible

MAX_LISTED_TOOLS = 30
MAX_LISTED_BYTES = 8_000
"""Maximum size of a server's tool descriptions, in bytes. Above this size, the model gets a search tool."""
SEARCH_TOOL = "search_tools"
MAX_NAME_CHARS = 64
_NAME_DIGEST_CHARS = 8
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it, with a repaired `schema`.

    `original_names`: maps new names of arguments to the server's names.
    """

    name: str
    description: str
    schema: JsonMap
    original_names: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    digest: str = ""
    """Digest of the server's description of the tool."""
    # A user's rule can contain the digest. Such a rule no longer allows the tool after the description changes.


def digest_tool(*parts: object) -> str:
    """Return a digest of a server's description of a tool, as twelve hex digits."""
    return hashlib.sha256(to_json(parts, fallback=str)).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CallServices:
    """Services for one call.

    `progress`: shows live output.
    `ask`: asks the user; None if nobody can answer.
    """

    progress: Callable[[str], None]
    blobs: Blobs
    ask: AskUser | None = None


CallRemote: TypeAlias = Callable[[str, JsonMap, CallServices], Awaitable[ToolResult]]
"""Function that calls a server's tool and returns the result.

It gets the tool's name, the call's arguments, and the services. Raise `ToolError` if the call fails.
"""


class ServerTool:
    """A tool that runs in an MCP server."""

    def __init__(
        self,
        name: str,
        server: str,
        remote: RemoteTool,
        call: CallRemote,
        *,
        listed: bool = True,
    ) -> None:
        self._server = server
        self._remote = remote
        self._call = call
        described = remote.description or f"The tool {remote.name} of {server}."
        self.spec = ToolSpec(
            name,
            f"[MCP server {server}] {described}",
            JsonArguments,
            "call",
            timeout=None,
            may_ask=True,
            parameters=remote.schema,
            listed=listed,
        )

    def target(self, args: JsonArguments) -> str:
        """Return a short text with the server, the tool and the arguments."""
        values = ", ".join(f"{name}={_to_text(value)}" for name, value in args.values.items())
        return clip_line(reveal_invisible(f"{self._server} {self._remote.name} {values}"), 120)

    def effects(self, args: JsonArguments) -> tuple[Effect, ...]:
        """Return one effect: the call of the server's tool."""
        remote = self._remote
        return (
            McpCallEffect(
                server=self._server, tool=remote.name, digest=remote.digest, read_only=remote.read_only
            ),
        )

    async def preview(self, args: JsonArguments, env: Environment) -> Preview:
        """Return a preview of the arguments that will be sent."""
        return Preview((JsonBlock(data=args.values),), content=to_json(args.values).decode())

    async def run(self, args: JsonArguments, ctx: ToolContext) -> ToolResult:
        """Call the server's tool and return its result."""
        originals = self._remote.original_names
        values = {originals.get(name, name): value for name, value in args.values.items()}
        return await self._call(self._remote.name, values, CallServices(ctx.progress, ctx.blobs, ctx.ask))


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def is_too_large(tools: Sequence[RemoteTool]) -> bool:
    """Return True if the tools are too many or too long to describe them in every request."""
    size = sum(len(tool.description) + len(to_json(tool.schema)) for tool in tools)
    return len(tools) > MAX_LISTED_TOOLS or size > MAX_LISTED_BYTES


def name_tools(server: str, tools: Iterable[RemoteTool]) -> dict[str, RemoteTool]:
    """Return the server's tools by the names that the model sees."""
    names = dict[str, RemoteTool]()
    for tool in tools:
        names[tool_name(server, tool.name, names)] = tool
    return names


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """Return the model's name for a server's tool: at most 64 letters, digits, `_` and `-`, and not in `taken`.

    A name that is too long or taken ends with a digest of the full name.
    """
    # Each `_` in the server's name becomes `-`, so that a rule for one server never matches another server.
    name = f"mcp_{_INVALID_IN_NAME.sub('-', server).replace('_', '-')}_{_INVALID_IN_NAME.sub('_', tool)}"
    if len(name) <= MAX_NAME_CHARS and name not in taken:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_NAME_DIGEST_CHARS]
    return f"{name[: MAX_NAME_CHARS - _NAME_DIGEST_CHARS - 1]}_{digest}"
