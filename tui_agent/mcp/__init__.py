"""The MCP client: tools and prompts of external servers.

Invariant: the package `mcp` is loaded only when a server is configured, and only in the engine's process.
"""
