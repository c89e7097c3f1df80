"""The places of files: their location in or outside the workspace, and the guards that protect them.

Invariant: a place is computed from names and given facts only; the disk is not read.
"""
