"""L7: the trace of the open session, span by span."""
