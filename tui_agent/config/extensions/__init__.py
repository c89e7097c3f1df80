"""Commands, agents, hooks, notes and MCP servers that users and projects define in files."""
