"""The branches and forks of a session, and its checkpoints."""
