"""The catalog of known programs: TOML entries, one file per program or subcommand, loaded by name.

Invariant: a program or option that no entry lists is never taken as harmless.
"""
