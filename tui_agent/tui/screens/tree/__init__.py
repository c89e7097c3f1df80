"""Walking through the branches and forks of a session, and through its checkpoints."""
