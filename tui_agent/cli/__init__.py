"""L7: the command line, one module for each command."""
