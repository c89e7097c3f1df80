"""The user's own machine as an environment: files, paths, and processes with their children."""
