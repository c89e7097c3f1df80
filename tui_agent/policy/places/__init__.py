"""The places of files: their location in or outside the workspace, and the guards that protect them.

Invariant: places follow only from names and given facts, without a look at the disk.
"""
