"""The chat as one virtual widget that draws its own lines. Invariant: cost depends on the visible rows, not on the
session's length.
"""
