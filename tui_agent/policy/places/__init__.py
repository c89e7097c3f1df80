"""The places of files: their location in or outside the workspace, and whether a guard protects them.

Invariant: places are derived only from names and given facts. The disk is not accessed.
"""
