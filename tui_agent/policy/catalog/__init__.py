"""The catalog of known programs: TOML entries, one file per program or subcommand, loaded by name.

Invariant: the catalog has only positive lists. A program or option that no entry lists is unknown, and the user is
asked about it.
"""
