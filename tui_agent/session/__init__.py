"""The session facade (in-process and remote), resuming after a crash, and forks."""
