"""Reading of git repositories from their files, without running git."""
