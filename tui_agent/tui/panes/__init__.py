"""The parts of the main screen around the transcript.

Invariant: a pane receives views of the session and posts messages that name an action of the app; it does no I/O.
"""
