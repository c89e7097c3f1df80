"""The description of an MCP server's tool, as data of this program."""

import hashlib
from collections.abc import Mapping
from dataclasses import field

from pydantic_core import to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import JsonMap


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it. `schema` is repaired; `name` and `original_names` are the server's own."""

    name: str
    description: str
    schema: JsonMap
    original_names: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    digest: str = ""
    """A digest of everything above as the server sent it; a rule of the user can be bound to it."""


def digest_tool(*parts: object) -> str:
    """Return twelve hex digits that change with anything that a server says about a tool."""
    return hashlib.sha256(to_json(parts, fallback=str)).hexdigest()[:12]
