"""L3: the machinery of tools: registry, schemas, checked arguments, previews. The tools themselves are plugins.

Invariant: nothing here runs a tool or knows one by name, apart from the table of foreign names at the edge.
"""
