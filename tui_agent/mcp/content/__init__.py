"""Content of MCP servers (lists, schemas, results, prompts, resources, questions), checked and converted."""
