"""The screens with the branches and forks of a session, and with its checkpoints."""
