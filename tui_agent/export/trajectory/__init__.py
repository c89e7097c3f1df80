"""Export of a session as a trajectory: one row for each part (a text, a tool call, a result, …)."""
