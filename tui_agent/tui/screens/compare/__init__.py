"""The screen that compares two branches of one session, or two sessions, side by side."""
