"""The description of an MCP server's tool, independent of the SDK."""

import hashlib
from collections.abc import Mapping
from dataclasses import field

from pydantic_core import to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import JsonMap


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it, with a repaired `schema`.

    `original_names` maps renamed arguments to the server's names.
    """

    name: str
    description: str
    schema: JsonMap
    original_names: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    digest: str = ""
    """A digest of the fields above as the server sent them, so that a user's rule can apply to exactly this
    description.
    """


def digest_tool(*parts: object) -> str:
    """Return twelve hex digits that change if any of `parts`, a server's description of a tool, changes."""
    return hashlib.sha256(to_json(parts, fallback=str)).hexdigest()[:12]
