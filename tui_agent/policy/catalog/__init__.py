"""What is known of programs: entries in TOML, one file a program or subcommand, loaded by name.

Invariant: positive lists only; what no entry lists is unknown, and the unknown is asked about.
"""
