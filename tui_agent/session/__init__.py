"""The session facade (in-process and remote), resuming, and forks."""
