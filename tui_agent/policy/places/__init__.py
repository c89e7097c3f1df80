"""Where a path lies, what kind of file it is, and which files are guarded.

Invariant: told from names and from facts that are given; the disk is not touched.
"""
