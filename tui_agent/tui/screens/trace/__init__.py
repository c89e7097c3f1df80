"""The trace of the open session, span by span."""
