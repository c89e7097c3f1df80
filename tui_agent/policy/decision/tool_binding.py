"""Names of MCP tools in saved rules, with a digest of the tool's description and schema.

If the description or the schema changes, the rule no longer allows the tool.
"""

from tui_agent.protocol.effects import McpCallEffect

BINDING = "#"
"""Separator in a rule between a tool's name and the digest of the tool's description and schema."""


def bound_name(tool: str, effect: McpCallEffect) -> str:
    """Return the tool's name with its digest, such as `mcp_time_convert_time#1a2b3c4d5e6f`."""
    return f"{tool}{BINDING}{effect.digest}"


def server_pattern(tool: str) -> str:
    """Return the pattern for all tools of a tool's server, such as `mcp_time_*`."""
    return "_".join([*tool.split("_", 2)[:2], "*"])
