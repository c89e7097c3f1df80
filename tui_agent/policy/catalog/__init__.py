"""The catalog of known programs: TOML entries, one file per program or subcommand, loaded by name.

Invariant: a program or option without an entry is never taken as harmless.
"""
