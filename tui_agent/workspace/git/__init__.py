"""Git repositories read from their files, without running git on a configuration that may be hostile."""
