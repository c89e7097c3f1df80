"""The places of paths: their location, the kind of file, and the guarded files.

Invariant: derived only from names and given facts; the disk is not accessed.
"""
