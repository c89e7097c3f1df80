"""MCP: a client for the tools, prompts and resources of external servers, and a server that offers functions as tools.

Invariant: the package `mcp` is loaded only when a server is configured or offered, never in the app's process.
"""
