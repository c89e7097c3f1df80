"""The session that clients use (its engine in this process or another one), resuming, and forks."""
