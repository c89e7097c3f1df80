"""Commands and messages of the user: checks, slash commands, prompt hooks, shell commands."""
