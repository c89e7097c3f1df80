"""L3: checkpoints of a workspace's files, kept by the git program in a folder of the session."""
