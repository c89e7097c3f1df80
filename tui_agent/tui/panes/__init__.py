"""The parts of the main screen around the transcript.

Invariant: a pane does no I/O; it receives views and posts messages that name an action.
"""
