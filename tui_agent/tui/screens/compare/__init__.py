"""L7: two branches of one session, or two sessions, side by side."""
