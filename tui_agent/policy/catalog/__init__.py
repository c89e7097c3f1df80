"""The catalog of known programs: TOML entries, one file per program or subcommand, loaded by name.

Invariant: positive lists only. A program or option that no entry lists is unknown, and the user is asked about it.
"""
