"""Frozen sessions and their replay. A frozen session is a recorded session, converted to a case."""
