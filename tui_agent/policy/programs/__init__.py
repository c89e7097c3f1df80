"""L3: what the programs of a command line do, by a table that plugins and users add to.

Invariant: describes and never judges.
"""
