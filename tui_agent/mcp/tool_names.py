"""The names that the model sees for tools of MCP servers: `mcp_SERVER_TOOL`."""

import hashlib
import re
from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

MAX_CHARS = 64
_DIGEST_CHARS = 8
_ODD = re.compile(r"[^A-Za-z0-9_-]")


class _Tool(Protocol):
    @property
    def name(self) -> str: ...


ToolT = TypeVar("ToolT", bound=_Tool)


def name_tools(server: str, tools: Iterable[ToolT]) -> dict[str, ToolT]:
    """Return the server's tools by the names that the model sees."""
    names = dict[str, ToolT]()
    for tool in tools:
        names[tool_name(server, tool.name, names)] = tool
    return names


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """Return the model's name for a server's tool: at most 64 letters, digits, `_` and `-`, and not in `taken`.

    A name that is too long or taken ends with a digest of the full name.
    """
    # Each `_` in the server's name becomes `-`, so that a rule for one server never matches another server.
    name = f"mcp_{_ODD.sub('-', server).replace('_', '-')}_{_ODD.sub('_', tool)}"
    if len(name) <= MAX_CHARS and name not in taken:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MAX_CHARS - _DIGEST_CHARS - 1]}_{digest}"
