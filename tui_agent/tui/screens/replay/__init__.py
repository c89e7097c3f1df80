"""A recorded session at any of its events, with a timeline to move along."""
