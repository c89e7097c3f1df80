"""The places of files: their location in or outside the workspace, and whether a guard protects them.

Invariant: places follow only from names and given facts, without a look at the disk.
"""
