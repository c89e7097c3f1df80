"""The session's facade, in-process and remote, and what opens a session again after a crash."""
