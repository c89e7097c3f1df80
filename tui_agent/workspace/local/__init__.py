"""The local environment: files, paths and processes on the user's own machine."""
