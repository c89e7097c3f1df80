"""Two branches of one session, or two sessions, side by side."""
