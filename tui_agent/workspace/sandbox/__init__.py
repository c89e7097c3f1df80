"""Sandbox for commands: bubblewrap with seccomp and Landlock on Linux, Seatbelt on macOS."""
