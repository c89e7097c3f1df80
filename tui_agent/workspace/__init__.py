"""The files and processes of one workspace: the local machine, its sandbox, git repositories and checkpoints."""
