"""The transcript: the chat as one widget that draws its own lines.

Invariant: the cost of drawing depends on the visible rows, not on the length of the session.
"""
