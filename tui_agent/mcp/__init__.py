"""The MCP client: tools and prompts of servers that other people write.

Invariant: the package `mcp` is loaded only when a server is configured, and only in the engine's process.
"""
