"""L3: what confines the commands of an environment: bubblewrap with seccomp and Landlock on Linux, Seatbelt on macOS."""
