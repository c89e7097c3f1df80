"""The screen with the trace of the open session: every call, with its time and cost."""
