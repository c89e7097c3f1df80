"""Reading of git repositories from their files. No git command runs with a possibly hostile configuration."""
